package controller_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"time"

	"github.com/squadronctl/squadron/controller"
	"github.com/squadronctl/squadron/fleet"
	"github.com/squadronctl/squadron/fleet/fleettest"
	"github.com/squadronctl/squadron/task"
)

// exampleGroup is a controller on a simulated cluster where slices of the group web run.
func exampleGroup(ids ...string) (controller.Controller, controller.Request) {
	cluster := fleettest.NewCluster(fleettest.Config{})
	client, err := fleet.NewFleet(fleettest.ClientConfig(cluster))
	if err != nil {
		log.Fatal(err)
	}
	web := controller.NewRequest(controller.RequestConfig{Group: "web"})
	web.Units = []controller.Unit{{Name: "web@.service", Content: "[Service]\nExecStart=/usr/bin/web v1\n"}}
	for _, id := range ids {
		if err := cluster.Put("web@"+id+".service", web.Units[0].Content, "launched"); err != nil {
			log.Fatal(err)
		}
	}
	return controller.NewController(controller.Config{
		Fleet:       client,
		TaskService: task.NewTaskService(task.DefaultConfig()),
		WaitSleep:   5 * time.Millisecond,
	}), web
}

func ExamplePlanner() {
	ctl, web := exampleGroup("a", "b", "c")
	defer ctl.(io.Closer).Close()
	web.Units[0].Content = "[Service]\nExecStart=/usr/bin/web v2\n"
	plan, err := ctl.(controller.Planner).PlanUpdate(context.Background(), web, controller.UpdateOptions{MaxGrowth: 1, MinAlive: 2})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Print(plan)
	// Output:
	// group web: 3 slices now, 3 wanted; MaxGrowth 1, MinAlive 2, ReadySecs 0; at least 3 running, at most 4 there
	// slice a: replace (running)
	//   web@a.service: changed
	//     diff web@.service (on the cluster) web@.service (wanted)
	//     --- web@.service (on the cluster)
	//     +++ web@.service (wanted)
	//     @@ -1,2 +1,2 @@
	//      [Service]
	//     -ExecStart=/usr/bin/web v1
	//     +ExecStart=/usr/bin/web v2
	// slice b: replace (running)
	//   web@b.service: changed, as above
	// slice c: replace (running)
	//   web@c.service: changed, as above
	// step 1: create 1
	// step 2: remove a
	// step 3: create 1
	// step 4: remove b
	// step 5: create 1
	// step 6: remove c
}

func ExampleUpdateFailure() {
	ctl, web := exampleGroup("a", "b", "c")
	defer ctl.(io.Closer).Close()
	web.Units[0].Content = "[Service]\nExecStart=/bin/false\n"
	created, err := ctl.Update(context.Background(), web, controller.UpdateOptions{MaxGrowth: 1, MinAlive: 3, Rollback: true})
	if err != nil {
		log.Fatal(err)
	}
	ended, err := ctl.WaitForTask(context.Background(), created.ID, nil)
	if err != nil {
		log.Fatal(err)
	}
	printFailure(ended)
	// Output:
	// old content back: true <nil>
	// old: 3 new: 0 going: 0
}

// printFailure says how an update has failed.
func printFailure(ended *task.Task) {
	var failure *controller.UpdateFailure
	if errors.As(ended.Error, &failure) {
		fmt.Println("old content back:", failure.RolledBack, failure.RollbackErr)
		fmt.Println("old:", len(failure.Old), "new:", len(failure.New), "going:", len(failure.Leaving))
	}
}

func ExampleScaler() {
	ctl, web := exampleGroup("a", "b", "c")
	defer ctl.(io.Closer).Close()
	web.Units = nil // of what is there
	created, err := ctl.(controller.Scaler).Scale(context.Background(), web, 5, controller.UpdateOptions{MinAlive: 3})
	if err != nil {
		log.Fatal(err)
	}
	ended, err := ctl.WaitForTask(context.Background(), created.ID, nil)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(ended.FinalStatus, ended.Error)
	// Output: succeeded <nil>
}
