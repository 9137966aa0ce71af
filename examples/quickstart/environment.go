package main

import (
	"context"
	"fmt"
	"io"
	"net/url"
	"time"

	"github.com/squadronctl/squadron/controller"
	"github.com/squadronctl/squadron/fleet"
	"github.com/squadronctl/squadron/fleet/fleettest"
	"github.com/squadronctl/squadron/task"
)

// environment is a cluster and what works on it.
type environment struct {
	cluster    string // what it is, in words
	controller controller.Controller
	tasks      task.Service
	watcher    controller.Controller // for looks beside the controller's own, so that these keep their pace
	watchSleep time.Duration         // pause between two looks of the watcher
	readySecs  int
	close      func()
}

// newEnvironment connects to the cluster that the options name, or makes one.
func newEnvironment(o options) (*environment, error) {
	if o.endpoint != "" {
		return newRealEnvironment(o.endpoint)
	}
	return newSimulatedEnvironment()
}

// newSimulatedEnvironment makes a cluster in this process that does in milliseconds what a real one does in seconds.
func newSimulatedEnvironment() (*environment, error) {
	server := fleettest.NewUnstartedServer(fleettest.Config{Timing: fleettest.Fast()})
	if err := server.Start(); err != nil {
		return nil, fmt.Errorf("start the simulated cluster: %w", err)
	}
	e := newEnvironmentOf(server.Client(), 50*time.Millisecond, 10*time.Millisecond)
	e.cluster = fmt.Sprintf("a simulated fleet cluster of three machines at %s", server.URL)
	e.readySecs = 1
	closeController := e.close
	e.close = func() {
		closeController()
		server.Close()
	}
	return e, nil
}

func newRealEnvironment(endpoint string) (*environment, error) {
	parsed, err := url.Parse(endpoint)
	if err != nil {
		return nil, fmt.Errorf("-endpoint: %w", err)
	}
	client, err := fleet.NewFleet(fleet.Config{Endpoint: *parsed})
	if err != nil {
		return nil, fmt.Errorf("-endpoint: %w", err)
	}
	e := newEnvironmentOf(client, time.Second, 250*time.Millisecond)
	e.cluster = "the fleet cluster at " + parsed.Redacted()
	e.readySecs = 3
	return e, nil
}

// newEnvironmentOf makes the controllers. The one that works closes the client when it is closed.
func newEnvironmentOf(client fleet.Fleet, waitSleep, watchSleep time.Duration) *environment {
	tasks := task.NewTaskService(task.DefaultConfig())
	e := &environment{
		tasks:      tasks,
		controller: controller.NewController(controller.Config{Fleet: client, TaskService: tasks, WaitSleep: waitSleep}),
		watcher:    controller.NewController(controller.Config{Fleet: client, TaskService: tasks}),
		watchSleep: watchSleep,
	}
	e.close = func() { e.controller.(io.Closer).Close() }
	return e
}

// operation is Submit, Start, Stop, Destroy, or Update with its options.
type operation func(context.Context, controller.Request) (*task.Task, error)

// cancelWait is for how long a cancelled task is waited for.
const cancelWait = time.Minute

// do carries an operation out and waits for its end. When ctx ends first, the operation is cancelled and given time to
// end what is under way.
func (e *environment) do(ctx context.Context, operate operation, req controller.Request) error {
	started, err := operate(ctx, req)
	if err != nil {
		return err
	}
	final, err := e.controller.WaitForTask(ctx, started.ID, nil)
	if err == nil {
		return final.Error
	}
	after, cancel := context.WithTimeout(context.WithoutCancel(ctx), cancelWait)
	defer cancel()
	if cancelErr := e.tasks.(task.Canceler).Cancel(after, started.ID); cancelErr != nil {
		return cancelErr
	}
	if _, waitErr := e.controller.WaitForTask(after, started.ID, nil); waitErr != nil {
		return waitErr
	}
	return err
}
