package groups_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/squadronctl/squadron/controller"
	"github.com/squadronctl/squadron/integration/groups/bench"
)

// R25, R26: the old content comes back after a new one that does not run, in a sliced group and in an instance group,
// within the bounds all the way.
func TestUpdateRollsBack(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		group, bad string
		opts       controller.UpdateOptions
	}{
		{"backadd", "/bin/sh -c 'exit 1'", controller.UpdateOptions{MaxGrowth: 1, MinAlive: 3, Rollback: true}},
		{"backrem", "/bin/sh -c 'exit 1'", controller.UpdateOptions{MinAlive: 2, Rollback: true}},
		// These run at first, so that old slices have gone by the time the failure shows.
		{"backlate", "/bin/sh -c 'sleep 25; exit 1'", controller.UpdateOptions{MaxGrowth: 1, MinAlive: 2, ReadySecs: 5, Rollback: true}},
	} {
		t.Run(c.group, func(t *testing.T) {
			t.Parallel()
			b := second.Open(t, c.group, bench.Options{})
			running(t, b, second, content(c.group, 0), 3)
			// What fails without the update's doing is a new slice here, which the watch can't tell from a loss.
			watch := second.Observer.WatchUpdate(t, bench.Number(bench.Pair(c.group, c.bad), 3), c.opts, 3)
			watch.AllowLosses()
			err := b.Update(bench.Pair(c.group, c.bad), c.opts)
			watch.End(t)
			requireRolledBack(t, err)
			requireContent(t, requireUnits(t, second, c.group+"-", 6, launched, active), content(c.group, 0))
		})
	}
	t.Run("instance", func(t *testing.T) {
		t.Parallel()
		const group = "backinst"
		b := second.Open(t, group, bench.Options{})
		req := instance(group, "/bin/sleep 100000")
		require.NoError(t, b.Submit(bench.Number(req, 1)))
		require.NoError(t, b.Start(bench.Request(group)))
		bad := instance(group, "/bin/sh -c 'exit 1'")
		requireRolledBack(t, b.Update(bad, controller.UpdateOptions{Rollback: true}))
		requireContent(t, requireUnits(t, second, group+"-", len(req.Units), launched, active), req)
	})
}

func requireRolledBack(t *testing.T, err error) {
	t.Helper()
	var failure *controller.UpdateFailure
	require.ErrorAs(t, err, &failure)
	require.True(t, failure.RolledBack, "%v", err)
	require.True(t, controller.IsUnitFailed(err), "%v", err)
	require.Empty(t, failure.New)
}

// R27, R41, R45: a plan that touches nothing; more slices, made of what is there; a rolling restart with a check of its
// own; fewer slices; and what is told of it.
func TestScaleRestartAndPlan(t *testing.T) {
	t.Parallel()
	const group = "engine"
	b := first.Open(t, group, bench.Options{})
	running(t, b, first, content(group, 0), 2)
	before := first.Observer.Settled(t, settleLimit, group+"-")

	plan, err := b.Control.(controller.Planner).PlanUpdate(context.Background(), content(group, 1), controller.UpdateOptions{MaxGrowth: 1, MinAlive: 2})
	require.NoError(t, err)
	assert.Contains(t, plan.String(), "2 slices now, 2 wanted")
	assert.Len(t, plan.Steps, 4)
	require.Equal(t, before, first.Observer.Settled(t, settleLimit, group+"-"))

	require.NoError(t, b.Scale(bench.Request(group), 4, controller.UpdateOptions{MinAlive: 2}))
	requireContent(t, requireUnits(t, first, group+"-", 8, launched, active), content(group, 0))

	var asked atomic.Int32
	var events []controller.UpdateEvent
	opts := controller.UpdateOptions{
		MaxGrowth: 2, MinAlive: 4, Force: true,
		Ready: func(_ context.Context, slice controller.SliceStatus) error {
			if asked.Add(1) <= 2 {
				return errors.New("not yet")
			}
			if len(slice.Units) != 2 || len(slice.IPs()) != 1 {
				return errors.New("that is not a slice of two units on one machine")
			}
			return nil
		},
		Progress: func(event controller.UpdateEvent) { events = append(events, event) },
	}
	grown := first.Observer.Settled(t, settleLimit, group+"-")
	require.NoError(t, b.Update(content(group, 0), opts))
	restarted := requireUnits(t, first, group+"-", 8, launched, active)
	for _, unit := range restarted {
		assert.NotContains(t, byName(grown), unit.Name)
	}
	require.NotEmpty(t, events)
	assert.Equal(t, controller.UpdateCounts{Existing: 4, Running: 4}, events[len(events)-1].Counts)

	require.NoError(t, b.Scale(bench.Request(group), 2, controller.UpdateOptions{MinAlive: 2}))
	requireUnits(t, first, group+"-", 4, launched, active)
}
