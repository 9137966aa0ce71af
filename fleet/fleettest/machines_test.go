package fleettest_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/squadronctl/squadron/fleet/fleettest"
)

func ids(n int) []string {
	var all []string
	for _, m := range fleettest.DefaultMachines(n) {
		all = append(all, m.ID)
	}
	return all
}

// R38, C14: a lost machine's units run no longer at once; fleet finds out later, and its entries linger in /state while
// the unit already runs elsewhere.
func TestMachineLost(t *testing.T) {
	b := newBench(t, fleettest.Config{Timing: seconds(), Machines: fleettest.DefaultMachines(2)})
	b.put("web.service", service, "launched")
	b.settle()
	require.True(t, b.KillMachine(ids(2)[0]))
	assert.False(t, b.KillMachine(ids(2)[0]))
	assert.False(t, b.KillMachine("nobody"))
	unit, _ := b.Unit("web.service")
	assert.Empty(t, unit.On, "nothing runs there")
	assert.Equal(t, []step{
		{0, "launched/launched m1, active/running on m1"},
		{16, "launched/inactive m2, active/running on m1"},
		{18, "launched/launched m2, active/running on m1, inactive/dead on m2"},
		{19, "launched/launched m2, active/running on m1, activating/start on m2"},
		{21, "launched/launched m2, active/running on m1, active/running on m2"},
		{30, "launched/launched m2, active/running on m2"},
	}, b.walk("web.service", 60))
	_, machines := b.ask(http.MethodGet, "/fleet/v1/machines", "")
	assert.Equal(t, 1, strings.Count(machines, `"id"`))
}

// R38: a machine that comes back before anybody noticed has booted: its units are loaded and started afresh.
func TestMachineBackInTime(t *testing.T) {
	b := newBench(t, fleettest.Config{Timing: seconds(), Machines: fleettest.DefaultMachines(1)})
	b.put("web.service", service, "launched")
	b.settle()
	id := ids(1)[0]
	assert.False(t, b.RestoreMachine(id))
	b.KillMachine(id)
	b.clock.Advance(5 * time.Second)
	require.True(t, b.RestoreMachine(id))
	assert.Equal(t, []step{
		{0, "launched/loaded m1, active/running on m1"},
		{2, "launched/launched m1, inactive/dead on m1"},
		{3, "launched/launched m1, activating/start on m1"},
		{5, "launched/launched m1, active/running on m1"},
	}, b.walk("web.service", 60))
}

// R38: a unit without a machine waits for one to come back; a global unit runs there again too.
func TestMachineBackLate(t *testing.T) {
	b := newBench(t, fleettest.Config{Timing: seconds(), Machines: fleettest.DefaultMachines(1)})
	b.put("web.service", service, "launched")
	b.put("log.service", service+"[X-Fleet]\nGlobal=true\n", "launched")
	b.settle()
	id := ids(1)[0]
	b.KillMachine(id)
	b.clock.Advance(time.Minute)
	assert.Equal(t, "launched/inactive", b.look("web.service"))
	assert.Equal(t, "launched/", b.look("log.service"))
	b.RestoreMachine(id)
	b.settle()
	assert.Equal(t, "launched/launched m1, active/running on m1", b.look("web.service"))
	assert.Equal(t, "launched/, active/running on m1", b.look("log.service"))
}

// R37: back on the same machine while its old entry is still listed, a unit counts as loaded and not as launched.
func TestMachineBackBetween(t *testing.T) {
	b := newBench(t, fleettest.Config{Timing: seconds(), Machines: fleettest.DefaultMachines(1)})
	b.put("web.service", service, "launched")
	b.settle()
	b.KillMachine(ids(1)[0])
	b.clock.Advance(20 * time.Second)
	assert.Equal(t, "launched/inactive, active/running on m1", b.look("web.service"))
	b.RestoreMachine(ids(1)[0])
	b.clock.Advance(time.Second)
	assert.Equal(t, "launched/loaded m1, active/running on m1", b.look("web.service"))
	b.settle()
	assert.Equal(t, "launched/launched m1, active/running on m1", b.look("web.service"))
}

// R38: a machine added again is another one of the same ID, restored where it was lost; what is passed stays the caller's.
func TestMachineAddedAgain(t *testing.T) {
	mine := fleettest.DefaultMachines(1)
	b := newBench(t, fleettest.Config{Machines: mine})
	mine[0].Metadata["disk"] = "ssd"
	b.put("web.service", service+"[X-Fleet]\nMachineMetadata=disk=ssd\n", "launched")
	assert.Equal(t, "launched/inactive", b.look("web.service"))
	b.AddMachine(mine[0])
	assert.Equal(t, "launched/launched m1, active/running on m1", b.look("web.service"))
	b.KillMachine(mine[0].ID)
	assert.Equal(t, "launched/inactive", b.look("web.service"))
	b.AddMachine(mine[0])
	assert.Equal(t, "launched/launched m1, active/running on m1", b.look("web.service"))
	mine[0].Metadata = nil
	b.AddMachine(mine[0])
	assert.Equal(t, "launched/inactive", b.look("web.service"))
	code, _ := b.ask(http.MethodPatch, "/fleet/v1/machines", `[{"op":"add","path":"/`+mine[0].ID+`/metadata/disk","value":{"value":"ssd"}}]`)
	assert.Equal(t, http.StatusNoContent, code)
	assert.Equal(t, "launched/launched m1, active/running on m1", b.look("web.service"))
}

