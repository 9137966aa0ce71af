package faults_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/squadronctl/squadron/integration/cluster"
	"github.com/squadronctl/squadron/integration/groups/bench"
)

// settle waits until the cluster has come back to what is asked of it: what is launched runs, what was loaded is loaded.
func (r *round) settle(t *testing.T) {
	t.Helper()
	r.site.Observer.Await(t, settleLimit, "the cluster has settled", func(look bench.Snapshot) bool {
		for _, unit := range look.Units {
			if unit.Desired == launched && unit.Here().Active != active {
				return false
			}
			if unit.Desired == loaded && (unit.Current != loaded || unit.Here().Active == active) {
				return false
			}
		}
		return true
	})
}

func (r *round) finishAll(t *testing.T) {
	var finishing sync.WaitGroup
	for _, a := range r.attempts {
		finishing.Go(func() { r.finish(t, a) })
	}
	finishing.Wait()
}

// finish holds a success against the cluster now that it is whole again, and calls a second time what has failed.
func (r *round) finish(t *testing.T, a *attempt) {
	if a.err == nil || a.repeated {
		assert.Empty(t, a.wrong(r.site.Observer.SettledLook(t, settleLimit, a.group+"-"), a.group), "%s: what was reported is not there after the fault has healed", a.name)
		return
	}
	err := r.secondCall(t, a)
	if err != nil && (a.again == nil || !a.again(err)) {
		assert.NoError(t, err, "the second %s", a.name)
		return
	}
	assert.Empty(t, a.wrong(r.site.Observer.SettledLook(t, settleLimit, a.group+"-"), a.group), "after the second %s", a.name)
}

// secondCall repeats the operation. Where the fault has left fewer slices than an update's MinAlive, that would be refused:
// a caller then asks for no more than there are.
func (r *round) secondCall(t *testing.T, a *attempt) error {
	if a.bounds == nil {
		return a.act(r.patient, a.group)
	}
	opts := *a.bounds
	opts.MinAlive = min(opts.MinAlive, runningSlices(r.site.Observer.Now(t), a.group))
	watch := r.site.Observer.WatchUpdate(t, content(a.group, 1), opts, len(sliceIDs))
	defer watch.End(t)
	return update(opts)(r.patient, a.group)
}

func runningSlices(look bench.Snapshot, group string) int {
	n := 0
	for _, unit := range look.Named(group + "-main@") {
		beside := look.Units[strings.Replace(unit.Name, "-main@", "-side@", 1)]
		if unit.Here().Active == active && beside.Here().Active == active {
			n++
		}
	}
	return n
}

// compareWithMachines holds what the cluster says against the machines' own systemd: each unit that is to run runs on the
// machine that the cluster names, and on no other, and no other unit of the groups runs anywhere.
func (r *round) compareWithMachines(t *testing.T) {
	t.Helper()
	deadline := time.Now().Add(settleLimit)
	for {
		said, found := r.saidToRun(t), r.foundRunning(t)
		if slices.Equal(said, found) {
			return
		}
		require.True(t, time.Now().Before(deadline), "the cluster says that these run: %v\nand these do: %v", said, found)
		time.Sleep(time.Second)
	}
}

func (r *round) saidToRun(t *testing.T) []string {
	var all []string
	for _, unit := range r.site.Observer.Now(t).Units {
		if unit.Here().Active == active {
			all = append(all, unit.Name+" on "+unit.MachineID)
		}
	}
	slices.Sort(all)
	return all
}

func (r *round) foundRunning(t *testing.T) []string {
	var all []string
	for _, machine := range r.site.Cluster.Machines() {
		for _, name := range activeUnits(t, machine) {
			all = append(all, name+" on "+machine.ID)
		}
	}
	slices.Sort(all)
	return all
}

// activeUnits asks the machine's systemd for the active units of the groups that its fleetd knows of. One that is stopped
// while a unit starts can leave that running without its file, and forget it: nothing that speaks to fleet sees such a unit.
func activeUnits(t *testing.T, machine *cluster.Machine) []string {
	args := []string{"list-units", "--plain", "--no-legend", "--state=active"}
	for _, o := range operations {
		args = append(args, groupOf(o)+"-*")
	}
	known := firstWords(t, machine, "ls", "/run/fleet/units")
	return slices.DeleteFunc(firstWords(t, machine, "systemctl", args...), func(name string) bool {
		return !slices.Contains(known, name)
	})
}

// firstWords runs a command inside the machine and gives the first word of each line that it prints.
func firstWords(t *testing.T, machine *cluster.Machine, name string, args ...string) []string {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	out, err := machine.Command(ctx, name, args...).Output()
	require.NoError(t, err, "%s on %s", name, machine.Name)
	var words []string
	for line := range strings.Lines(string(out)) {
		if fields := strings.Fields(line); len(fields) > 0 {
			words = append(words, fields[0])
		}
	}
	return words
}

func groupOf(o operation) string { return fmt.Sprint("g", o.name) }
