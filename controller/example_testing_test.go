package controller_test

import (
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/squadronctl/squadron/controller"
	"github.com/squadronctl/squadron/fleet"
	"github.com/squadronctl/squadron/fleet/fleettest"
	"github.com/squadronctl/squadron/task"
)

// A test of one's own: the group runs again after a machine was lost. The bubble of synctest has a clock of its own, so
// that the cluster can take as long as a real one, and the test takes milliseconds.
func TestExampleMachineLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cluster := fleettest.NewCluster(fleettest.Config{Timing: fleettest.Measured()})
		client, err := fleet.NewFleet(fleettest.ClientConfig(cluster))
		if err != nil {
			t.Fatal(err)
		}
		ctl := controller.NewController(controller.Config{Fleet: client, TaskService: task.NewTaskService(task.DefaultConfig())})
		defer ctl.(io.Closer).Close()
		web := controller.NewRequest(controller.RequestConfig{Group: "web"})

		for _, name := range []string{"web-app@1.service", "web-app@2.service"} {
			if err := cluster.Put(name, "[Service]\nExecStart=/bin/sleep 1000\n", "launched"); err != nil {
				t.Fatal(err)
			}
		}
		if err := ctl.WaitForStatus(t.Context(), web, nil, controller.StatusRunning); err != nil {
			t.Fatal(err)
		}
		unit, _ := cluster.Unit("web-app@1.service")
		cluster.KillMachine(unit.Machine)
		time.Sleep(time.Minute)
		if err := ctl.WaitForStatus(t.Context(), web, nil, controller.StatusRunning); err != nil {
			t.Fatal(err)
		}
	})
}
