package controller_test

import (
	"context"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/squadronctl/squadron/controller"
	"github.com/squadronctl/squadron/fleet"
	"github.com/squadronctl/squadron/fleet/fleettest"
	"github.com/squadronctl/squadron/task"
)

// bench is a controller on a simulated cluster, reached by the real client without a network. It is made inside of a
// synctest bubble, so that waits cost no time.
type bench struct {
	t          testing.TB
	cluster    *fleettest.Cluster
	faults     *fleettest.Faults
	client     fleet.Fleet
	tasks      task.Service
	controller controller.Controller
}

func newBench(t testing.TB, cluster fleettest.Config, adjust ...func(*controller.Config)) *bench {
	b := &bench{t: t, cluster: fleettest.NewCluster(cluster)}
	b.faults = fleettest.NewFaults(b.cluster)
	client, err := fleet.NewFleet(fleettest.ClientConfig(b.faults))
	require.NoError(t, err)
	b.client = client
	b.tasks = task.NewTaskService(task.DefaultConfig())
	b.controller = b.newController(adjust...)
	return b
}

// newController makes another controller of the same cluster, as a second process would.
func (b *bench) newController(adjust ...func(*controller.Config)) controller.Controller {
	config := controller.Config{Fleet: b.client, TaskService: b.tasks}
	for _, f := range adjust {
		f(&config)
	}
	return controller.NewController(config)
}

// close leaves nothing behind, which the bubble checks.
func (b *bench) close() {
	require.NoError(b.t, b.controller.(io.Closer).Close())
}

type operation func(context.Context, controller.Request) (*task.Task, error)

// try runs an operation to its end and gives the error of its call or of its task.
func (b *bench) try(op operation, req controller.Request) error {
	created, err := op(b.t.Context(), req)
	return b.outcome(created, err)
}

// do runs an operation that has to succeed.
func (b *bench) do(op operation, req controller.Request) {
	b.t.Helper()
	require.NoError(b.t, b.try(op, req))
}

func (b *bench) update(req controller.Request, opts controller.UpdateOptions) error {
	created, err := b.controller.Update(b.t.Context(), req, opts)
	return b.outcome(created, err)
}

func (b *bench) outcome(created *task.Task, err error) error {
	if err != nil {
		return err
	}
	final, err := b.controller.WaitForTask(b.t.Context(), created.ID, nil)
	if err != nil {
		return err
	}
	return final.Error
}

// states gives "name current active/sub" of each unit in the cluster whose name begins with prefix.
func (b *bench) states(prefix string) []string {
	var lines []string
	for _, unit := range b.cluster.Units() {
		if !strings.HasPrefix(unit.Name, prefix) {
			continue
		}
		line := unit.Name + " " + unit.Current
		for _, loaded := range unit.On {
			line += " " + loaded.Active + "/" + loaded.Sub
		}
		lines = append(lines, line)
	}
	return lines
}

func (b *bench) names(prefix string) []string {
	names := []string{}
	for _, unit := range b.cluster.Units() {
		if strings.HasPrefix(unit.Name, prefix) {
			names = append(names, unit.Name)
		}
	}
	return names
}

// request is a request of a group of one service and one helper unit.
func request(group string, slices int, ids ...string) controller.Request {
	req := controller.NewRequest(controller.RequestConfig{Group: group, SliceIDs: ids})
	req.DesiredSlices = slices
	req.Units = []controller.Unit{
		{Name: group + "-app@.service", Content: service("v1")},
		{Name: group + "-log@.service", Content: service("log")},
	}
	return req
}

// of is the same request for the group as a whole or for some slices, without units.
func of(group string, ids ...string) controller.Request {
	return controller.NewRequest(controller.RequestConfig{Group: group, SliceIDs: ids})
}

// withVersion gives the request with another content of its first unit.
func withVersion(req controller.Request, version string) controller.Request {
	req.Units = append([]controller.Unit(nil), req.Units...)
	req.Units[0].Content = service(version)
	return req
}

func service(version string) string {
	return "[Unit]\nDescription=" + version + "\n\n[Service]\nExecStart=/bin/serve " + version + "\n"
}

// in runs f at a later time of the bubble, and returns a function that waits for it.
func in(d time.Duration, f func()) (wait func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		time.Sleep(d)
		f()
	}()
	return func() { <-done }
}
