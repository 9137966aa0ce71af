// Package swarm holds the engine for Docker Swarm to its contract on a real one: two engines of Debian's, a manager and a
// worker.
package swarm

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/squadronctl/squadron/integration/swarm/dockerd"
)

// app1 and app2 are names of one image, which holds the program app; app3 is none.
const (
	app1 = "squadron.test/app:1"
	app2 = "squadron.test/app:2"
	app3 = "squadron.test/app:3"
)

// own is an image that holds the program controller.
const own = "squadron.test/controller:1"

var (
	real    *dockerd.Swarm
	program string // app, outside of an image
)

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	flag.Parse()
	// They wait for the swarm most of the time, whatever the number of processors.
	if err := flag.Set("test.parallel", "16"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	err := begin()
	code := 1
	if err == nil {
		code = m.Run()
	}
	if real != nil {
		if code != 0 {
			fmt.Fprintln(os.Stderr, real.Logs(40))
		}
		err = errors.Join(err, real.Stop())
	}
	if err := errors.Join(err, goleak.Find()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}

func begin() (err error) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	if real, err = dockerd.Start(ctx, dockerd.Config{Nodes: 2}); err != nil {
		return err
	}
	if err := real.Import(ctx, app1, "./app"); err != nil {
		return err
	}
	if err := real.Tag(ctx, app1, app2); err != nil {
		return err
	}
	program, err = real.Build(ctx, "./app")
	return err
}
