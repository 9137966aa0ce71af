// Package bench is what the tests of groups and of faults on a real cluster share: a controller such as a caller has it
// (Bench), updates in processes of their own (Job), and an Observer, which looks at the cluster by itself over plain
// HTTP, knows nothing of the library, and holds what it sees against what an update owes (Watch).
package bench

import (
	"context"
	"errors"
	"io"
	"net/url"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/squadronctl/squadron/controller"
	"github.com/squadronctl/squadron/fleet"
	"github.com/squadronctl/squadron/task"
)

// Options are what the benches of different tests differ in. Zero fields mean the defaults named.
type Options struct {
	// WaitSleep is the controller's pause between two looks; 300 ms.
	WaitSleep time.Duration
	// WaitTimeout is the controller's longest wait; 3 min, which no test means to reach.
	WaitTimeout time.Duration
	// CleanupTimeout is the controller's longest taking back; the library's own default.
	CleanupTimeout time.Duration
	// RequestTimeout is how long one request of the client may take; 10 s.
	RequestTimeout time.Duration
	// Wrap, where set, changes the client's configuration.
	Wrap func(*fleet.Config) `json:"-"`
}

func (o Options) withDefaults() Options {
	if o.WaitSleep == 0 {
		o.WaitSleep = 300 * time.Millisecond
	}
	if o.WaitTimeout == 0 {
		o.WaitTimeout = 3 * time.Minute
	}
	if o.RequestTimeout == 0 {
		o.RequestTimeout = 10 * time.Second
	}
	return o
}

// Bench is a controller on a cluster.
type Bench struct {
	Control controller.Controller
	Client  fleet.Fleet
	t       testing.TB
}

// New makes a Bench on the API at endpoint; it is closed when the test ends.
func New(t testing.TB, endpoint url.URL, options Options) *Bench {
	t.Helper()
	control, client, err := connect(endpoint, options.withDefaults())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, control.(io.Closer).Close()) })
	return &Bench{Control: control, Client: client, t: t}
}

func connect(endpoint url.URL, options Options) (controller.Controller, fleet.Fleet, error) {
	config := fleet.Config{Endpoint: endpoint, RequestTimeout: options.RequestTimeout}
	if options.Wrap != nil {
		options.Wrap(&config)
	}
	client, err := fleet.NewFleet(config)
	if err != nil {
		return nil, nil, err
	}
	return controller.NewController(controller.Config{
		Fleet:          client,
		TaskService:    task.NewTaskService(task.DefaultConfig()),
		WaitSleep:      options.WaitSleep,
		WaitTimeout:    options.WaitTimeout,
		CleanupTimeout: options.CleanupTimeout,
	}), client, nil
}

// Submit submits the request, waits for the task, and gives the error of the call or of the task.
func (b *Bench) Submit(req controller.Request) error { return b.run("submit", req, b.Control.Submit) }

// Start is like Submit, for Start.
func (b *Bench) Start(req controller.Request) error { return b.run("start", req, b.Control.Start) }

// Stop is like Submit, for Stop.
func (b *Bench) Stop(req controller.Request) error { return b.run("stop", req, b.Control.Stop) }

// Destroy is like Submit, for Destroy.
func (b *Bench) Destroy(req controller.Request) error {
	return b.run("destroy", req, b.Control.Destroy)
}

// Update is like Submit, for Update.
func (b *Bench) Update(req controller.Request, opts controller.UpdateOptions) error {
	return b.run("update", req, func(ctx context.Context, req controller.Request) (*task.Task, error) {
		return b.Control.Update(ctx, req, opts)
	})
}

// Scale is like Submit, for Scale.
func (b *Bench) Scale(req controller.Request, n int, opts controller.UpdateOptions) error {
	return b.run("scale", req, func(ctx context.Context, req controller.Request) (*task.Task, error) {
		return b.Control.(controller.Scaler).Scale(ctx, req, n, opts)
	})
}

type operation func(ctx context.Context, req controller.Request) (*task.Task, error)

// run says in the test's log how long an operation took and how it ended.
func (b *Bench) run(verb string, req controller.Request, op operation) error {
	b.t.Helper()
	began := time.Now()
	err := follow(b.Control, func(ctx context.Context) (*task.Task, error) { return op(ctx, req) })
	b.t.Logf("%s %s after %.1f s: %v", verb, req.Group, time.Since(began).Seconds(), err)
	return err
}

// follow waits for the task that begin makes.
func follow(control controller.Controller, begin func(context.Context) (*task.Task, error)) error {
	begun, err := begin(context.Background())
	if err != nil {
		return err
	}
	ended, err := control.WaitForTask(context.Background(), begun.ID, nil)
	switch {
	case err != nil:
		return err
	case ended.Error == nil && !task.HasSucceededStatus(ended):
		return errors.New("the task has neither succeeded nor an error")
	}
	return ended.Error
}
