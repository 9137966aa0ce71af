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

// slowOn is a global unit that takes a while to start on one machine. machine's /etc/hostname is its name.
func slowOn(group, machine, exec string) controller.Request {
	slow := `ExecStartPre=/bin/sh -c 'test "$(cat /etc/hostname)" != ` + machine + ` || sleep 8'` + "\n"
	return bench.Request(group, controller.Unit{Name: group + "-all.service", Content: bench.Service(exec) + slow + "[X-Fleet]\nGlobal=true\n"})
}

// on gives on how many machines the unit is in the state.
func on(unit bench.Unit, state string) int {
	n := 0
	for _, s := range unit.States {
		if s.Active == state {
			n++
		}
	}
	return n
}

// C5, R13: a global unit runs when it runs on every machine, also on the slow one.
func TestGlobalUnit(t *testing.T) {
	t.Parallel()
	const group = "glob"
	s := first
	b := s.Open(t, group, bench.Options{})
	machines := len(s.Cluster.Machines())
	req, all := slowOn(group, "m2", "/bin/sleep 100000"), bench.Request(group)
	now := func() bench.Unit { return s.Observer.Now(t).Units[group+"-all.service"] }

	require.NoError(t, b.Submit(bench.Number(req, 1)))
	assert.Equal(t, machines, on(now(), inactive))
	partly := false
	end := s.Observer.Follow(func(look bench.Snapshot) {
		n := on(look.Units[group+"-all.service"], active)
		partly = partly || n > 0 && n < machines
	})
	require.NoError(t, b.Start(all))
	assert.Equal(t, machines, on(now(), active), "at the end of Start")
	end()
	assert.True(t, partly, "the slow machine was no slower than the others")

	list, err := b.Control.GetStatus(context.Background(), all)
	require.NoError(t, err)
	require.Len(t, list, 1)
	assert.Len(t, list[0].Machine, machines)
	runs, err := controller.Aggregator{}.UnitHasStatus(list[0], controller.StatusRunning)
	require.NoError(t, err)
	assert.True(t, runs)

	require.NoError(t, b.Stop(all))
	assert.Equal(t, machines, on(now(), inactive))
	require.NoError(t, b.Update(slowOn(group, "m3", "/bin/sleep 100001"), controller.UpdateOptions{}))
	assert.Equal(t, machines, on(now(), active), "at the end of Update")
	require.NoError(t, b.Destroy(all))
	requireNothing(t, b, s, group)
}

// R13: a global unit that is meant for some machines runs when it runs on these; one meant for none never does.
func TestGlobalUnitOnSomeMachines(t *testing.T) {
	t.Parallel()
	const group = "part"
	s := second
	b := s.Open(t, group, bench.Options{WaitTimeout: time.Minute})
	unit := controller.Unit{Name: group + "-zone.service", Content: bench.Service("/bin/sleep 100000") + "[X-Fleet]\nGlobal=true\nMachineMetadata=zone=b\n"}
	require.NoError(t, b.Submit(bench.Number(bench.Request(group, unit), 1)))
	require.NoError(t, b.Start(bench.Request(group)))
	states := s.Observer.Now(t).Units[unit.Name].States
	inZone := 0
	for i, machine := range s.Cluster.Machines() {
		if i%3 == 1 { // zones are a, b and c in turn
			inZone++
			assert.Equal(t, active, states[machine.ID].Active, machine.Name)
		}
	}
	assert.Len(t, states, inZone)
	require.NoError(t, b.Destroy(bench.Request(group)))

	none := bench.New(t, s.Cluster.Endpoint(), bench.Options{WaitTimeout: 5 * time.Second})
	unit.Content = bench.Service("/bin/sleep 100000") + "[X-Fleet]\nGlobal=true\nMachineMetadata=zone=nowhere\n"
	unit.Name = group + "-none.service"
	err := none.Submit(bench.Number(bench.Request(group, unit), 1))
	require.True(t, controller.IsWaitTimeoutReached(err), "%v", err)
	assert.ErrorContains(t, err, unit.Name)
	assert.ErrorContains(t, err, "no machine took it")
}
