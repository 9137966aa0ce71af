package fleettest_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/squadronctl/squadron/fleet/fleettest"
)

// R37: submitted, a unit is inactive without a machine, inactive with one, loaded; the state appears with loaded.
func TestLifeSubmit(t *testing.T) {
	b := newBench(t, fleettest.Config{Timing: seconds()})
	require.Equal(t, http.StatusCreated, b.put("web@1.service", service, "loaded"))
	assert.Equal(t, []step{
		{0, "loaded/inactive"},
		{1, "loaded/inactive m1"},
		{3, "loaded/loaded m1, inactive/dead on m1"},
	}, b.walk("web@1.service", 40))
}

// R37: fleet says launched before systemd says anything but inactive.
func TestLifeStartAndStop(t *testing.T) {
	b := newBench(t, fleettest.Config{Timing: seconds()})
	b.put("web@1.service", service, "loaded")
	b.settle()
	code, body := b.ask(http.MethodPut, "/fleet/v1/units/web@1.service", `{"desiredState":"launched"}`)
	require.Equal(t, http.StatusNoContent, code)
	require.Empty(t, body)
	assert.Equal(t, []step{
		{0, "launched/loaded m1, inactive/dead on m1"},
		{1, "launched/launched m1, inactive/dead on m1"},
		{2, "launched/launched m1, activating/start on m1"},
		{4, "launched/launched m1, active/running on m1"},
	}, b.walk("web@1.service", 40))

	require.Equal(t, http.StatusNoContent, b.put("web@1.service", service, "loaded"))
	assert.Equal(t, []step{
		{0, "loaded/launched m1, active/running on m1"},
		{1, "loaded/loaded m1, deactivating/stop-sigterm on m1"},
		{3, "loaded/loaded m1, inactive/dead on m1"},
	}, b.walk("web@1.service", 40))
}

// R37, R24: created launched, a unit is launched as soon as it is loaded.
func TestLifeSubmitLaunched(t *testing.T) {
	b := newBench(t, fleettest.Config{Timing: seconds()})
	b.put("web@1.service", service, "launched")
	assert.Equal(t, []step{
		{0, "launched/inactive"},
		{1, "launched/inactive m1"},
		{3, "launched/launched m1, inactive/dead on m1"},
		{4, "launched/launched m1, activating/start on m1"},
		{6, "launched/launched m1, active/running on m1"},
	}, b.walk("web@1.service", 40))
}

// R37: a destroyed unit leaves /units at once; its last published state lingers in /state.
func TestLifeDestroy(t *testing.T) {
	b := newBench(t, fleettest.Config{Timing: seconds()})
	b.put("web@1.service", service, "launched")
	b.settle()
	code, _ := b.ask(http.MethodDelete, "/fleet/v1/units/web@1.service", "")
	require.Equal(t, http.StatusNoContent, code)
	assert.Equal(t, []step{
		{0, "none, active/running on m1"},
		{23, "none"},
	}, b.walk("web@1.service", 60))
}

// R37, C11: recreated while the old state is still listed, a unit shows the old hash first, and counts as loaded.
func TestLifeRecreate(t *testing.T) {
	b := newBench(t, fleettest.Config{Timing: seconds()})
	b.put("web@1.service", service, "launched")
	b.settle()
	old := b.published("web@1.service")[0].Hash
	b.ask(http.MethodDelete, "/fleet/v1/units/web@1.service", "")
	b.clock.Advance(5 * time.Second)
	require.Equal(t, http.StatusCreated, b.put("web@1.service", service+"User=web\n", "loaded"))
	b.clock.Advance(time.Second)
	assert.Equal(t, "loaded/loaded m1, active/running on m1", b.look("web@1.service"))
	assert.Equal(t, old, b.published("web@1.service")[0].Hash)
	b.settle()
	assert.Equal(t, "loaded/loaded m1, inactive/dead on m1", b.look("web@1.service"))
	assert.NotEqual(t, old, b.published("web@1.service")[0].Hash)
	b.clock.Advance(time.Minute)
	assert.Equal(t, "loaded/loaded m1, inactive/dead on m1", b.look("web@1.service"), "the old entry's end is not the new one's")
}

// R37: replaced without a word; the old hash stays until the agent has reloaded the unit.
func TestLifeReplace(t *testing.T) {
	b := newBench(t, fleettest.Config{Timing: seconds()})
	b.put("web@1.service", service, "launched")
	b.settle()
	old := b.published("web@1.service")[0].Hash
	require.Equal(t, http.StatusCreated, b.put("web@1.service", service+"User=web\n", "launched"))
	for range 5 {
		assert.Equal(t, old, b.published("web@1.service")[0].Hash)
		b.clock.Advance(time.Second)
	}
	b.clock.Advance(10 * time.Second)
	assert.NotEqual(t, old, b.published("web@1.service")[0].Hash)
	assert.Equal(t, "launched/launched m1, active/running on m1", b.look("web@1.service"))
}

