package controller_test

import (
	"context"
	"fmt"
	"time"

	"github.com/squadronctl/squadron/controller"
	"github.com/squadronctl/squadron/fleet"
	"github.com/squadronctl/squadron/task"
)

// What can be told from the request alone comes back from the call; what takes a look at the cluster fails the task.
// Either way a predicate tells what it is, however often the error has been wrapped on its way.
func Example_errors() {
	ctx := context.Background()
	ctl := controller.NewController(controller.Config{
		Fleet:       fleet.NewDummyFleet(fleet.DefaultDummyConfig()),
		TaskService: task.NewTaskService(task.DefaultConfig()),
		WaitSleep:   time.Millisecond,
	})
	web := controller.NewRequest(controller.RequestConfig{Group: "web"})
	web.DesiredSlices = 2
	_, err := ctl.Submit(ctx, web)
	fmt.Println(controller.IsNoUnitsInGroup(err), "-", err)

	started, err := ctl.Start(ctx, web)
	fmt.Println(err)
	ended, _ := ctl.WaitForTask(ctx, started.ID, nil)
	err = fmt.Errorf("roll out the shop: %w", ended.Error)
	fmt.Println(controller.IsUnitNotFound(err), "-", err)
	// Output:
	// true - invalid request: group "web": no units in group
	// <nil>
	// true - roll out the shop: start group web: none of its units is on the cluster; it has to be submitted first: unit not found
}