// R38: a second loss is not ended by what the first one left under way.
func TestMachineLostTwice(t *testing.T) {
	b := newBench(t, fleettest.Config{Timing: seconds(), Machines: fleettest.DefaultMachines(1)})
	id := ids(1)[0]
	b.put("web.service", service, "launched")
	b.settle()
	b.KillMachine(id)
	b.clock.Advance(10 * time.Second)
	b.RestoreMachine(id)
	b.clock.Advance(time.Second)
	b.KillMachine(id)
	b.RestoreMachine(id)
	b.clock.Advance(time.Second)
	unit, _ := b.Unit("web.service")
	assert.Empty(t, unit.On, "the load begun before the second loss is lost with it")
	b.KillMachine(id)
	b.clock.Advance(10 * time.Second)
	assert.Equal(t, "m1", short(b.mustUnit("web.service").Machine), "the first loss's time is up, the last one's is not")
	b.clock.Advance(5 * time.Second)
	assert.Equal(t, "m1", short(b.mustUnit("web.service").Machine), "nor is the second one's of account")
	b.clock.Advance(time.Second)
	assert.Empty(t, b.mustUnit("web.service").Machine)
}

// R37: the options of X-Fleet choose machines; without any the least loaded one is taken.
func TestScheduling(t *testing.T) {
	meta := func(line string) string { return service + "[X-Fleet]\nMachineMetadata=" + line + "\n" }
	fleetOption := func(line string) string { return service + "[X-Fleet]\n" + line + "\n" }
	for name, row := range map[string]struct {
		units [][2]string // name and content, in order
		want  map[string]string
	}{
		"least loaded": {
			[][2]string{{"a.service", service}, {"b.service", service}, {"c.service", service}, {"d.service", service}, {"e.service", service}},
			map[string]string{"a.service": "m1", "b.service": "m2", "c.service": "m3", "d.service": "m4", "e.service": "m1"}},
		"machine ID whole and short": {
			[][2]string{{"a.service", fleetOption("MachineID=" + ids(4)[2])}, {"b.service", fleetOption("MachineID=" + ids(4)[1][:8])}},
			map[string]string{"a.service": "m3", "b.service": "m2"}},
		"metadata: keys are joint": {
			[][2]string{{"a.service", meta("zone=a\nMachineMetadata=name=m4")}, {"b.service", meta("zone=b\nMachineMetadata=name=m4")}},
			map[string]string{"a.service": "m4", "b.service": ""}},
		"metadata: values of a key are alternatives": {
			[][2]string{{"a.service", meta(`"zone=c" "zone=b"`)}, {"b.service", meta(`"zone=c" "zone=b"`)}, {"c.service", meta(`"zone=c" "name=m4"`)}},
			map[string]string{"a.service": "m2", "b.service": "m3", "c.service": ""}},
		"conflicts": {
			[][2]string{{"web@1.service", fleetOption("Conflicts=web@*.service")}, {"web@2.service", fleetOption("Conflicts=web@*.service")},
				{"db.service", fleetOption("Conflicts=web@2.service other.*")}},
			map[string]string{"web@1.service": "m1", "web@2.service": "m2", "db.service": "m3"}},
		"a conflict holds both ways": {
			[][2]string{{"b.service", fleetOption("MachineMetadata=name=m1\nConflicts=c.service")}, {"c.service", fleetOption("MachineMetadata=name=m1")}},
			map[string]string{"b.service": "m1", "c.service": ""}},
		"machine of, with specifiers": {
			[][2]string{{"x.service", service}, {"web@7.service", service}, {"log@7.service", fleetOption("MachineOf=web@%i.service")},
				{"log@8.service", fleetOption("MachineOf=web@%i.service")}},
			map[string]string{"web@7.service": "m2", "log@7.service": "m2", "log@8.service": ""}},
		"replaces": {
			[][2]string{{"a.service", service}, {"b.service", fleetOption("MachineMetadata=name=m1\nReplaces=a.service")}},
			map[string]string{"a.service": "m2", "b.service": "m1"}},
		"replaces each other": {
			[][2]string{{"a.service", fleetOption("Replaces=b.service")}, {"b.service", fleetOption("MachineMetadata=name=m1\nReplaces=a.service")}},
			map[string]string{"a.service": "m1", "b.service": "m1"}},
		"global is a load too": {
			[][2]string{{"g.service", fleetOption("Global=yes\nMachineMetadata=name=m1")}, {"a.service", service}},
			map[string]string{"g.service": "", "a.service": "m2"}},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, fleettest.Config{Machines: fleettest.DefaultMachines(4)})
			for _, u := range row.units {
				require.Equal(t, http.StatusCreated, b.put(u[0], u[1], "loaded"))
			}
			for name, want := range row.want {
				unit, found := b.Unit(name)
				require.True(t, found)
				got := ""
				if unit.Machine != "" {
					got = short(unit.Machine)
				}
				assert.Equal(t, want, got, name)
			}
		})
	}
}

