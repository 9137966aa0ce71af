package groups_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/squadronctl/squadron/controller"
	"github.com/squadronctl/squadron/integration/groups/bench"
)

// step is one update in a group's life. Each is to a content of its own.
type step struct {
	maxGrowth, minAlive int
	oneSlice            bool // only one slice may be replaced
	wanted              int  // DesiredSlices; 0: none given
	refused             bool // MaxGrowth and MinAlive can't both hold
}

// lives are groups of three slices of two units: together, all sensible bounds of an update, and those refused.
var lives = []struct {
	group string
	on    *bench.Site
	steps []step
	end   func(t *testing.T, b *bench.Bench, s *bench.Site, group string)
}{
	{"lifea", first, []step{{0, 3, false, 0, true}, {1, 4, false, 0, true}, {-1, 2, false, 0, true}, {1, 2, false, 0, false}, {0, 0, false, 0, false}}, stopStartDestroy},
	{"lifeb", second, []step{{0, 2, false, 0, false}, {3, 3, false, 0, false}}, destroyRunning},
	{"lifec", first, []step{{1, 2, true, 0, false}, {1, 3, false, 0, false}, {0, 2, true, 0, false}}, sliceBySlice},
	{"lifed", second, []step{{3, 2, false, 0, false}, {1, 0, false, 2, false}}, destroyRunning},
	{"lifee", first, []step{{3, 0, false, 0, false}, {0, 1, false, 4, false}}, destroyRunning},
}

// R15, R21, R22, R23: a group's life from the first Submit to the last Destroy.
func TestLifeOfSlicedGroups(t *testing.T) {
	t.Parallel()
	for _, life := range lives {
		t.Run(life.group, func(t *testing.T) {
			t.Parallel()
			s := life.on
			b := s.Open(t, life.group, bench.Options{})
			other := bystander(t, s, life.group)
			submitAndStart(t, b, s, content(life.group, 0))
			wanted := 3
			for i, step := range life.steps {
				if step.wanted > 0 {
					wanted = step.wanted
				}
				takeStep(t, b, s, life.group, i+1, step, wanted, other)
			}
			life.end(t, b, s, life.group)
			assert.Equal(t, launched, s.Observer.Now(t).Units[other].Desired, "another group's unit")
		})
	}
}

// content is the request with the n-th content.
func content(group string, n int) controller.Request {
	return bench.Pair(group, fmt.Sprint("/bin/sleep ", 100000+n))
}

func submitAndStart(t *testing.T, b *bench.Bench, s *bench.Site, req controller.Request) {
	t.Helper()
	all := bench.Request(req.Group)
	require.NoError(t, b.Submit(bench.Number(req, 3)))
	units := requireUnits(t, s, req.Group+"-", 6, loaded, inactive)
	requireContent(t, units, req)
	require.Len(t, requireStatus(t, b, s, all), 6)

	require.NoError(t, b.Start(all))
	units = requireUnits(t, s, req.Group+"-", 6, launched, active)
	for _, id := range bench.SliceIDs(units) {
		mains, sides := named(units, req.Group+"-main@"+id), named(units, req.Group+"-side@"+id)
		assert.Equal(t, mains[0].MachineID, sides[0].MachineID, "MachineOf holds the two together")
	}
	list := requireStatus(t, b, s, all)
	grouped, err := list.Group()
	require.NoError(t, err)
	require.Len(t, grouped, 3, "a row for each slice")
	_, needs, err := b.Control.GroupNeedsUpdate(context.Background(), req)
	require.NoError(t, err)
	require.False(t, needs)
}

func named(units []bench.Unit, prefix string) []bench.Unit {
	return bench.Snapshot{Units: byName(units)}.Named(prefix)
}

func byName(units []bench.Unit) map[string]bench.Unit {
	all := map[string]bench.Unit{}
	for _, unit := range units {
		all[unit.Name] = unit
	}
	return all
}

