package reconcile_test

import (
	"context"
	"fmt"
	"log"

	"github.com/squadronctl/squadron/internal/stacktest"
	"github.com/squadronctl/squadron/reconcile"
)

// Two passes over one declared stack: the first deploys it, the second has nothing to do. Programs have an engine such
// as stack/units in place of this double.
func ExampleReconciler_Pass() {
	store := stacktest.NewStore()
	reconciler := reconcile.New(reconcile.Config{
		Backend: stacktest.NewEngine(stacktest.NewCluster(), store, ""),
		Owner:   "ops",
		Store:   store,
		Source:  reconcile.Fixed(reconcile.Declared{Name: "web", Manifest: "service app image=web:1"}),
	})
	for range 2 {
		report, err := reconciler.Pass(context.Background())
		if err != nil {
			log.Fatal(err)
		}
		for _, s := range report.Stacks {
			fmt.Println(s.Name, s.Sync, s.Health, s.Action, s.Reason)
		}
	}
	// Output:
	// web synced healthy deployed missing
	// web synced healthy none
}

// What somebody changed by hand is named, field by field.
func ExampleReconciler_Plan() {
	cluster, store := stacktest.NewCluster(), stacktest.NewStore()
	reconciler := reconcile.New(reconcile.Config{
		Backend: stacktest.NewEngine(cluster, store, ""),
		Owner:   "ops",
		Store:   store,
		Source:  reconcile.Fixed(reconcile.Declared{Name: "web", Manifest: "service app image=web:1"}),
	})
	if _, err := reconciler.Pass(context.Background()); err != nil {
		log.Fatal(err)
	}
	cluster.Set("web", "web_app", "image", "web:2")
	report, err := reconciler.Plan(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	for _, change := range report.Stacks[0].Changes {
		fmt.Println(change)
	}
	// Output:
	// web_app image: web:1 -> web:2
}
