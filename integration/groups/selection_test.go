package groups_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/squadronctl/squadron/controller"
	"github.com/squadronctl/squadron/integration/groups/bench"
)

func one(name string) controller.Unit {
	return controller.Unit{Name: name, Content: bench.Service("/bin/sleep 100000")}
}

// C4, R1a: what can't be one group is refused, and nothing touched; a request that names its units does as it says.
func TestAmbiguousGroup(t *testing.T) {
	t.Parallel()
	s := first
	b := s.Open(t, "test-group", bench.Options{})
	bare := bench.Request("test-group")
	named := bench.Request("test-group", one("test-group-unit@.service"))
	require.NoError(t, b.Submit(bench.Slices(named, "2fb", "3f1")))
	require.NoError(t, b.Submit(bench.Slices(bench.Request("test-group-2", one("test-group-2-unit@.service")), "438")))
	refused := func() {
		t.Helper()
		before := s.Observer.Settled(t, settleLimit, "test-group")
		for _, op := range []func(controller.Request) error{b.Start, b.Stop, b.Destroy} {
			err := op(bare)
			require.True(t, controller.IsAmbiguousGroup(err), "%v", err)
			assert.ErrorContains(t, err, "test-group-unit@.service")
			assert.ErrorContains(t, err, "test-group-2-unit@.service")
		}
		require.Equal(t, before, s.Observer.Settled(t, settleLimit, "test-group"), "nothing touched")
	}
	refused()
	require.NoError(t, b.Start(named))
	requireUnits(t, s, "test-group-unit@", 2, launched, active)
	requireUnits(t, s, "test-group-2-unit@", 1, loaded, inactive)
	refused()
	require.NoError(t, b.Stop(named))
	requireUnits(t, s, "test-group-unit@", 2, loaded, inactive)
	require.NoError(t, b.Destroy(named))
	require.Empty(t, s.Observer.Now(t).Named("test-group-unit@"))
	requireUnits(t, s, "test-group-2-unit@438", 1, loaded, inactive)
}

// C15: slice IDs with dots and dashes, names with escapes, units of other types.
func TestOddNames(t *testing.T) {
	t.Parallel()
	s := second
	timer := "[Timer]\nOnActiveSec=1h\nUnit=systemd-tmpfiles-clean.service\n"
	for _, odd := range []struct{ group, base, id, name, content string }{
		{"ovs", "ovs@.service", "10.0.0.7", "ovs@10.0.0.7.service", bench.Service("/bin/sleep 100000")},
		{"timers", "timers@.timer", "a-b", "timers@a-b.timer", timer},
		{`srv-a\x2db`, `srv-a\x2db@.service`, "1", `srv-a\x2db@1.service`, bench.Service("/bin/sleep 100000")},
	} {
		t.Run(odd.name, func(t *testing.T) {
			t.Parallel()
			b := s.Open(t, odd.group+"@", bench.Options{})
			req := bench.Slices(bench.Request(odd.group, controller.Unit{Name: odd.base, Content: odd.content}), odd.id)
			require.NoError(t, b.Submit(req))
			require.NoError(t, b.Start(req))
			requireUnits(t, s, odd.name, 1, launched, active)
			list := requireStatus(t, b, s, bench.Request(odd.group))
			require.Len(t, list, 1)
			assert.Equal(t, odd.id, list[0].SliceID)
			found, err := b.Control.ExtendWithExistingSliceIDs(req)
			require.NoError(t, err)
			assert.Equal(t, []string{odd.id}, found.SliceIDs)
			_, needs, err := b.Control.GroupNeedsUpdate(context.Background(), req)
			require.NoError(t, err)
			assert.False(t, needs, "the base and the slice are as they were submitted")
			require.NoError(t, b.Destroy(bench.Slices(bench.Request(odd.group), odd.id)))
			require.Empty(t, s.Observer.Now(t).Named(odd.group+"@"))
		})
	}
}

// C16, R2: slice 1 is not slice 11.
func TestSliceIDsThatEndAlike(t *testing.T) {
	t.Parallel()
	const group = "alike"
	s := second
	b := s.Open(t, group, bench.Options{})
	all := bench.Request(group)
	req := bench.Slices(content(group, 0), "1", "11")
	require.NoError(t, b.Submit(req))
	require.NoError(t, b.Start(all))
	require.NoError(t, b.Stop(bench.Slices(all, "1")))
	requireUnits(t, s, group+"-main@1.", 1, loaded, inactive)
	requireUnits(t, s, group+"-side@1.", 1, loaded, inactive)
	requireUnits(t, s, group+"-main@11.", 1, launched, active)
	requireUnits(t, s, group+"-side@11.", 1, launched, active)
	rows, err := requireStatus(t, b, s, all).Group()
	require.NoError(t, err)
	assert.Len(t, rows, 2)
}

// C6, R16: a unit that no machine can take is listed without one, and the timeout says so.
func TestUnitThatNoMachineTakes(t *testing.T) {
	t.Parallel()
	const group = "nomach"
	s := first
	b := s.Open(t, group, bench.Options{WaitTimeout: 15 * time.Second})
	unit := one(group + "-x.service")
	unit.Content += "[X-Fleet]\nMachineMetadata=zone=nowhere\n"
	all := bench.Request(group)
	requireTimeout := func(err error) {
		t.Helper()
		require.True(t, controller.IsWaitTimeoutReached(err), "%v", err)
		assert.ErrorContains(t, err, unit.Name)
		assert.ErrorContains(t, err, "no machine took it")
	}
	requireTimeout(b.Submit(bench.Number(bench.Request(group, unit), 1)))
	list, err := b.Control.GetStatus(context.Background(), all)
	require.NoError(t, err)
	require.Len(t, list, 1)
	assert.Empty(t, list[0].Machine)
	assert.Equal(t, loaded, list[0].Desired)
	requireTimeout(b.Start(all))
	require.NoError(t, b.Stop(all), "what no machine has counts as stopped")
	require.NoError(t, b.Destroy(all))
	requireNothing(t, b, s, group)
}

// R3, R8: submitted again, slices that are named are left as they were; with a number there are new ones.
func TestSubmitTwice(t *testing.T) {
	t.Parallel()
	const group = "twice"
	s := first
	b := s.Open(t, group, bench.Options{})
	req := content(group, 0)
	require.NoError(t, b.Submit(bench.Slices(req, "a1")))
	before := requireUnits(t, s, group+"-", 2, loaded, inactive)
	require.NoError(t, b.Submit(bench.Slices(req, "a1")))
	require.Equal(t, before, s.Observer.Settled(t, settleLimit, group+"-"))
	err := b.Submit(bench.Slices(content(group, 1), "a1", "b2"))
	require.True(t, controller.IsUnitConflict(err), "%v", err)
	require.Equal(t, before, s.Observer.Settled(t, settleLimit, group+"-"), "refused before the first write")
	require.NoError(t, b.Submit(bench.Number(req, 2)))
	require.Len(t, bench.SliceIDs(requireUnits(t, s, group+"-", 6, loaded, inactive)), 3)
}
