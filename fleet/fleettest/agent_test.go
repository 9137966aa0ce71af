package fleettest_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/squadronctl/squadron/fleet/fleettest"
)

// measured is a cluster of one machine, so that it is known where units are, with a real one's timing.
func measured(t *testing.T, machines int) *bench {
	return newBench(t, fleettest.Config{Timing: fleettest.Measured(), Machines: fleettest.DefaultMachines(machines)})
}

// R37: what is written of several units within the second that the agents' watch takes is carried out in one pass.
func TestAgentPassOfMany(t *testing.T) {
	b := measured(t, 1)
	for i := range 5 {
		b.put(fmt.Sprintf("web@%d.service", i), service, "loaded")
		b.clock.Advance(50 * time.Millisecond)
	}
	b.settle()
	for i := range 5 {
		name := fmt.Sprintf("web@%d.service", i)
		assert.Equal(t, "loaded/loaded m1, inactive/dead on m1", b.look(name))
		require.Equal(t, http.StatusNoContent, b.put(name, service, "launched"))
		b.clock.Advance(50 * time.Millisecond)
	}
	b.clock.Advance(2 * time.Second)
	for i := range 5 {
		assert.Equal(t, "launched/launched m1, active/running on m1", b.look(fmt.Sprintf("web@%d.service", i)))
	}
}

// R37: of a write just after another one agents hear nothing; it waits for the next pass that they make by themselves.
func TestAgentDeaf(t *testing.T) {
	b := measured(t, 1)
	b.put("web.service", service, "loaded")
	b.put("other.service", service, "inactive")
	b.settle()
	b.clock.Advance(time.Second) // just after a pass
	b.put("other.service", service+"User=x\n", "inactive")
	require.Equal(t, http.StatusNoContent, b.put("web.service", service, "launched"))
	steps := b.walk("web.service", 8)
	require.Len(t, steps, 2)
	assert.Equal(t, "launched/loaded m1, inactive/dead on m1", steps[0].look)
	assert.Equal(t, "launched/launched m1, active/running on m1", steps[1].look)
	assert.Greater(t, steps[1].at, 2)
}

// R37: a pass ends with the unloading of one unit, so that several are unloaded one every 5 s, and nothing is started
// meanwhile; failed units end no pass.
func TestAgentUnloadsOneByOne(t *testing.T) {
	b := measured(t, 1)
	for i := range 4 {
		b.put(fmt.Sprintf("web@%d.service", i), service, "launched")
		b.put(fmt.Sprintf("bad@%d.service", i), "[Service]\nExecStart=/bin/false\n", "launched")
	}
	b.put("late.service", service, "loaded")
	b.settle()
	b.clock.Advance(time.Second) // just after a pass
	for _, u := range b.Units() {
		if u.Name != "late.service" {
			b.ask(http.MethodDelete, "/fleet/v1/units/"+u.Name, "")
		}
	}
	b.clock.Advance(2 * time.Second)
	require.Equal(t, http.StatusNoContent, b.put("late.service", service, "launched"))
	left := func(prefix string) (count int) {
		_, body := b.ask(http.MethodGet, "/fleet/v1/state", "")
		return strings.Count(body, prefix)
	}
	var webs []int
	late := 0
	for at := range 40 {
		b.clock.Advance(time.Second)
		if n := left("web@"); len(webs) == 0 || webs[len(webs)-1] != n {
			webs = append(webs, n)
		}
		if late == 0 && strings.Contains(b.look("late.service"), "active/running") {
			late = at
			assert.Equal(t, 0, left("web@"), "nothing is started while units are to be unloaded")
		}
		if at == 8 {
			assert.Equal(t, 0, left("bad@"), "failed ones are unloaded all in one pass")
		}
	}
	assert.Equal(t, []int{4, 3, 2, 1, 0}, webs)
	assert.Greater(t, late, 10)
}

// R37: replaced while it runs, a unit is unloaded in one pass and loaded in the next, with no entry in between.
func TestAgentReplaces(t *testing.T) {
	b := measured(t, 1)
	b.put("web.service", service, "launched")
	b.settle()
	b.clock.Advance(1700 * time.Millisecond) // whole seconds from now on are just after a pass
	require.Equal(t, http.StatusCreated, b.put("web.service", service+"User=web\n", "launched"))
	var looks []string
	for _, s := range b.walk("web.service", 20) {
		looks = append(looks, s.look)
	}
	assert.Equal(t, []string{
		"launched/launched m1, active/running on m1", "launched/loaded m1, active/running on m1", "launched/inactive m1",
		"launched/launched m1, active/running on m1",
	}, looks)
}

