package controller_test

import (
	"context"
	"fmt"
	"io"
	"log"
	"time"

	"github.com/squadronctl/squadron/controller"
	"github.com/squadronctl/squadron/fleet/fleettest"
	"github.com/squadronctl/squadron/task"
)

// The life of a group of three slices: submitted, started, updated one by one with no slice missing at any moment,
// looked at, stopped and destroyed.
func Example() {
	ctx := context.Background()
	cluster := fleettest.NewServer(fleettest.Config{}) // three simulated machines in this process
	defer cluster.Close()
	ctl := controller.NewController(controller.Config{
		Fleet:       cluster.Client(),
		TaskService: task.NewTaskService(task.DefaultConfig()),
		WaitSleep:   5 * time.Millisecond, // leave it out for a real cluster: looks are 1 s apart then
	})
	defer ctl.(io.Closer).Close()
	wait := func(t *task.Task, err error) {
		if err == nil {
			t, err = ctl.WaitForTask(ctx, t.ID, nil)
		}
		if err == nil {
			err = t.Error
		}
		if err != nil {
			log.Fatal(err)
		}
	}
	web := controller.NewRequest(controller.RequestConfig{Group: "web"})
	web.Units = []controller.Unit{{Name: "web-app@.service", Content: "[Service]\nExecStart=/bin/sleep 1000\n"}}
	web.DesiredSlices = 3
	wait(ctl.Submit(ctx, web))
	wait(ctl.Start(ctx, web))
	web.Units[0].Content = "[Service]\nExecStart=/bin/sleep 2000\n"
	wait(ctl.Update(ctx, web, controller.UpdateOptions{MaxGrowth: 1, MinAlive: 3}))
	units, _ := ctl.GetStatus(ctx, web)
	for _, unit := range units {
		fmt.Println(unit.Current, unit.Machine[0].SystemdActive, unit.Machine[0].SystemdSub)
	}
	wait(ctl.Stop(ctx, web))
	wait(ctl.Destroy(ctx, web))
	// Output:
	// launched active running
	// launched active running
	// launched active running
}
