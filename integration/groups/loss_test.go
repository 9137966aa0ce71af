package groups_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/squadronctl/squadron/controller"
	"github.com/squadronctl/squadron/integration/cluster"
	"github.com/squadronctl/squadron/integration/groups/bench"
)

// C14, R22: a machine is lost half-way through an update that may not go below the number of slices there are. ReadySecs is
// as long as it takes the cluster to notice that (30 s), so that the update has old slices left then.
func TestUpdateThatLosesAMachine(t *testing.T) {
	t.Parallel()
	const group = "loss"
	s := lossy
	b := s.Open(t, group, bench.Options{})
	running(t, b, s, content(group, 0), 4)
	req := bench.Number(content(group, 1), 4)
	opts := controller.UpdateOptions{MaxGrowth: 2, MinAlive: 4, ReadySecs: 30}

	watch := s.Observer.WatchUpdate(t, req, opts, 4)
	watch.AllowLosses()
	ended := make(chan error, 1)
	go func() { ended <- b.Update(req, opts) }()
	s.Observer.Await(t, 2*time.Minute, "an old slice is on its way out", func(look bench.Snapshot) bool {
		return leavingSlices(look, group) > 0
	})
	time.Sleep(2 * time.Second) // until all those have been asked to stop that go with it
	machine := withOldSlices(t, s, s.Observer.Now(t), group)
	require.NoError(t, machine.Kill())
	err := <-ended
	report := watch.End(t)
	require.Positive(t, report.Lost, "the loss of %s took no slice, so this shows nothing", machine.Name)
	if err != nil {
		require.True(t, controller.IsUpdateFailed(err), "%v", err)
		require.NoError(t, update(t, b, s, req, opts))
	}
	requireContent(t, requireUnits(t, s, group+"-", 8, launched, active), req)
}

// leavingSlices counts the group's slices that are asked to stop.
func leavingSlices(look bench.Snapshot, group string) int {
	leaving := map[string]bool{}
	for _, unit := range look.Named(group + "-") {
		if unit.Desired == loaded {
			leaving[unit.Slice()] = true
		}
	}
	return len(leaving)
}

// withOldSlices gives the machine on which the fewest old slices run, but some. The client's own machine stays.
func withOldSlices(t *testing.T, s *bench.Site, look bench.Snapshot, group string) *cluster.Machine {
	t.Helper()
	old := map[string]int{}
	for _, unit := range look.Named(group + "-main@") {
		if unit.Runs("/bin/sleep 100000") && unit.Desired == launched && unit.Here().Active == active {
			old[unit.MachineID]++
		}
	}
	var chosen *cluster.Machine
	for _, machine := range s.Cluster.Machines()[1:] {
		if n := old[machine.ID]; n > 0 && (chosen == nil || n < old[chosen.ID]) {
			chosen = machine
		}
	}
	require.NotNil(t, chosen, "no other machine than the client's has an old slice")
	return chosen
}