// R37: a follower goes where its peer goes, and a unit in waiting takes the room that another leaves.
func TestSchedulingFollows(t *testing.T) {
	b := newBench(t, fleettest.Config{Machines: fleettest.DefaultMachines(2)})
	b.put("log@1.service", service+"[X-Fleet]\nMachineOf=web@1.service\n", "launched")
	assert.Equal(t, "launched/inactive", b.look("log@1.service"))
	b.put("web@1.service", service, "launched")
	assert.Equal(t, "launched/launched m1, active/running on m1", b.look("log@1.service"))
	b.KillMachine(ids(2)[0])
	assert.Equal(t, "launched/launched m2, active/running on m2", b.look("web@1.service"))
	assert.Equal(t, "launched/launched m2, active/running on m2", b.look("log@1.service"))

	b.put("one.service", service+"[X-Fleet]\nConflicts=*.service\n", "launched")
	assert.Equal(t, "launched/inactive", b.look("one.service"))
	b.Remove("log@1.service")
	b.Remove("web@1.service")
	assert.Equal(t, "launched/launched m2, active/running on m2", b.look("one.service"))
}

// R37: a global unit makes room for what it conflicts with, and comes back after.
func TestSchedulingGlobalMakesRoom(t *testing.T) {
	b := newBench(t, fleettest.Config{Machines: fleettest.DefaultMachines(2)})
	b.put("log.service", service+"[X-Fleet]\nGlobal=true\n", "launched")
	b.put("web.service", service, "launched")
	assert.Equal(t, "launched/, active/running on m1, active/running on m2", b.look("log.service"))
	b.put("log.service", service+"[X-Fleet]\nGlobal=true\nConflicts=web.*\n", "launched")
	assert.Equal(t, "launched/, active/running on m2", b.look("log.service"))
	b.Remove("web.service")
	b.put("other.service", service, "launched")
	assert.Equal(t, "launched/, active/running on m1, active/running on m2", b.look("log.service"))
	b.put("log.service", service, "launched")
	assert.Equal(t, "launched/launched m2, active/running on m2", b.look("log.service"), "global no longer")
	b.put("log.service", service+"[X-Fleet]\nGlobal=true\n", "launched")
	assert.Equal(t, "launched/, active/running on m1, active/running on m2", b.look("log.service"), "and again")
	b.put("log.service", service, "inactive")
	assert.Equal(t, "inactive/inactive", b.look("log.service"))
}

// R37: three units that replace each other in a circle come to rest.
func TestSchedulingCircleOfReplaces(t *testing.T) {
	b := newBench(t, fleettest.Config{Machines: fleettest.DefaultMachines(2)})
	for name, other := range map[string]string{"a.service": "b", "b.service": "c", "c.service": "a"} {
		b.put(name, service+"[X-Fleet]\nReplaces="+other+".service\n", "launched")
	}
	for _, unit := range b.Units() {
		assert.NotEmpty(t, unit.Machine)
	}
}

// R37: metadata changed by PATCH moves units.
func TestPatchMachines(t *testing.T) {
	b := newBench(t, fleettest.Config{Machines: fleettest.DefaultMachines(2)})
	b.put("web.service", service+"[X-Fleet]\nMachineMetadata=disk=ssd\n", "launched")
	b.put("log.service", service+"[X-Fleet]\nGlobal=true\nMachineMetadata=disk=ssd\n", "launched")
	patch := func(body string) int {
		code, _ := b.ask(http.MethodPatch, "/fleet/v1/machines", body)
		return code
	}
	require.Equal(t, http.StatusNoContent, patch(`[{"op":"add","path":"/`+ids(2)[1]+`/metadata/disk","value":{"value":"ssd"}}]`))
	assert.Equal(t, "launched/launched m2, active/running on m2", b.look("web.service"))
	assert.Equal(t, "launched/, active/running on m2", b.look("log.service"))
	require.Equal(t, http.StatusNoContent, patch(`[{"op":"remove","path":"/`+ids(2)[1]+`/metadata/disk"},{"op":"remove","path":"/nobody/metadata/x"}]`))
	assert.Equal(t, "launched/inactive", b.look("web.service"))
	assert.Equal(t, "launched/", b.look("log.service"))
	for _, bad := range []string{
		`{}`, `[{"op":"move","path":"/x/metadata/y"}]`, `[{"op":"remove","path":"/x/y"}]`, `[{"op":"remove","path":"/x/metadata/ä"}]`,
		`[{"op":"add","path":"/x/metadata/y"}]`, `[`,
	} {
		assert.Equal(t, http.StatusBadRequest, patch(bad), bad)
	}
}
