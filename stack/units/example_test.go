package units_test

import (
	"context"
	"fmt"
	"time"

	"github.com/squadronctl/squadron/fleet"
	"github.com/squadronctl/squadron/stack"
	"github.com/squadronctl/squadron/stack/revision"
	"github.com/squadronctl/squadron/stack/units"
)

func Example() {
	engine, err := units.New(units.Config{
		Fleet:     fleet.NewDummyFleet(fleet.DefaultDummyConfig()),
		Store:     &revision.Memory{}, // revision.NewDirectory outside of tests
		WaitSleep: time.Millisecond,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer engine.Close()
	request := stack.DeployRequest{Name: "web", Owner: "shop", Manifest: `
slices: 2
min-alive: 1
-- web-app@.service --
[Service]
ExecStart=/bin/serve
`}
	ctx := context.Background()
	for range 2 { // the second time there is nothing to do
		if err := engine.DeployStack(ctx, request); err != nil {
			fmt.Println(err)
			return
		}
	}
	for _, service := range engine.StackServices(ctx, "web") {
		fmt.Printf("%s: %d of %d, %s\n", service.Name, service.Running, service.Desired, service.Status)
	}
	request.Owner = "somebody else"
	fmt.Println(stack.IsForeignStack(engine.DeployStack(ctx, request)))
	// Output:
	// web-app@.service: 2 of 2, running
	// true
}

func ExampleParseManifest() {
	_, err := units.ParseManifest("slices: 2\n-- web-app@.service --\n[Service]\nExecStart /bin/serve\n")
	fmt.Println(err)
	// Output: web-app@.service:2: the line is neither a comment, a section header nor an option
}