// R37: a template that is launched stops the agent of its machine for good: nothing is done there any more, and /state
// keeps on showing what it showed, until the machine is booted again.
func TestAgentStuck(t *testing.T) {
	for name, timing := range map[string]fleettest.Timing{"instant": fleettest.Instant(), "measured": fleettest.Measured()} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, fleettest.Config{Timing: timing, Machines: fleettest.DefaultMachines(1)})
			b.put("old.service", service, "launched")
			b.settle()
			require.Equal(t, http.StatusCreated, b.put("web@.service", service, "launched"))
			b.settle()
			b.put("new.service", service, "launched")
			b.ask(http.MethodDelete, "/fleet/v1/units/old.service", "")
			b.ask(http.MethodDelete, "/fleet/v1/units/web@.service", "")
			b.clock.Advance(time.Hour)
			assert.Equal(t, "none, active/running on m1", b.look("old.service"))
			assert.Equal(t, "launched/inactive m1", b.look("new.service"))
			id := b.mustUnit("new.service").Machine
			require.True(t, b.KillMachine(id))
			require.True(t, b.RestoreMachine(id))
			b.clock.Advance(time.Hour)
			assert.Equal(t, "none", b.look("old.service"))
			assert.Equal(t, "launched/launched m1, active/running on m1", b.look("new.service"))
		})
	}
}

// R37: a unit that can't be loaded holds up all loading, stopping and starting on its machine, but no unloading, until it
// is destroyed; one that can't be started holds up the starting of those after it.
func TestAgentHeldUp(t *testing.T) {
	for blocker, looks := range map[string][2]string{
		"m.busname": {"launched/inactive m1", "loaded/launched m1, active/running on m1"},
		"m.scope":   {"launched/loaded m1, inactive/dead on m1", "loaded/loaded m1, inactive/dead on m1"},
	} {
		for name, timing := range map[string]fleettest.Timing{"instant": fleettest.Instant(), "measured": fleettest.Measured()} {
			t.Run(blocker+" "+name, func(t *testing.T) {
				b := newBench(t, fleettest.Config{Timing: timing, Machines: fleettest.DefaultMachines(1)})
				b.put("gone.service", service, "launched")
				b.put("old.service", service, "launched")
				b.settle()
				require.Equal(t, http.StatusCreated, b.put(blocker, "[Unit]\nDescription=x\n", "launched"))
				b.settle()
				b.put("z.service", service, "launched")
				b.put("old.service", service, "loaded")
				b.ask(http.MethodDelete, "/fleet/v1/units/gone.service", "")
				b.clock.Advance(time.Minute)
				assert.Equal(t, "none", b.look("gone.service"))
				assert.Equal(t, looks[0], b.look("z.service"))
				assert.Equal(t, looks[1], b.look("old.service"))
				b.ask(http.MethodDelete, "/fleet/v1/units/"+blocker, "")
				b.clock.Advance(time.Minute)
				assert.Equal(t, "launched/launched m1, active/running on m1", b.look("z.service"))
				assert.Equal(t, "loaded/loaded m1, inactive/dead on m1", b.look("old.service"))
			})
		}
	}
}

// R37: an agent never finds the files of targets and slices again, so that it neither stops nor unloads them; a changed
// one is loaded.
func TestAgentKeeps(t *testing.T) {
	b := measured(t, 1)
	b.put("web.target", "[Unit]\nDescription=a\n", "launched")
	b.settle()
	b.put("web.target", "[Unit]\nDescription=a\n", "loaded")
	b.clock.Advance(time.Minute)
	assert.Equal(t, "loaded/launched m1, active/active on m1", b.look("web.target"))
	old := b.published("web.target")[0].Hash
	b.put("web.target", "[Unit]\nDescription=b\n", "loaded")
	b.clock.Advance(time.Minute)
	assert.NotEqual(t, old, b.published("web.target")[0].Hash)
	b.ask(http.MethodDelete, "/fleet/v1/units/web.target", "")
	b.clock.Advance(time.Hour)
	assert.Equal(t, "none, active/active on m1", b.look("web.target"))
}

// R37: a machine that unloads a unit removes what the unit's new machine has published, for as long as that takes to
// publish it again.
func TestMovedUnitVanishes(t *testing.T) {
	b := measured(t, 2)
	on := func(zone string) string { return service + "[X-Fleet]\nMachineMetadata=zone=" + zone + "\n" }
	b.put("web.service", on("a"), "launched")
	b.settle()
	b.ask(http.MethodDelete, "/fleet/v1/units/web.service", "")
	b.clock.Advance(time.Second)
	b.put("web.service", on("b"), "launched")
	var looks []string
	for _, s := range b.walk("web.service", 90) {
		if !strings.Contains(s.look, "running on m1") {
			looks = append(looks, s.look)
		}
	}
	const running = "launched/launched m2, active/running on m2"
	at := slices.Index(looks, running)
	require.GreaterOrEqual(t, at, 0, looks)
	assert.Equal(t, []string{running, "launched/inactive m2", running}, looks[at:], "it vanishes and comes back")
}

