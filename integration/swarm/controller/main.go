// Command controller is a controller that runs as a service in the stack named by its only argument, and deploys that stack.
//
// It finds the swarm at /var/run/docker.sock, the manifest in /state/manifest.yml and its revision store in /state/revisions. A
// line of JSON for each pass goes to /state/passes, and to /state/removal once what removing its own stack has led to.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/moby/moby/client"

	"github.com/squadronctl/squadron/capability"
	"github.com/squadronctl/squadron/reconcile"
	"github.com/squadronctl/squadron/stack"
	"github.com/squadronctl/squadron/stack/revision"
	"github.com/squadronctl/squadron/stack/swarm"
)

const socket = "/var/run/docker.sock"

func main() {
	ctx, cancel := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer cancel()
	if err := run(ctx, os.Args[1]); err != nil && !errors.Is(err, context.Canceled) {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, own string) error {
	api, err := client.New(client.WithHost("unix://" + socket))
	if err != nil {
		return err
	}
	defer api.Close()
	store, err := revision.NewDirectory("/state/revisions")
	if err != nil {
		return err
	}
	engine, err := swarm.New(swarm.Config{Client: api, Store: store, Own: own, PollInterval: 200 * time.Millisecond})
	if err != nil {
		return err
	}
	if err := tryRemoval(ctx, engine, own); err != nil {
		return err
	}
	return reconcile.New(reconcile.Config{
		Backend: engine, Owner: "controller", Store: store, CorrectDrift: true, DriftInterval: time.Nanosecond,
		Interval: 500 * time.Millisecond, Jitter: time.Nanosecond, Record: record,
		Source: func(context.Context) ([]reconcile.Declared, []error) {
			text, err := os.ReadFile("/state/manifest.yml")
			if err != nil {
				return nil, []error{err}
			}
			return []reconcile.Declared{{
				Name: own, Manifest: string(text), Allow: stack.Allow{HostPaths: []string{os.Getenv("SOCKET"), os.Getenv("STATE")}},
			}}, nil
		},
	}).Run(ctx)
}

func tryRemoval(ctx context.Context, engine *swarm.Engine, own string) error {
	err := engine.RemoveStack(ctx, own)
	text := fmt.Sprintf("refused: %t (%v)\n", errors.Is(err, capability.ErrOwnStack), err)
	return os.WriteFile("/state/removal", []byte(text), 0o644)
}

// pass is what a pass did, by a controller of that revision.
type pass struct {
	Revision string
	reconcile.StackReport
}

func record(_ context.Context, report reconcile.Report) error {
	file, err := os.OpenFile("/state/passes", os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return err
	}
	for _, stack := range report.Stacks {
		err = errors.Join(err, json.NewEncoder(file).Encode(pass{os.Getenv("REVISION"), stack}))
	}
	return errors.Join(err, file.Close())
}