// R37, C6: a unit that no machine can take stays inactive without a machine, until one comes.
func TestLifeUnschedulable(t *testing.T) {
	b := newBench(t, fleettest.Config{Timing: seconds()})
	b.put("web@1.service", service+"[X-Fleet]\nMachineMetadata=zone=nowhere\n", "launched")
	assert.Equal(t, []step{{0, "launched/inactive"}}, b.walk("web@1.service", 60))
	m := fleettest.DefaultMachines(9)[8]
	m.Metadata["zone"] = "nowhere"
	b.AddMachine(m)
	b.settle()
	assert.Equal(t, "launched/launched m9, active/running on m9", b.look("web@1.service"))
}

// R37, C5: a global unit has no current state of its own and runs on every machine whose metadata match.
func TestLifeGlobal(t *testing.T) {
	b := newBench(t, fleettest.Config{Timing: seconds(), Machines: fleettest.DefaultMachines(4)})
	b.put("log.service", service+"[X-Fleet]\nGlobal=true\nMachineMetadata=zone=a\n", "launched")
	b.settle()
	assert.Equal(t, "launched/, active/running on m1, active/running on m4", b.look("log.service"))
	code, body := b.ask(http.MethodGet, "/fleet/v1/units", "")
	assert.Equal(t, http.StatusOK, code)
	assert.Contains(t, body, `"currentState":"inactive"`)
	b.ask(http.MethodDelete, "/fleet/v1/units/log.service", "")
	b.clock.Advance(time.Minute)
	assert.Equal(t, "none", b.look("log.service"))
	for _, u := range b.Units() {
		assert.Empty(t, u.On)
	}
}

// R37, C21: what the types of units come to once started.
func TestLifeOfTypes(t *testing.T) {
	oneshot := "[Service]\nType=oneshot\nExecStart=/bin/true\n"
	for name, row := range map[string]struct {
		content string
		steps   []step
	}{
		"job.service": {oneshot, []step{
			{3, "launched/launched m1, inactive/dead on m1"},
			{4, "launched/launched m1, activating/start on m1"},
			{6, "launched/launched m1, inactive/dead on m1"}}},
		"once.service": {oneshot + "RemainAfterExit=yes\n", []step{
			{3, "launched/launched m1, inactive/dead on m1"},
			{4, "launched/launched m1, activating/start on m1"},
			{6, "launched/launched m1, active/exited on m1"}}},
		"job.timer": {"[Timer]\nOnCalendar=daily\n", []step{
			{3, "launched/launched m1, inactive/dead on m1"},
			{4, "launched/launched m1, active/waiting on m1"}}},
		"web.socket": {"[Socket]\nListenStream=80\n", []step{
			{3, "launched/launched m1, inactive/dead on m1"},
			{4, "launched/launched m1, active/listening on m1"}}},
		"bad.service": {"[Service]\nExecStart=/bin/sh -c 'exit 1'\n", []step{
			{3, "launched/launched m1, inactive/dead on m1"},
			{4, "launched/launched m1, activating/start on m1"},
			{6, "launched/launched m1, failed/failed on m1"}}},
		"data.mount": {"[Mount]\nWhat=/dev/sdb\nWhere=/data\n", []step{
			{3, "launched/launched m1, inactive/dead on m1"},
			{4, "launched/launched m1, active/mounted on m1"}}},
		"ends.service": {"[Service]\nExecStart=/bin/true\n", []step{
			{3, "launched/launched m1, inactive/dead on m1"},
			{4, "launched/launched m1, activating/start on m1"},
			{6, "launched/launched m1, active/running on m1"},
			{7, "launched/launched m1, inactive/dead on m1"}}},
		"web.target": {"[Unit]\nDescription=web\n", []step{
			{3, "launched/launched m1, inactive/dead on m1"},
			{4, "launched/launched m1, active/active on m1"}}},
		"web.scope": {"[Unit]\nDescription=web\n", []step{
			{3, "launched/launched m1, inactive/dead on m1"}}},
		"web@.service": {service, nil},
		"web.busname":  {service, nil},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, fleettest.Config{Timing: seconds()})
			require.Equal(t, http.StatusCreated, b.put(name, row.content, "launched"))
			first := []step{{0, "launched/inactive"}, {1, "launched/inactive m1"}}
			assert.Equal(t, append(first, row.steps...), b.walk(name, 40))
		})
	}
}

// R37: a failed unit that is stopped stays failed, and can be started again.
func TestLifeFailedThenStopped(t *testing.T) {
	b := newBench(t, fleettest.Config{Timing: seconds()})
	b.put("web.service", service, "launched")
	b.settle()
	require.True(t, b.FailUnit("web.service"))
	assert.False(t, b.FailUnit("web.service"))
	assert.Equal(t, "launched/launched m1, failed/failed on m1", b.look("web.service"))
	b.put("web.service", service, "loaded")
	b.settle()
	assert.Equal(t, "loaded/loaded m1, failed/failed on m1", b.look("web.service"))
	b.put("web.service", service, "launched")
	b.settle()
	assert.Equal(t, "launched/launched m1, active/running on m1", b.look("web.service"))
}
