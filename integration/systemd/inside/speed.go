package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/squadronctl/squadron/controller"
	"github.com/squadronctl/squadron/task"
)

const (
	speedUnits = 500
	speedRuns  = 3
	// speedBound is how many times longer than systemctl's the controller's steps may take.
	speedBound = 2
)

// speedSteps are the steps that are compared, in their order.
var speedSteps = []string{"submit", "start", "status", "stop", "destroy"}

// checkSpeed leads as many units through their lives by a controller and by systemctl, in turns, and compares the
// medians.
func checkSpeed(ctx context.Context, b *bench) error {
	ours, theirs := map[string][]time.Duration{}, map[string][]time.Duration{}
	for range speedRuns {
		for _, side := range []struct {
			took  map[string][]time.Duration
			steps map[string]func(context.Context) error
		}{{theirs, b.systemctlSteps()}, {ours, b.controllerSteps()}} {
			for _, step := range speedSteps {
				begun := time.Now()
				if err := side.steps[step](ctx); err != nil {
					return fmt.Errorf("%s: %w", step, err)
				}
				side.took[step] = append(side.took[step], time.Since(begun))
			}
		}
	}
	var err error
	fmt.Printf("%d units, median of %d runs:\n", speedUnits, speedRuns)
	for _, step := range speedSteps {
		mine, other := median(ours[step]), median(theirs[step])
		ratio := mine.Seconds() / other.Seconds()
		fmt.Printf("%-8s %8.3f s, systemctl %8.3f s: %.2f times  %v %v\n", step, mine.Seconds(), other.Seconds(), ratio, ours[step], theirs[step])
		if ratio > speedBound {
			err = errors.Join(err, fmt.Errorf("%s takes %.2f times as long as by systemctl", step, ratio))
		}
	}
	return errors.Join(err, checkClean(ctx, b))
}

func median(times []time.Duration) time.Duration {
	return slices.Sorted(slices.Values(times))[len(times)/2]
}

// controllerSteps are the steps as a program with a controller does them, with its default pace.
func (b *bench) controllerSteps() map[string]func(context.Context) error {
	tasks := task.NewTaskService(task.DefaultConfig())
	c := controller.NewController(controller.Config{Fleet: b.Host, TaskService: tasks})
	group := controller.NewRequest(controller.RequestConfig{Group: "speed"})
	submitted := group
	submitted.Units = []controller.Unit{{Name: "speed-app@.service", Content: service("speed")}}
	submitted.DesiredSlices = speedUnits
	do := func(operation func(context.Context, controller.Request) (*task.Task, error), r controller.Request) func(context.Context) error {
		return func(ctx context.Context) error {
			t, err := operation(ctx, r)
			return outcome(ctx, c, t, err)
		}
	}
	return map[string]func(context.Context) error{
		"submit": do(c.Submit, submitted),
		"start":  do(c.Start, group),
		"status": func(ctx context.Context) error {
			units, err := c.GetStatus(ctx, group)
			if err == nil && len(units) != speedUnits {
				err = fmt.Errorf("%d units", len(units))
			}
			return err
		},
		"stop":    do(c.Stop, group),
		"destroy": do(c.Destroy, group),
	}
}

// outcome waits for the end of an operation; t and err are what its call gave.
func outcome(ctx context.Context, c controller.Controller, t *task.Task, err error) error {
	if err == nil {
		t, err = c.WaitForTask(ctx, t.ID, nil)
	}
	if err == nil {
		err = t.Error
	}
	return err
}

// systemctlSteps are the steps as an operator does them who has systemctl and is in a hurry: one command for all units. He
// submits units when their files are on disk and linked, and systemd has been seen to load each of them, as the controller
// does. Linking alone loads none; what it takes is told, too.
func (b *bench) systemctlSteps() map[string]func(context.Context) error {
	const dir = "/etc/by-hand"
	var names, files []string
	for i := range speedUnits {
		name := fmt.Sprintf("byhand-app@%d.service", i)
		names, files = append(names, name), append(files, filepath.Join(dir, name))
	}
	all := func(args ...string) func(context.Context) error {
		return func(ctx context.Context) error { return b.systemctl(ctx, append(args, names...)...) }
	}
	return map[string]func(context.Context) error{
		"submit": func(ctx context.Context) error {
			if err := os.MkdirAll(dir, 0o755); err != nil {
				return err
			}
			for _, file := range files {
				if err := os.WriteFile(file, []byte(service("by hand")), 0o644); err != nil {
					return err
				}
			}
			begun := time.Now()
			if err := b.systemctl(ctx, append([]string{"link"}, files...)...); err != nil {
				return err
			}
			fmt.Printf("systemctl link alone: %v\n", time.Since(begun))
			if _, err := exec.CommandContext(ctx, "sync", "-f", dir).Output(); err != nil {
				return err
			}
			return b.shows(ctx, names, "LoadState=loaded")
		},
		"start":  all("start"),
		"status": func(ctx context.Context) error { return b.shows(ctx, names, "ActiveState=active") },
		"stop":   all("stop"),
		"destroy": func(ctx context.Context) error {
			return errors.Join(b.systemctl(ctx, append([]string{"disable"}, names...)...), os.RemoveAll(dir))
		},
	}
}

// shows has systemctl show all units, each of which has to have a state.
func (b *bench) shows(ctx context.Context, names []string, state string) error {
	text, err := b.output(ctx, "systemctl", append([]string{"show", "--property=Id,LoadState,ActiveState,SubState,FragmentPath"}, names...)...)
	if n := strings.Count(text, state+"\n"); err == nil && n != len(names) {
		err = fmt.Errorf("%d of %d units have %s", n, len(names), state)
	}
	return err
}
