package fleettest_test

import (
	"context"
	"fmt"

	"github.com/squadronctl/squadron/fleet/fleettest"
)

// A test of one's own against a whole cluster: start it, use the client, look at what became of it.
func Example() {
	cluster := fleettest.NewServer(fleettest.Config{})
	defer cluster.Close()

	client, ctx := cluster.Client(), context.Background()
	if err := client.Submit(ctx, "web@1.service", "[Service]\nExecStart=/bin/sleep 1000\n"); err != nil {
		fmt.Println(err)
	}
	if err := client.Start(ctx, "web@1.service"); err != nil {
		fmt.Println(err)
	}
	for _, unit := range cluster.Cluster.Units() {
		fmt.Println(unit.Name, unit.Current, unit.On[0].Active, unit.On[0].Sub)
	}
	// Output:
	// web@1.service launched active running
}

// What goes wrong is the test's to say: here every second request is answered with a 500, and one machine is lost.
func Example_faults() {
	server := fleettest.NewServer(fleettest.Config{})
	defer server.Close()
	server.Faults.Set(fleettest.Every(2, fleettest.Fail(500, "")))

	client, ctx := server.Client(), context.Background()
	for _, name := range []string{"web@1.service", "web@2.service"} {
		if err := client.Submit(ctx, name, "[Service]\nExecStart=/bin/sleep 1000\n"); err != nil {
			fmt.Println(err)
		}
	}
	lost := server.Cluster.Units()[0].Machine
	server.Cluster.KillMachine(lost)
	for _, unit := range server.Cluster.Units() {
		fmt.Println(unit.Name, unit.Current, unit.Machine != lost)
	}
	// Output:
	// web@1.service loaded true
	// web@2.service loaded true
}
