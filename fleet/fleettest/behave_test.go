package fleettest_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/squadronctl/squadron/fleet/fleettest"
)

// R38: a unit that flaps runs, fails and is restarted, over and over, until it is stopped.
func TestBehaviorFlap(t *testing.T) {
	b := newBench(t, fleettest.Config{Timing: seconds(), Behave: func(fleettest.Start) fleettest.Behavior {
		return fleettest.Behavior{FailAfter: 5 * time.Second, Restart: true, RestartDelay: 3 * time.Second}
	}})
	b.put("web.service", service, "launched")
	b.clock.Advance(5 * time.Second)
	assert.Equal(t, []step{
		{0, "launched/launched m1, activating/start on m1"},
		{1, "launched/launched m1, active/running on m1"},
		{6, "launched/launched m1, activating/auto-restart on m1"},
		{9, "launched/launched m1, activating/start on m1"},
		{11, "launched/launched m1, active/running on m1"},
		{16, "launched/launched m1, activating/auto-restart on m1"},
	}, b.walk("web.service", 17))
	b.put("web.service", service, "loaded")
	assert.Equal(t, []step{
		{0, "loaded/launched m1, activating/auto-restart on m1"},
		{1, "loaded/loaded m1, inactive/dead on m1"},
	}, b.walk("web.service", 30))
}

// R38: a unit that restarts for ever never runs, and is asked about each attempt.
func TestBehaviorRestartsForEver(t *testing.T) {
	var attempts []int
	b := newBench(t, fleettest.Config{Timing: seconds(), Behave: func(s fleettest.Start) fleettest.Behavior {
		attempts = append(attempts, s.Attempt)
		return fleettest.Behavior{Fail: true, Restart: true}
	}})
	b.OnChange(func(c fleettest.Change) { assert.NotEqual(t, "active", c.Active) })
	b.put("web.service", service, "launched")
	b.clock.Advance(time.Minute)
	b.Advance()
	assert.Greater(t, len(attempts), 20)
	assert.Equal(t, []int{1, 2, 3}, attempts[:3])
}

// R38, C13: a slow unit is activating all the while; one script can make new content slow and leave the old alone.
func TestBehaviorSlowByContent(t *testing.T) {
	b := newBench(t, fleettest.Config{Timing: seconds(), Behave: func(s fleettest.Start) fleettest.Behavior {
		if s.Content == service {
			return fleettest.Behavior{}
		}
		return fleettest.Behavior{StartDelay: 10 * time.Second}
	}})
	b.put("old.service", service, "launched")
	b.put("new.service", service+"User=web\n", "launched")
	b.settle()
	assert.Equal(t, "launched/launched m1, active/running on m1", b.look("old.service"))
	assert.Equal(t, "launched/launched m2, activating/start on m2", b.look("new.service"))
	b.clock.Advance(4 * time.Second)
	assert.Equal(t, "launched/launched m2, active/running on m2", b.look("new.service"))
}

// R38: stopped while it starts, and started while it stops, a unit ends as it was asked last.
func TestBehaviorChangeOfMind(t *testing.T) {
	b := newBench(t, fleettest.Config{Timing: seconds()})
	b.put("web.service", service, "launched")
	b.clock.Advance(4 * time.Second)
	b.put("web.service", service, "loaded")
	b.clock.Advance(time.Second)
	assert.Equal(t, "loaded/loaded m1, deactivating/stop-sigterm on m1", b.look("web.service"))
	b.put("web.service", service, "launched")
	assert.Equal(t, []step{
		{0, "launched/loaded m1, deactivating/stop-sigterm on m1"},
		{1, "launched/launched m1, deactivating/stop-sigterm on m1"},
		{2, "launched/launched m1, inactive/dead on m1"},
		{3, "launched/launched m1, activating/start on m1"},
		{5, "launched/launched m1, active/running on m1"},
	}, b.walk("web.service", 30))
}

// R37: what /state shows follows the true state at a tick.
func TestPublishedAtTheTick(t *testing.T) {
	timing := fleettest.Instant()
	timing.Publish = 10 * time.Second
	b := newBench(t, fleettest.Config{Timing: timing})
	b.clock.Advance(time.Second)
	b.put("web.service", service, "launched")
	unit, _ := b.Unit("web.service")
	assert.Equal(t, "active", unit.On[0].Active)
	assert.Equal(t, "launched/inactive m1", b.look("web.service"))
	b.clock.Advance(8 * time.Second)
	assert.Equal(t, "launched/inactive m1", b.look("web.service"))
	b.clock.Advance(time.Second)
	assert.Equal(t, "launched/launched m1, active/running on m1", b.look("web.service"))
}

func TestDefaultBehavior(t *testing.T) {
	runs, fails, ends := fleettest.Behavior{}, fleettest.Behavior{Fail: true}, fleettest.Behavior{EndAfter: time.Millisecond}
	for exec, want := range map[string]fleettest.Behavior{
		"/bin/false": fails, "/usr/bin/false --now": fails, "false": fails, "@/bin/false false": fails,
		"/bin/sh -c 'exit 1'": fails, `/bin/sh -c "sleep 1; exit 3"`: fails, "/bin/sh -c 'exit 0'": ends,
		"/bin/true": ends, "/bin/sleep 1000": runs, "-/bin/false": ends, "": runs, "/bin/exit 1": runs, "/bin/true or not": runs,
	} {
		got := fleettest.DefaultBehavior(fleettest.Start{Content: "[Service]\nExecStart=" + exec + "\n"})
		assert.Equal(t, want, got, exec)
	}
	for restart, again := range map[string][2]bool{ // after false, after true
		"no": {false, false}, "always": {true, true}, "on-failure": {true, false}, "on-abnormal": {true, false}, "on-success": {false, true},
	} {
		for i, exec := range []string{"/bin/false", "/bin/true"} {
			got := fleettest.DefaultBehavior(fleettest.Start{Content: "[Service]\nExecStart=" + exec + "\nRestart=" + restart + "\n"})
			assert.Equal(t, again[i], got.Restart, "%s %s", restart, exec)
		}
	}
	for text, delay := range map[string]time.Duration{
		"5": 5 * time.Second, "0.5": time.Second / 2, "250ms": time.Second / 4, "2min": 2 * time.Minute, "soon": 0, "-1": 0,
	} {
		got := fleettest.DefaultBehavior(fleettest.Start{Content: fmt.Sprintf("[Service]\nRestart=always\nRestartSec=%s\n", text)})
		assert.Equal(t, fleettest.Behavior{Restart: true, RestartDelay: delay}, got, text)
	}
}