func takeStep(t *testing.T, b *bench.Bench, s *bench.Site, group string, n int, step step, wanted int, other string) {
	t.Helper()
	before := s.Observer.Settled(t, settleLimit, group+"-")
	req := bench.Number(content(group, n), step.wanted)
	opts := controller.UpdateOptions{MaxGrowth: step.maxGrowth, MinAlive: step.minAlive}
	replaced := bench.SliceIDs(before)
	if step.oneSlice {
		replaced = replaced[:1]
		req = bench.Slices(req, replaced...)
	}
	if step.refused {
		err := b.Update(req, opts)
		require.True(t, controller.IsUpdateNotAllowed(err), "%+v: %v", opts, err)
		require.Equal(t, before, s.Observer.Settled(t, settleLimit, group+"-"), "a refused update touches nothing")
		return
	}
	require.NoError(t, update(t, b, s, req, opts, other), "%+v", opts)
	after := s.Observer.Settled(t, settleLimit, group+"-")
	requireUnits(t, s, group+"-", 2*wanted, launched, active)
	fresh := slices.DeleteFunc(slices.Clone(after), func(unit bench.Unit) bool { return slices.Contains(bench.SliceIDs(before), unit.Slice()) })
	requireContent(t, fresh, req)
	assert.Len(t, bench.SliceIDs(fresh), wanted-len(bench.SliceIDs(before))+len(replaced), "new slices have IDs of their own")
	for _, id := range replaced {
		assert.Empty(t, named(after, group+"-main@"+id), "replaced")
	}
	if !step.oneSlice {
		err := b.Update(bench.Number(req, wanted), opts)
		require.True(t, controller.IsUnitsAlreadyUpToDate(err), "%v", err)
		require.Equal(t, after, s.Observer.Settled(t, settleLimit, group+"-"), "an update that is up to date touches nothing")
		return
	}
	needy, needs, err := b.Control.GroupNeedsUpdate(context.Background(), content(group, n))
	require.NoError(t, err)
	require.True(t, needs)
	assert.Len(t, needy.SliceIDs, wanted-1, "the others")
}

func stopStartDestroy(t *testing.T, b *bench.Bench, s *bench.Site, group string) {
	all := bench.Request(group)
	require.NoError(t, b.Stop(all))
	requireUnits(t, s, group+"-", 6, loaded, inactive)
	require.NoError(t, b.Start(all))
	requireUnits(t, s, group+"-", 6, launched, active)
	require.NoError(t, b.Stop(all))
	require.NoError(t, b.Destroy(all))
	requireNothing(t, b, s, group)
	for _, op := range []func(controller.Request) error{b.Start, b.Stop, b.Destroy} {
		err := op(all)
		require.True(t, controller.IsUnitNotFound(err), "%v", err)
	}
}

func destroyRunning(t *testing.T, b *bench.Bench, s *bench.Site, group string) {
	require.NoError(t, b.Destroy(bench.Request(group)))
	requireNothing(t, b, s, group)
}

// sliceBySlice: operations on one slice leave the others alone, and one on a slice that is not there touches nothing (R2).
func sliceBySlice(t *testing.T, b *bench.Bench, s *bench.Site, group string) {
	all := bench.Request(group)
	ids := bench.SliceIDs(s.Observer.Now(t).Named(group + "-"))
	require.NoError(t, b.Stop(bench.Slices(all, ids[0])))
	requireUnits(t, s, group+"-main@"+ids[0], 1, loaded, inactive)
	requireUnits(t, s, group+"-side@"+ids[0], 1, loaded, inactive)
	for _, id := range ids[1:] {
		requireUnits(t, s, group+"-main@"+id, 1, launched, active)
	}
	before := s.Observer.Settled(t, settleLimit, group+"-")
	err := b.Destroy(bench.Slices(all, ids[1], "zz"))
	require.True(t, controller.IsUnitSliceNotFound(err), "%v", err)
	require.Equal(t, before, s.Observer.Settled(t, settleLimit, group+"-"))
	require.NoError(t, b.Destroy(bench.Slices(all, ids[0])))
	requireUnits(t, s, group+"-", 4, launched, active)
	require.NoError(t, b.Destroy(all))
	requireNothing(t, b, s, group)
}
