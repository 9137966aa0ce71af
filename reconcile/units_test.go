package reconcile_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/squadronctl/squadron/fleet"
	"github.com/squadronctl/squadron/fleet/fleettest"
	"github.com/squadronctl/squadron/prune"
	"github.com/squadronctl/squadron/reconcile"
	"github.com/squadronctl/squadron/stack"
	"github.com/squadronctl/squadron/stack/revision"
	"github.com/squadronctl/squadron/stack/units"
)

const (
	webManifest = "slices: 2\nmin-alive: 1\n-- web-app@.service --\n[Service]\nExecStart=/bin/serve\n" +
		"-- web-cache@.service --\n[Service]\nExecStart=/bin/cache\n"
	webWithoutCache = "slices: 2\nmin-alive: 1\n-- web-app@.service --\n[Service]\nExecStart=/bin/serve\n"
)

// The engine of units, which must not import this package, reads the fields of many stacks in one look.
var _ reconcile.DriftReader = (*units.Engine)(nil)

// A group that was put there without a stamp belongs to nobody, so it can't be seen by any owner's. A plan says so all the same.
func TestPlanOfAGroupWithoutStamp(t *testing.T) {
	cluster := fleettest.NewCluster(fleettest.Config{})
	require.NoError(t, cluster.Put("web-db.service", "[Service]\nExecStart=/bin/db\n", "launched"))
	client, err := fleet.NewFleet(fleettest.ClientConfig(cluster))
	require.NoError(t, err)
	store := &revision.Memory{}
	engine, err := units.New(units.Config{Fleet: client, Store: store})
	require.NoError(t, err)
	defer func() { require.NoError(t, engine.Close()) }()
	reconciler := reconcile.New(reconcile.Config{
		Backend: engine, Owner: "ops", Store: store, Source: reconcile.Fixed(reconcile.Declared{Name: "web", Manifest: webManifest}),
	})
	for do, run := range map[reconcile.Action]func(context.Context) (reconcile.Report, error){
		reconcile.ActionRefuse: reconciler.Plan, reconcile.ActionFailed: reconciler.Pass,
	} {
		report, err := run(t.Context())
		require.NoError(t, err)
		s := report.Stacks[0]
		assert.Equal(t, do, s.Action)
		assert.Equal(t, reconcile.ReasonForeign, s.Reason)
		assert.True(t, stack.IsForeignStack(s.Err))
		assert.ErrorContains(t, s.Err, "web-db.service carries no stamp")
	}
	assert.Len(t, cluster.Units(), 1)
}

// What this package takes for granted of an engine holds for the engine of units: declared, changed by hand, corrected,
// reduced and swept.
func TestUnitsAreKeptAsDeclared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cluster := fleettest.NewCluster(fleettest.Config{Timing: fleettest.Fast()})
		client, err := fleet.NewFleet(fleettest.ClientConfig(cluster))
		require.NoError(t, err)
		store := &revision.Memory{}
		engine, err := units.New(units.Config{Fleet: client, Store: store})
		require.NoError(t, err)
		defer func() { require.NoError(t, engine.Close()) }()

		declared := []reconcile.Declared{{Name: "web", Manifest: webManifest}}
		reconciler := reconcile.New(reconcile.Config{
			Backend: engine, Owner: "ops", Store: store,
			Source: func(context.Context) ([]reconcile.Declared, []error) { return declared, nil },
		})
		pass := func() reconcile.StackReport {
			report, err := reconciler.Pass(t.Context())
			require.NoError(t, err)
			require.NoError(t, report.Err())
			require.Len(t, report.Stacks, 1)
			return report.Stacks[0]
		}
		assert.Equal(t, reconcile.ReasonMissing, pass().Reason)
		s := pass()
		assert.True(t, s.Settled(), "%+v", s)
		assert.Equal(t, reconcile.ActionNone, s.Action)

		require.Len(t, cluster.Units(), 4)
		require.True(t, cluster.Remove(cluster.Units()[0].Name))
		time.Sleep(5 * time.Minute)
		s = pass()
		assert.Equal(t, reconcile.ReasonDrift, s.Reason)
		assert.Equal(t, []reconcile.Change{{Service: "web-app@.service", Field: "slices", Old: "2", New: "1"}}, s.Changes)
		declared[0].Manifest = webWithoutCache
		s = pass()
		assert.Equal(t, reconcile.ActionDeployed, s.Action)
		assert.Equal(t, []string{"web-cache@.service"}, s.Undeclared)
		assert.True(t, pass().Settled())

		sweep := func(declared ...prune.Declared) prune.Report {
			report, err := prune.Sweep(t.Context(), prune.Config{
				Backend: engine, Owner: "ops", Store: store, Complete: true, Declared: declared,
			})
			require.NoError(t, err)
			require.NoError(t, report.Err())
			return report
		}
		items := sweep(prune.Declared{Name: "web", Manifest: webWithoutCache}).Items
		require.Len(t, items, 1)
		assert.Equal(t, "removed service web-cache@.service", items[0].String())
		s = pass()
		assert.True(t, s.Settled(), "%+v", s)
		assert.Equal(t, reconcile.ActionNone, s.Action)
		assert.Empty(t, s.Undeclared)

		items = sweep().Items
		require.Len(t, items, 1)
		assert.Equal(t, "removed stack web", items[0].String())
		assert.Empty(t, cluster.Units())
	})
}
