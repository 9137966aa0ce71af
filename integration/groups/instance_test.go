package groups_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/squadronctl/squadron/controller"
	"github.com/squadronctl/squadron/integration/groups/bench"
)

func instance(group, exec string) controller.Request {
	return bench.Request(group,
		controller.Unit{Name: group + "-web.service", Content: bench.Service(exec)},
		controller.Unit{Name: group + "-db.service", Content: bench.Service(exec)})
}

// C7, R8, R26: an instance group is submitted twice, refused another content, and updated in place.
func TestInstanceGroup(t *testing.T) {
	t.Parallel()
	const group = "inst"
	s := second
	b := s.Open(t, group, bench.Options{})
	old, fresh, all := instance(group, "/bin/sleep 100000"), instance(group, "/bin/sleep 100001"), bench.Request(group)

	require.NoError(t, b.Submit(bench.Number(old, 1)))
	require.NoError(t, b.Start(all))
	requireUnits(t, s, group+"-", 2, launched, active)
	require.NoError(t, b.Submit(bench.Number(old, 1)))
	requireUnits(t, s, group+"-", 2, loaded, inactive)

	require.NoError(t, b.Start(all))
	before := requireUnits(t, s, group+"-", 2, launched, active)
	err := b.Submit(bench.Number(fresh, 1))
	require.True(t, controller.IsUnitConflict(err), "%v", err)
	err = b.Submit(bench.Number(old, 2))
	require.True(t, controller.IsInvalidArgument(err), "%v", err)
	err = b.Update(fresh, controller.UpdateOptions{MaxGrowth: 1})
	require.True(t, controller.IsUpdateNotAllowed(err), "%v", err)
	err = b.Update(fresh, controller.UpdateOptions{MinAlive: 1})
	require.True(t, controller.IsUpdateNotAllowed(err), "%v", err)
	require.Equal(t, before, s.Observer.Settled(t, settleLimit, group+"-"), "still running, and nothing touched")

	require.NoError(t, b.Update(fresh, controller.UpdateOptions{}))
	requireContent(t, requireUnits(t, s, group+"-", 2, launched, active), fresh)
	require.Len(t, requireStatus(t, b, s, all), 2)
	err = b.Update(fresh, controller.UpdateOptions{})
	require.True(t, controller.IsUnitsAlreadyUpToDate(err), "%v", err)

	require.NoError(t, b.Stop(all))
	requireUnits(t, s, group+"-", 2, loaded, inactive)
	require.NoError(t, b.Destroy(all))
	requireNothing(t, b, s, group)
}
