package controller_test

import (
	"context"
	"log"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/squadronctl/squadron/internal/stacktest"
	"github.com/squadronctl/squadron/prune"
	"github.com/squadronctl/squadron/reconcile"
	"github.com/squadronctl/squadron/stack"
)

// docs/stacks.md shows these two functions.

func keepDeclared(ctx context.Context, engine stack.Backend, store stack.RevisionStore, source reconcile.Source) error {
	reconciler := reconcile.New(reconcile.Config{
		Backend: engine,
		Owner:   "ops",
		Store:   store,
		Source:  source,
		Record: func(_ context.Context, report reconcile.Report) error {
			for _, s := range report.Stacks {
				log.Println(s.Name, s.Sync, s.Health, s.Action, s.Reason, s.Error)
			}
			return nil
		},
	})
	return reconciler.Run(ctx)
}

func sweepUndeclared(ctx context.Context, engine stack.Backend, store stack.RevisionStore,
	declared []reconcile.Declared, last reconcile.Report) (prune.Report, error) {
	settled := map[string]bool{}
	for _, s := range last.Stacks {
		settled[s.Name] = s.Settled()
	}
	cfg := prune.Config{Backend: engine, Owner: "ops", Store: store, Complete: len(last.Faults) == 0}
	for _, d := range declared {
		cfg.Declared = append(cfg.Declared, prune.Declared{Name: d.Name, Manifest: d.Manifest, Keep: !settled[d.Name]})
	}
	return prune.Sweep(ctx, cfg)
}

func TestExampleDeclaredStacks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cluster, store := stacktest.NewCluster(), stacktest.NewStore()
		engine := stacktest.NewEngine(cluster, store, "")
		declared := []reconcile.Declared{{Name: "web", Manifest: "service app"}}
		source := reconcile.Fixed(declared...)
		ctx, end := context.WithTimeout(t.Context(), time.Minute)
		defer end()
		require.NoError(t, keepDeclared(ctx, engine, store, source))
		assert.Equal(t, []string{"ops service web web_app"}, cluster.Contents())

		report, err := reconcile.New(reconcile.Config{Backend: engine, Owner: "ops", Store: store, Source: source}).Plan(t.Context())
		require.NoError(t, err)
		swept, err := sweepUndeclared(t.Context(), engine, store, nil, report)
		require.NoError(t, err)
		assert.Len(t, swept.Of(prune.Removed), 1)
		assert.Empty(t, cluster.Contents())
	})
}
