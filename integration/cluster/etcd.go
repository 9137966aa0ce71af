package cluster

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"syscall"

	"github.com/squadronctl/squadron/integration/sigstop"
)

// etcd is the cluster's only etcd, which serves API version 2.
type etcd struct {
	place   place
	running *process
}

func newEtcd(p place) *etcd { return &etcd{place: p} }

func (e *etcd) endpoint() url.URL { return localURL(e.place.port(0)) }

func localURL(port int) url.URL {
	return url.URL{Scheme: "http", Host: "127.0.0.1:" + strconv.Itoa(port)}
}

func (e *etcd) start(ctx context.Context) error {
	if e.running.alive() {
		return errors.New("start etcd: it runs already")
	}
	client, peer := e.endpoint(), localURL(e.place.port(1))
	var err error
	e.running, err = startProcess(e.place, e.place.path("etcd.log"), "etcd", "--enable-v2=true", "--name", "e1",
		"--data-dir", e.place.path("etcd"), "--logger", "zap", "--log-outputs", "stderr",
		"--listen-client-urls", client.String(), "--advertise-client-urls", client.String(),
		"--listen-peer-urls", peer.String(), "--initial-advertise-peer-urls", peer.String(),
		"--initial-cluster", "e1="+peer.String())
	if err != nil {
		return fmt.Errorf("start etcd: %w", err)
	}
	healthy := func(ctx context.Context) error {
		var health struct{ Health string }
		if err := get(ctx, client.String()+"/health", &health); err != nil {
			return err
		}
		if health.Health != "true" {
			return fmt.Errorf("its health is %q", health.Health)
		}
		return nil
	}
	if err := e.running.poll(ctx, healthy); err != nil {
		return fmt.Errorf("start etcd: %w\n%s", err, tail(e.place.path("etcd.log"), 20))
	}
	return nil
}

func (e *etcd) stop(ctx context.Context) error {
	err := e.running.signal(syscall.SIGTERM)
	if err == nil {
		err = e.running.wait(ctx)
	}
	if err != nil {
		return fmt.Errorf("stop etcd: %w", err)
	}
	return nil
}

func (e *etcd) pause() error {
	err := e.running.signal(syscall.SIGSTOP)
	if err == nil {
		err = sigstop.Wait(e.running.cmd.Process.Pid)
	}
	if err != nil {
		return fmt.Errorf("pause etcd: %w", err)
	}
	return nil
}

func (e *etcd) resume() error {
	if err := e.running.signal(syscall.SIGCONT); err != nil {
		return fmt.Errorf("resume etcd: %w", err)
	}
	return nil
}

// reap waits for a process that was killed.
func (e *etcd) reap() {
	if e.running != nil {
		<-e.running.done
	}
}
