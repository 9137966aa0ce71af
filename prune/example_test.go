package prune_test

import (
	"context"
	"fmt"
	"log"

	"github.com/squadronctl/squadron/internal/stacktest"
	"github.com/squadronctl/squadron/prune"
	"github.com/squadronctl/squadron/stack"
)

// A dry run over a cluster with three stacks of two owners, of which one is still declared. Programs have an engine
// such as stack/units in place of this double.
func ExampleSweep() {
	ctx := context.Background()
	store := stacktest.NewStore()
	engine := stacktest.NewEngine(stacktest.NewCluster(), store, "")
	for _, req := range []stack.DeployRequest{
		{Name: "web", Owner: "ops", Manifest: "service app\nservice cache"},
		{Name: "old", Owner: "ops", Manifest: "service app"},
		{Name: "theirs", Owner: "dev", Manifest: "service app"},
	} {
		if err := engine.DeployStack(ctx, req); err != nil {
			log.Fatal(err)
		}
	}
	report, err := prune.Sweep(ctx, prune.Config{
		Backend: engine, Owner: "ops", Store: store, Complete: true, DryRun: true,
		Declared: []prune.Declared{{Name: "web", Manifest: "service app"}},
	})
	if err != nil {
		log.Fatal(err)
	}
	for _, item := range report.Items {
		fmt.Println(item)
	}
	// Output:
	// would-remove stack old
	// would-remove service web_cache
}
