package main

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/squadronctl/squadron/controller"
	"github.com/squadronctl/squadron/fleet"
)

func unit(name, slice, current, active, sub string) fleet.UnitStatus {
	return fleet.UnitStatus{Name: name, SliceID: slice, Current: current, Desired: "launched",
		Machine: []fleet.MachineStatus{{ID: "m", SystemdActive: active, SystemdSub: sub}}}
}

func TestIsRunning(t *testing.T) {
	running := unit("a.service", "", "launched", "active", "running")
	ended := unit("a.service", "", "launched", "inactive", "dead")
	assert.True(t, isRunning(running, fleet.UnitDetail{}))
	assert.False(t, isRunning(running, fleet.UnitDetail{Missing: 1}), "a global unit that a machine still lacks")
	assert.False(t, isRunning(ended, fleet.UnitDetail{}))
	assert.True(t, isRunning(ended, fleet.UnitDetail{Oneshot: true}), "a oneshot that has run")
	assert.False(t, isRunning(unit("a.service", "", "loaded", "inactive", "dead"), fleet.UnitDetail{Oneshot: true}))
	assert.False(t, isRunning(unit("a.service", "", "launched", "failed", "failed"), fleet.UnitDetail{Oneshot: true}))
	assert.False(t, isRunning(fleet.UnitStatus{Current: "inactive", Desired: "launched"}, fleet.UnitDetail{}), "no machine took it")
}

func TestStatusOf(t *testing.T) {
	both := unit("a.service", "", "launched", "active", "running")
	both.Machine = append(both.Machine, fleet.MachineStatus{SystemdActive: "failed"})
	assert.Equal(t, "failed", statusOf(both))
	assert.Equal(t, unknown, statusOf(unit("a.service", "", "launched", "", "")))
	assert.Equal(t, "stopped", statusOf(fleet.UnitStatus{Current: "inactive"}))
	units := []fleet.UnitStatus{unit("a@2.service", "2", "launched", "active", "running"), unit("b@2.service", "2", "launched", "activating", "start")}
	assert.Equal(t, map[string]string{"2": "starting"}, sliceStatuses(units))
	assert.Equal(t, []string{"2"}, slicesOf(units))
}

func TestBounds(t *testing.T) {
	for _, c := range []struct {
		text          string
		slices, bound int
	}{{"3", 10, 3}, {"0", 10, 0}, {"25%", 4, 1}, {"25%", 5, 2}, {"100%", 7, 7}, {"1%", 3, 1}, {"0%", 3, 0}, {"150%", 3, 5}} {
		var b bound
		require.NoError(t, b.Set(c.text))
		assert.Equal(t, c.bound, b.of(c.slices), "%s of %d", c.text, c.slices)
		assert.Equal(t, c.text, b.String())
	}
	for _, text := range []string{"", "%", "-1", "1.5", "x", "-1%", "99999999999999999999"} {
		assert.Error(t, (&bound{}).Set(text), text)
	}
	for _, text := range []string{"", "0", "-1", "NaN", "Inf", "x", "-1s", "1e300"} {
		assert.Error(t, new(seconds).Set(text), text)
	}
}

// What --min-alive is where it isn't given keeps an update from lowering what runs, and is never refused.
func TestDefaultBounds(t *testing.T) {
	plan := &controller.Plan{Wanted: 3, Slices: []controller.PlannedSlice{{ID: "a", Running: true}, {ID: "b", Running: true}, {ID: "c"}}}
	sliced := controller.Request{Units: []controller.Unit{{Name: "web@.service"}}}
	for _, c := range []struct {
		name            string
		flags           rolling
		what            roll
		growth, atLeast int
	}{
		{"update", rolling{}, roll{req: sliced, growth: 1}, 1, 2},
		{"no room", rolling{maxGrowth: bound{given: true}}, roll{req: sliced, growth: 1}, 0, 1},
		{"given", rolling{maxGrowth: bound{true, 50, true}, minAlive: bound{true, 1, false}}, roll{req: sliced, growth: 1}, 2, 1},
		{"scale", rolling{}, roll{}, 0, 2},
		{"instance group", rolling{}, roll{req: controller.Request{Units: []controller.Unit{{Name: "db.service"}}}, growth: 1}, 0, 0},
	} {
		sliced := c.name != "instance group"
		growth, atLeast := c.flags.bounds(c.what, plan, sliced)
		assert.Equal(t, []int{c.growth, c.atLeast}, []int{growth, atLeast}, c.name)
	}
	plan.Wanted = 1
	assert.Equal(t, 1, aliveAtMost(sliced, plan), "no more than are wanted")
	plan.Wanted = 3
	sliced.SliceIDs = []string{"a"}
	plan.Slices = append(plan.Slices, controller.PlannedSlice{ID: "d"})
	assert.Equal(t, 1, aliveAtMost(sliced, plan), "c and d don't run and stay")
}

func TestExitCodes(t *testing.T) {
	for err, code := range map[error]int{
		errors.New("x"):              exitFailed,
		errQuiet:                     exitFailed,
		errDeclined:                  exitFailed,
		usagef("x"):                  exitUsage,
		context.DeadlineExceeded:     exitTimeout,
		fmt.Errorf("%w", errRefused): exitRefused,
		interruptedError{err: errors.Join(errors.New("x"), errRefused)}: exitInterrupted,
	} {
		assert.Equal(t, code, exitCode(err), "%v", err)
	}
	assert.Equal(t, exitDone, exitCode(nil))
}

func TestOneLine(t *testing.T) {
	assert.Equal(t, "a b c ?[2J", oneLine("a\nb\t\nc \x1b[2J\n"))
	assert.Equal(t, []string{"b: c", "c"}, chain(fmt.Errorf("a: %w", fmt.Errorf("b: %w", errors.New("c")))))
}

// A command leaves no goroutine behind in a process that goes on.
func TestNothingIsLeft(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent(), goleak.IgnoreTopFunction("os/signal.loop"))
	socket := "SQUADRON_ENDPOINT=unix:///nowhere/fleet.sock"
	for _, args := range [][]string{{"version"}, {"list"}, {"status", "web"}, {"stop", "web"}, {"fly"}} {
		runHere([]string{socket, "HOME=" + t.TempDir()}, args...)
	}
}

// FuzzTarget shows that any command line names a group with whole slices, or is refused.
func FuzzTarget(f *testing.F) {
	f.Add("web@1", "web@{2,3}")
	f.Add("./web/", "4")
	f.Fuzz(func(t *testing.T, first, second string) {
		target, err := parseTarget([]string{first, second}, true)
		if err != nil {
			assert.Equal(t, exitUsage, exitCode(err))
			return
		}
		assert.NotEmpty(t, target.path)
		for _, id := range target.ids {
			assert.NotEmpty(t, id)
		}
	})
}

// FuzzConfiguration shows that any configuration file is read or refused.
func FuzzConfiguration(f *testing.F) {
	f.Add([]byte("current-context: a\ncontexts:\n  a:\n    endpoint: x\n"))
	f.Add([]byte("contexts: ["))
	f.Fuzz(func(t *testing.T, text []byte) {
		config, err := parseConfiguration(text)
		if err != nil {
			return
		}
		for _, settings := range config.Contexts {
			for key := range settings {
				assert.Contains(t, contextKeys(), key)
			}
		}
	})
}
