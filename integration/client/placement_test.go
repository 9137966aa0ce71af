package client_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/squadronctl/squadron/fleet"
	"github.com/squadronctl/squadron/integration/cluster"
)

// on waits until the unit runs, and gives the name of its machine.
func on(t *testing.T, c *fleet.Client, name string) string {
	t.Helper()
	status := settle(t, c, name, running)
	for n, m := range real.Machines() {
		if status.Machine[0].ID == cluster.IDOf(n+1) {
			return m.Name
		}
	}
	return status.Machine[0].ID
}

// Options that leave one machine only.
func TestPlacementOnOneMachine(t *testing.T) {
	t.Parallel()
	c := connect(t, real.Endpoint())
	for _, unit := range []struct {
		name    string
		options []string
		machine string
	}{
		{"one-id.service", []string{"MachineID=" + cluster.IDOf(2)}, "m2"},
		{"one-zone.service", []string{"MachineMetadata=zone=c"}, "m3"},
		{"one-joint.service", []string{"MachineMetadata=zone=a", "MachineMetadata=name=m1"}, "m1"},
		{"one-alternative.service", []string{"MachineMetadata=zone=b", "MachineMetadata=zone=nowhere"}, "m2"},
		{"one-quoted.service", []string{`MachineMetadata="zone=b" "name=m2"`}, "m2"},
		{"one-quoted-alternatives.service", []string{`MachineMetadata="zone=nowhere" "zone=c"`}, "m3"},
		{"one-not-global.service", []string{"Global=false", "MachineMetadata=zone=a"}, "m1"},
		{"one@m2.service", []string{"MachineMetadata=name=%i"}, "m2"},
		{"m3@one.service", []string{"MachineMetadata=name=%p"}, "m3"},
		{"one-near.service", []string{"MachineOf=one-zone.service"}, "m3"},
		{"one-near@m2.service", []string{"MachineOf=one@%i.service"}, "m2"},
		{"one-near-near.service", []string{"MachineOf=one-near@m2.service"}, "m2"},
		{"one-conflict.service", []string{"Conflicts=one-id*", "Conflicts=one-[zq]one.*", "MachineMetadata=zone=a"}, "m1"},
	} {
		create(t, c, unit.name, placed(unit.options...))
		t.Run(unit.name, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, unit.machine, on(t, c, unit.name))
		})
	}
}

// Units that exclude each other by a glob go to as many machines; the one too many to none.
func TestConflicts(t *testing.T) {
	t.Parallel()
	c := connect(t, real.Endpoint())
	names := []string{"apart@1.service", "apart@2.service", "apart@3.service", "apart@4.service"}
	for _, name := range names {
		create(t, c, name, placed("Conflicts=apart@*.service"))
	}
	var machines []string
	deadline := time.Now().Add(patience)
	for len(machines) < 3 && time.Now().Before(deadline) {
		machines = nil
		for _, name := range names {
			if status, err := c.GetStatus(limited(t), name); err == nil && states(status) == running {
				machines = append(machines, status.Machine[0].ID)
			}
		}
		time.Sleep(200 * time.Millisecond)
	}
	slices.Sort(machines)
	assert.Equal(t, []string{cluster.IDOf(1), cluster.IDOf(2), cluster.IDOf(3)}, machines)
}

// Units that no machine takes are listed without a machine and without an error (C6, R20).
func TestUnplaceable(t *testing.T) {
	t.Parallel()
	c := connect(t, real.Endpoint())
	anchor := "nowhere-anchor.service"
	create(t, c, anchor, placed("MachineMetadata=zone=a"))
	on(t, c, anchor)
	for name, options := range map[string][]string{
		"nowhere-zone.service":     {"MachineMetadata=zone=nowhere"},
		"nowhere-joint.service":    {`MachineMetadata="zone=a" "name=m2"`},
		"nowhere-id.service":       {"MachineID=nobody"},
		"nowhere-of.service":       {"MachineOf=nowhere-none.service"},
		"nowhere-conflict.service": {"MachineMetadata=zone=a", "Conflicts=nowhere-anchor.*"},
		"nowhere-far.service":      {"MachineMetadata=zone=b", "MachineOf=nowhere-anchor.service"},
	} {
		create(t, c, name, placed(options...))
	}
	// That they have no machine shows when one that came later has one.
	create(t, c, "nowhere-later.service", placed("MachineMetadata=zone=b"))
	on(t, c, "nowhere-later.service")
	all, err := c.GetStatusWithMatcher(func(name string) bool {
		return len(name) > 8 && name[:8] == "nowhere-" && name != anchor && name != "nowhere-later.service"
	})
	require.NoError(t, err)
	require.Len(t, all, 6)
	for _, status := range all {
		assert.Equal(t, "inactive/launched", states(status), status.Name)
	}
}

// A unit that replaces another takes its machine; the other then has none.
func TestReplaces(t *testing.T) {
	t.Parallel()
	c := connect(t, real.Endpoint())
	create(t, c, "replaced.service", placed("MachineMetadata=zone=c"))
	assert.Equal(t, "m3", on(t, c, "replaced.service"))
	create(t, c, "replacing.service", placed("MachineMetadata=zone=c", "Replaces=replaced.service"))
	assert.Equal(t, "m3", on(t, c, "replacing.service"))
	settleWhere(t, c, "replaced.service", "no machine", func(s fleet.UnitStatus) bool { return len(s.Machine) == 0 })
	// The two would go on taking the machine from each other.
	require.NoError(t, c.Destroy(limited(t), "replaced.service"))
}

// R13: a global unit is due on each machine whose metadata match; Missing counts those that have said nothing yet.
func TestGlobal(t *testing.T) {
	t.Parallel()
	c := connect(t, real.Endpoint())
	for name, want := range map[string]struct {
		options []string
		on      []string
	}{
		"global-all.service":     {[]string{"Global=true"}, []string{"m1", "m2", "m3"}},
		"global-two.service":     {[]string{"Global=true", "MachineMetadata=zone=a", "MachineMetadata=zone=c"}, []string{"m1", "m3"}},
		"global-one.service":     {[]string{"Global=true", `MachineMetadata="zone=b" "name=m2"`}, []string{"m2"}},
		"global-nowhere.service": {[]string{"Global=true", "MachineMetadata=zone=nowhere"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			create(t, c, name, placed(want.options...))
			first := detail(t, c, name)
			assert.True(t, first.Global)
			assert.Equal(t, len(want.on), first.Missing+len(first.Machine))
			assert.Equal(t, "launched/launched", first.Current+"/"+first.Desired)
			all := "launched/launched"
			for range want.on {
				all += " active/running"
			}
			status := settle(t, c, name, all)
			for i, machine := range status.Machine {
				assert.Equal(t, want.on[i], "m"+machine.ID[len(machine.ID)-1:])
				assert.Equal(t, hash(t, placed(want.options...)), machine.UnitHash)
			}
			assert.Zero(t, detail(t, c, name).Missing)
			require.NoError(t, c.Stop(limited(t), name))
			settleWhere(t, c, name, "stopped everywhere", func(s fleet.UnitStatus) bool {
				return s.Desired == "loaded" && !slices.ContainsFunc(s.Machine, func(m fleet.MachineStatus) bool { return m.SystemdActive == "active" })
			})
		})
	}
}