// R37: a unit that a fleetd can't read back can be neither read, changed, removed nor made again, and its machine unloads
// it.
func TestUnreadableUnit(t *testing.T) {
	for name, spoil := range map[string]string{
		"unknown state": `{"desiredState":"running"}`,
		"newline":       `{"options":[{"section":"Service","name":"Y","value":"a\nb"}]}`,
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, fleettest.Config{})
			b.put("web.service", service, "launched")
			code, _ := b.ask(http.MethodPut, "/fleet/v1/units/web.service", spoil)
			assert.Contains(t, []int{http.StatusCreated, http.StatusNoContent}, code)
			for _, call := range [][2]string{{"GET", ""}, {"DELETE", ""}, {"PUT", `{"desiredState":"loaded"}`}, {"PUT", putBody(t, service, "loaded")}} {
				code, body := b.ask(call[0], "/fleet/v1/units/web.service", call[1])
				assert.Equal(t, http.StatusInternalServerError, code)
				assert.Equal(t, failure(500, ""), body)
			}
			_, body := b.ask(http.MethodGet, "/fleet/v1/units", "")
			assert.Equal(t, "{}", body)
			_, body = b.ask(http.MethodGet, "/fleet/v1/state", "")
			assert.Equal(t, "{}", body)
			assert.Error(t, b.Put("web.service", service, "loaded"))
			assert.False(t, b.Remove("web.service"))
		})
	}
}

// R37: what is read back is what a unit file's text carries of the options.
func TestOptionsReadBack(t *testing.T) {
	for value, want := range map[string]string{
		` a `: `"a"`, `a\r`: `"a"`, `a\\`: `"a\\\n"`, `#c`: `"#c"`, `é`: `"é"`,
	} {
		b := newBench(t, fleettest.Config{})
		body := fmt.Sprintf(`{"desiredState":"inactive","options":[{"section":"Service","name":"Y","value":"%s"}]}`, value)
		code, _ := b.ask(http.MethodPut, "/fleet/v1/units/web.service", body)
		require.Equal(t, http.StatusCreated, code)
		_, text := b.ask(http.MethodGet, "/fleet/v1/units/web.service", "")
		assert.Contains(t, text, `"value":`+want)
	}
	b := newBench(t, fleettest.Config{})
	b.ask(http.MethodPut, "/fleet/v1/units/web.service", `{"options":[{"section":"Service","name":"#Y","value":"1"}]}`)
	_, text := b.ask(http.MethodGet, "/fleet/v1/units/web.service", "")
	assert.NotContains(t, text, "options")
}

// R37: an empty MachineID is one, which no machine has.
func TestEmptyMachineID(t *testing.T) {
	b := newBench(t, fleettest.Config{})
	code, body := b.ask(http.MethodPut, "/fleet/v1/units/a.service", putBody(t, "[X-Fleet]\nMachineID=\nGlobal=true\n", "launched"))
	assert.Equal(t, http.StatusBadRequest, code)
	assert.Equal(t, failure(400, "MachineID cannot be used with Global"), body)
	require.Equal(t, http.StatusCreated, b.put("b.service", service+"[X-Fleet]\nMachineID=\n", "launched"))
	assert.Equal(t, "launched/inactive", b.look("b.service"))
}

// R37: a unit that was moved away for another comes back where it may run nowhere else.
func TestReplacedUnitComesBack(t *testing.T) {
	b := newBench(t, fleettest.Config{})
	b.put("a.service", service+"[X-Fleet]\nMachineMetadata=zone=c\n", "launched")
	b.put("b.service", service+"[X-Fleet]\nMachineMetadata=zone=c\nReplaces=a.service\n", "launched")
	assert.Equal(t, "launched/launched m3, active/running on m3", b.look("a.service"))
	assert.Equal(t, "launched/launched m3, active/running on m3", b.look("b.service"))
}

// R37: refusals of bodies name the types of a fleetd, and print what it prints.
func TestMessages(t *testing.T) {
	b := newBench(t, fleettest.Config{})
	for body, want := range map[string]string{
		`[]`:                          `unable to decode body: json: cannot unmarshal array into Go value of type schema.Unit`,
		`{"options":{}}`:              `unable to decode body: json: cannot unmarshal object into Go struct field Unit.options of type []*schema.UnitOption`,
		`{"options":[{"section":1}]}`: `unable to decode body: json: cannot unmarshal number into Go struct field UnitOption.options.section of type string`,
		`{"options":[{"section":"Ser]vice","name":"Y","value":"1"}]}`: `found garbage after section name : [118 105 99 101 93]`,
	} {
		code, text := b.ask(http.MethodPut, "/fleet/v1/units/a.service", body)
		assert.Equal(t, http.StatusBadRequest, code)
		assert.Equal(t, failure(400, want), text)
	}
	code, text := b.ask(http.MethodPatch, "/fleet/v1/machines", `{}`)
	assert.Equal(t, http.StatusBadRequest, code)
	assert.Equal(t, failure(400, "json: cannot unmarshal object into Go value of type []api.machineMetadataOp"), text)
}
