package units_test

import (
	"context"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/squadronctl/squadron/fleet"
	"github.com/squadronctl/squadron/fleet/fleettest"
	"github.com/squadronctl/squadron/internal/stackmark"
	"github.com/squadronctl/squadron/prune"
	"github.com/squadronctl/squadron/reconcile"
	"github.com/squadronctl/squadron/stack/revision"
	"github.com/squadronctl/squadron/stack/units"
)

const thousand = 1000

// many are a thousand stacks that were deployed. Every other one leaves open how many slices there are to be.
type many struct {
	cluster *fleettest.Cluster
	engine  *units.Engine
	sweep   prune.Config
	*reconcile.Reconciler
}

func newMany(t testing.TB, sliceIDs ...string) *many {
	m := &many{cluster: fleettest.NewCluster(fleettest.Config{})}
	store := &revision.Memory{}
	var declared []reconcile.Declared
	m.sweep = prune.Config{Owner: "ops", Store: store, Complete: true}
	for i := range thousand {
		name := fmt.Sprintf("stack%04d", i)
		text := file(name+"-app@.service", service(name))
		if i%2 == 0 {
			text = fmt.Sprintf("slices: %d\n", len(sliceIDs)) + text
		}
		declared = append(declared, reconcile.Declared{Name: name, Manifest: text})
		m.sweep.Declared = append(m.sweep.Declared, prune.Declared{Name: name, Manifest: text})
		manifest, err := units.ParseManifest(text)
		require.NoError(t, err)
		stamped, err := units.Stamped(manifest.Units, name, "ops")
		require.NoError(t, err)
		for _, id := range sliceIDs {
			unit := strings.Replace(stamped[0].Name, "@.", "@"+id+".", 1)
			require.NoError(t, m.cluster.Put(unit, stamped[0].Content, "launched"))
		}
		require.NoError(t, stackmark.Set(t.Context(), store, "ops", name, text))
	}
	client, err := fleet.NewFleet(fleettest.ClientConfig(m.cluster))
	require.NoError(t, err)
	m.engine, err = units.New(units.Config{Fleet: client, Store: store})
	require.NoError(t, err)
	m.sweep.Backend = m.engine
	m.Reconciler = reconcile.New(reconcile.Config{
		Backend: m.engine, Owner: "ops", Store: store, Source: reconcile.Fixed(declared...), CorrectDrift: true,
	})
	return m
}

func (m *many) quiet(t testing.TB) {
	report, err := m.Pass(context.Background())
	require.NoError(t, err)
	require.NoError(t, report.Err())
	require.True(t, report.Settled())
	require.Len(t, report.Stacks, thousand)
}

// A pass over a thousand stacks of which nothing is to be done reads the cluster's units once, also when their fields are
// compared. Since that takes several pages, which prove nothing alone, it is two listings that agree.
func TestAPassOverAThousandStacksIsOneLook(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMany(t, "a")
		defer func() { require.NoError(t, m.engine.Close()) }()
		m.quiet(t) // reads each content once
		pages := thousand / 100
		for _, pass := range []string{"states", "fields"} {
			time.Sleep(map[string]time.Duration{"states": 30 * time.Second, "fields": 5 * time.Minute}[pass])
			m.cluster.ResetCounts()
			m.quiet(t)
			counts := m.cluster.Counts()
			assert.Equal(t, 2, counts.UnitListings, "%s", pass)
			assert.Equal(t, 2, counts.StateListings, "%s", pass)
			assert.LessOrEqual(t, counts.UnitPages, 2*(pages+1), "%s", pass)
			assert.LessOrEqual(t, counts.MachineListings, 1, "%s", pass)
			assert.Zero(t, counts.UnitReads+counts.StateReads+counts.Puts+counts.Deletes+counts.Others, "%s", pass)
		}
		m.cluster.ResetCounts()
		swept, err := prune.Sweep(t.Context(), m.sweep)
		require.NoError(t, err)
		assert.Empty(t, swept.Items)
		counts := m.cluster.Counts()
		assert.Equal(t, 2, counts.UnitListings, "a sweep is one look as well")
		assert.Zero(t, counts.UnitReads+counts.Puts+counts.Deletes)
		// What was changed by hand is seen in the same number of requests, and one that reads the content.
		name := "stack0500-app@a.service"
		unit, _ := m.cluster.Unit(name)
		require.NoError(t, m.cluster.Put(name, strings.Replace(unit.Content, "/bin/serve", "/bin/other", 1), "launched"))
		time.Sleep(5 * time.Minute)
		m.cluster.ResetCounts()
		plan, err := m.Plan(t.Context())
		require.NoError(t, err)
		assert.Len(t, plan.Stacks[500].Changes, 1)
		assert.Equal(t, reconcile.ActionDeploy, plan.Stacks[500].Action)
		counts = m.cluster.Counts()
		assert.Equal(t, 2, counts.UnitListings)
		assert.Equal(t, 1, counts.UnitReads)
	})
}

// BenchmarkQuietPass1000 is such a pass, the simulated cluster's share included: it answers in the same process. "States" is a
// pass between two looks at the fields, "fields" one that compares them.
func BenchmarkQuietPass1000(b *testing.B) {
	m := newMany(b, "a", "b")
	defer func() { _ = m.engine.Close() }()
	m.quiet(b)
	b.Run("states", func(b *testing.B) {
		measured(b, func() { m.quiet(b) })
	})
	b.Run("fields", func(b *testing.B) {
		measured(b, func() {
			report, err := m.Plan(context.Background())
			if err != nil || !report.Settled() {
				b.Fatal(report, err)
			}
		})
	})
	b.Run("listings alone", func(b *testing.B) {
		client, err := fleet.NewFleet(fleettest.ClientConfig(m.cluster))
		require.NoError(b, err)
		measured(b, func() {
			for range 2 {
				if _, err := client.(fleet.UnitReader).ReadUnits(context.Background(), fleet.Selector{Groups: []string{"none"}}); err != nil {
					b.Fatal(err)
				}
			}
		})
	})
}

// measured reports the CPU time of each run as well.
func measured(b *testing.B, run func()) {
	b.ReportAllocs()
	before := cpuTime(b)
	for b.Loop() {
		run()
	}
	b.ReportMetric(float64((cpuTime(b)-before).Milliseconds())/float64(b.N), "cpu-ms/op")
}

func cpuTime(b *testing.B) time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		b.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
