package main

import (
	"context"
	"fmt"
	"time"

	"github.com/squadronctl/squadron/controller"
	"github.com/squadronctl/squadron/task"
)

// checkGroup leads a group through its life as a program with a controller would: submitted, started, updated slice by slice
// while no fewer than two run, destroyed.
func checkGroup(ctx context.Context, b *bench) error {
	tasks := task.NewTaskService(task.DefaultConfig())
	config := controller.DefaultConfig()
	config.Fleet, config.TaskService, config.WaitSleep = b, tasks, 50*time.Millisecond
	c := controller.NewController(config)
	request := func(word string) controller.Request {
		r := controller.NewRequest(controller.RequestConfig{Group: "group"})
		r.Units = []controller.Unit{
			{Name: "group-app@.service", Content: service(word)},
			{Name: "group-side@.service", Content: service(word) + "\n[X-Fleet]\nMachineOf=group-app@%i.service\n"},
		}
		return r
	}
	submitted := request("a")
	submitted.DesiredSlices = 3
	group := controller.NewRequest(controller.RequestConfig{Group: "group"})
	for _, step := range []struct {
		name string
		do   func() (*task.Task, error)
	}{
		{"submit", func() (*task.Task, error) { return c.Submit(ctx, submitted) }},
		{"start", func() (*task.Task, error) { return c.Start(ctx, group) }},
		{"update", func() (*task.Task, error) {
			return c.Update(ctx, request("b"), controller.UpdateOptions{MaxGrowth: 1, MinAlive: 2})
		}},
		{"stop", func() (*task.Task, error) { return c.Stop(ctx, group) }},
		{"destroy", func() (*task.Task, error) { return c.Destroy(ctx, group) }},
	} {
		begun := time.Now()
		t, err := step.do()
		if err := outcome(ctx, c, t, err); err != nil {
			return fmt.Errorf("%s: %w", step.name, err)
		}
		fmt.Printf("%s took %v\n", step.name, time.Since(begun))
	}
	return checkClean(ctx, b)
}
