package groups_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/squadronctl/squadron/controller"
	"github.com/squadronctl/squadron/integration/groups/bench"
)

// running brings a group of so many slices of the content to running.
func running(t *testing.T, b *bench.Bench, s *bench.Site, req controller.Request, n int) {
	t.Helper()
	require.NoError(t, b.Submit(bench.Number(req, n)))
	require.NoError(t, b.Start(bench.Request(req.Group)))
	requireUnits(t, s, req.Group+"-", n*len(req.Units), launched, active)
}

// C11, R14: units created anew under names whose old states are still listed; Submit ends with the new contents loaded.
func TestSlicesCreatedAnew(t *testing.T) {
	t.Parallel()
	const group = "anew"
	s := first
	b := s.Open(t, group, bench.Options{})
	left := 0
	for round := range 3 {
		req := bench.Slices(content(group, round), "a1", "b2", "c3")
		left += len(leftStates(t, s, group))
		require.NoError(t, b.Submit(req))
		requireContent(t, requireUnits(t, s, group+"-", 6, loaded, inactive), req)
		require.Len(t, requireStatus(t, b, s, bench.Request(group)), 6)
		if round == 1 {
			require.NoError(t, b.Start(bench.Request(group)))
		}
		require.NoError(t, b.Destroy(bench.Request(group)))
	}
	assert.Positive(t, left, "no old state was ever listed, so this shows nothing")
	requireNothing(t, b, s, group)
}

// leftStates are the names of the group's units of which there is a state.
func leftStates(t *testing.T, s *bench.Site, group string) []string {
	t.Helper()
	names, err := s.Observer.StatesLeft(context.Background(), group+"-")
	require.NoError(t, err)
	return names
}

// C12, R25: an update to a content that fails ends soon, takes no old slice, and leaves nothing of the new one.
func TestUpdateToWhatFails(t *testing.T) {
	t.Parallel()
	const group = "fails"
	s := second
	b := s.Open(t, group, bench.Options{})
	other := bystander(t, s, group)
	running(t, b, s, content(group, 0), 3)
	before := s.Observer.Settled(t, settleLimit, group+"-")
	bad := bench.Pair(group, "/bin/sh -c 'exit 1'")

	// The wait's timeout is far away: that the update ends at all shows that it gave up on the failure.
	err := update(t, b, s, bad, controller.UpdateOptions{MaxGrowth: 1, MinAlive: 3}, other)
	require.True(t, controller.IsUpdateFailed(err), "%v", err)
	require.True(t, controller.IsUnitFailed(err), "%v", err)
	require.False(t, controller.IsWaitTimeoutReached(err), "%v", err)
	require.Equal(t, before, s.Observer.Settled(t, settleLimit, group+"-"), "the old slices as they were, and nothing new")
	for _, id := range bench.SliceIDs(before) {
		assert.ErrorContains(t, err, id, "the error names the old slices")
	}

	// With no room for growth one old slice has gone before the new one could fail, and no more than that.
	err = update(t, b, s, bad, controller.UpdateOptions{MinAlive: 2}, other)
	require.True(t, controller.IsUpdateFailed(err), "%v", err)
	left := s.Observer.Settled(t, settleLimit, group+"-")
	require.Len(t, left, 4)
	for _, unit := range left {
		assert.Equal(t, byName(before)[unit.Name], unit)
	}

	// The same request with a content that works finishes the work (R21).
	require.NoError(t, update(t, b, s, bench.Number(content(group, 1), 3), controller.UpdateOptions{MaxGrowth: 1, MinAlive: 2}, other))
	requireContent(t, requireUnits(t, s, group+"-", 6, launched, active), content(group, 1))
}

// C13, R23: time alone moves nothing on. A new slice needs ten times ReadySecs to run; no old one goes before.
func TestUpdateToWhatStartsSlowly(t *testing.T) {
	t.Parallel()
	const group, readySecs = "slow", 1
	s := second
	b := s.Open(t, group, bench.Options{})
	other := bystander(t, s, group)
	running(t, b, s, content(group, 0), 2)
	before := s.Observer.Settled(t, settleLimit, group+"-")

	req := bench.Request(group)
	for _, unit := range content(group, 1).Units {
		unit.Content = fmt.Sprintf("[Service]\nExecStartPre=/bin/sleep %d\n", 10*readySecs) + unit.Content[len("[Service]\n"):]
		req.Units = append(req.Units, unit)
	}
	var ready, leaving time.Time // when all of some new slice ran, and when the first old unit was asked to stop
	end := s.Observer.Follow(func(look bench.Snapshot) {
		fresh := map[string]int{}
		for _, unit := range look.Named(group + "-") {
			_, old := byName(before)[unit.Name]
			if !old && unit.Here().Active == active {
				fresh[unit.Slice()]++
			}
			if old && unit.Desired != launched && leaving.IsZero() {
				leaving = look.At
			}
		}
		for _, n := range fresh {
			if n == len(req.Units) && ready.IsZero() {
				ready = look.At
			}
		}
	})
	err := update(t, b, s, req, controller.UpdateOptions{MaxGrowth: 1, MinAlive: 2, ReadySecs: readySecs}, other)
	end()
	require.NoError(t, err)
	require.False(t, ready.IsZero())
	require.False(t, leaving.IsZero())
	assert.GreaterOrEqual(t, leaving.Sub(ready), readySecs*time.Second, "the first old slice went before the new one had run for ReadySecs")
	requireContent(t, requireUnits(t, s, group+"-", 4, launched, active), req)
}

// C19, R21: the updating process is killed half-way, and the same request finishes the work, in both orders of replacement.
func TestUpdateKilledHalfWay(t *testing.T) {
	t.Parallel()
	for _, order := range []struct {
		group string
		on    *bench.Site
		opts  controller.UpdateOptions
		// half says when the process is killed.
		half func(old, fresh int) bool
	}{
		{"killadd", first, controller.UpdateOptions{MaxGrowth: 1, MinAlive: 3}, func(old, fresh int) bool { return old < 3 && fresh > 0 }},
		{"killnew", second, controller.UpdateOptions{MaxGrowth: 1, MinAlive: 3}, func(_, fresh int) bool { return fresh > 0 }},
		{"killrem", second, controller.UpdateOptions{MinAlive: 2}, func(old, _ int) bool { return old < 3 }},
	} {
		t.Run(order.group, func(t *testing.T) {
			t.Parallel()
			s := order.on
			b := s.Open(t, order.group, bench.Options{})
			other := bystander(t, s, order.group)
			running(t, b, s, content(order.group, 0), 3)
			req := bench.Number(content(order.group, 1), 3)

			watch := s.Observer.WatchUpdate(t, req, order.opts, 3, other)
			endpoint := s.Cluster.Endpoint()
			process := bench.Job{Endpoint: endpoint.String(), Request: req, MaxGrowth: order.opts.MaxGrowth, MinAlive: order.opts.MinAlive}.Start(t)
			s.Observer.Await(t, 3*time.Minute, "the update is half-way", func(look bench.Snapshot) bool {
				ids := bench.SliceIDs(look.Named(order.group + "-main@"))
				fresh := len(ids) - oldSlices(look, order.group)
				return order.half(len(ids)-fresh, fresh)
			})
			require.NoError(t, process.Process.Kill())
			require.ErrorContains(t, process.Wait(), "killed")
			watch.End(t)

			require.NoError(t, update(t, b, s, req, order.opts, other))
			requireContent(t, requireUnits(t, s, order.group+"-", 6, launched, active), req)
			err := b.Update(req, order.opts)
			require.True(t, controller.IsUnitsAlreadyUpToDate(err), "%v", err)
		})
	}
}

// C19, R26: the process that updates an instance group in place is killed when the group is not there at all.
func TestInstanceUpdateKilledHalfWay(t *testing.T) {
	t.Parallel()
	const group = "killinst"
	s := second
	b := s.Open(t, group, bench.Options{})
	require.NoError(t, b.Update(bench.Number(instance(group, "/bin/sleep 100000"), 1), controller.UpdateOptions{}))
	requireUnits(t, s, group+"-", 2, launched, active)
	req := bench.Number(instance(group, "/bin/sleep 100001"), 1)
	endpoint := s.Cluster.Endpoint()
	process := bench.Job{Endpoint: endpoint.String(), Request: req, KillAt: controller.PhaseDestroyed}.Start(t)
	require.ErrorContains(t, process.Wait(), "killed")
	// The units may be created again by the time of the kill: then there is nothing to do but to wait for them.
	if err := b.Update(req, controller.UpdateOptions{}); !controller.IsUnitsAlreadyUpToDate(err) {
		require.NoError(t, err)
	}
	s.Observer.Await(t, time.Minute, "both units run", func(look bench.Snapshot) bool {
		units := look.Named(group + "-")
		return len(units) == 2 && units[0].Here().Active == active && units[1].Here().Active == active
	})
	requireContent(t, requireUnits(t, s, group+"-", 2, launched, active), req)
}

// oldSlices counts the slices whose main unit has the first content.
func oldSlices(look bench.Snapshot, group string) int {
	n := 0
	for _, unit := range look.Named(group + "-main@") {
		if unit.Runs("/bin/sleep 100000") {
			n++
		}
	}
	return n
}
