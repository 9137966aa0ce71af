package controller_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/squadronctl/squadron/controller"
	"github.com/squadronctl/squadron/fleet/fleettest"
)

// R17: a unit that fails ends the wait soon, by its name.
func TestFailedUnitEndsTheWaitR17(t *testing.T) {
	onBench(t, fleettest.Config{Timing: fleettest.Measured()}, nil, func(t *testing.T, b *bench) {
		req := request("web", 0, "1", "2")
		req.Units[1].Content = "[Service]\nExecStart=/bin/false\n"
		b.do(b.controller.Submit, req)
		began := time.Now()
		err := b.try(b.controller.Start, of("web"))
		require.True(t, controller.IsUnitFailed(err), "%v", err)
		assert.False(t, controller.IsWaitTimeoutReached(err))
		assert.ErrorContains(t, err, "web-log@1.service is launched (desired launched), systemd says failed/failed")
		assert.ErrorContains(t, err, "web-log@2.service")
		assert.NotContains(t, err.Error(), "web-app@1.service is")
		assert.Less(t, time.Since(began), 10*time.Second)

		// Where failed is wanted too, it is no failure of the wait.
		require.NoError(t, b.controller.WaitForStatus(t.Context(), of("web"), nil, controller.StatusRunning, controller.StatusFailed))
		err = b.controller.WaitForStatus(t.Context(), of("web"), nil, controller.StatusRunning)
		require.True(t, controller.IsUnitFailed(err), "%v", err)
	})
}

// R17: a unit that systemd starts again by itself has not failed.
func TestAutoRestartIsNoFailureR17(t *testing.T) {
	flaps := func(start fleettest.Start) fleettest.Behavior {
		return fleettest.Behavior{Fail: start.Attempt < 8, Restart: true, RestartDelay: 5 * time.Second}
	}
	onBench(t, fleettest.Config{Behave: flaps}, nil, func(t *testing.T, b *bench) {
		b.do(b.controller.Submit, request("web", 1))
		b.do(b.controller.Start, of("web"))
		assert.Contains(t, b.states("")[0], "active/running")
	})
}

// R17: a failure from before the write is none of the operation's: not until another state was seen, and not before
// FailureGrace.
func TestFailureBeforeTheWriteR17(t *testing.T) {
	timing := fleettest.Measured()
	timing.Pass = 10 * time.Second
	behaves := fleettest.Behavior{}
	behave := func(fleettest.Start) fleettest.Behavior { return behaves }
	onBench(t, fleettest.Config{Timing: timing, Behave: behave}, nil, func(t *testing.T, b *bench) {
		req := request("web", 0, "1")
		b.do(b.controller.Submit, req)
		b.do(b.controller.Start, of("web"))
		require.True(t, b.cluster.FailUnit("web-app@1.service"))
		time.Sleep(2 * time.Second)
		b.do(b.controller.Stop, of("web"))
		require.Contains(t, b.states("web-app")[0], "failed/failed")
		// The agent takes ten seconds, in which the unit is seen failed.
		b.do(b.controller.Start, of("web"))

		// The same, but now it fails again.
		require.True(t, b.cluster.FailUnit("web-app@1.service"))
		time.Sleep(2 * time.Second)
		b.do(b.controller.Stop, of("web"))
		behaves = fleettest.Behavior{Fail: true}
		began := time.Now()
		err := b.try(b.controller.Start, of("web"))
		require.True(t, controller.IsUnitFailed(err), "%v", err)
		assert.Less(t, time.Since(began), 20*time.Second)

		// Of a unit that is launched and failed, a Start changes nothing.
		began = time.Now()
		err = b.try(b.controller.Start, of("web"))
		require.True(t, controller.IsUnitFailed(err), "%v", err)
		assert.GreaterOrEqual(t, time.Since(began), 30*time.Second)
		assert.Less(t, time.Since(began), 35*time.Second)
	})
}

const oneshot = "[Service]\nType=oneshot\nExecStart=/bin/true\n"

func jobs(ids ...string) controller.Request {
	req := of("job", ids...)
	req.Units = []controller.Unit{
		{Name: "job@.service", Content: service("v1")},
		{Name: "job@.timer", Content: "[Timer]\nOnCalendar=daily\n"},
		{Name: "job-init@.service", Content: oneshot},
	}
	return req
}

// R17a, C21: a group with a timer and a oneshot starts, and is up to date then.
func TestTimerAndOneshotC21R17a(t *testing.T) {
	onBench(t, fleettest.Config{Timing: fleettest.Measured()}, nil, func(t *testing.T, b *bench) {
		req := jobs("1", "2")
		b.do(b.controller.Submit, req)
		began := time.Now()
		b.do(b.controller.Start, of("job"))
		assert.Less(t, time.Since(began), 45*time.Second)
		assert.Equal(t, []string{"job-init@1.service launched inactive/dead", "job-init@2.service launched inactive/dead",
			"job@1.service launched active/running", "job@1.timer launched active/waiting",
			"job@2.service launched active/running", "job@2.timer launched active/waiting"}, b.states(""))
		err := b.update(req, controller.UpdateOptions{})
		assert.True(t, controller.IsUnitsAlreadyUpToDate(err), "%v", err)
		b.do(b.controller.Stop, of("job"))
	})
}

// R17a: a oneshot that a look has caught counts soon after its end, one that none has caught after OneshotGrace.
func TestOneshotGraceR17a(t *testing.T) {
	for name, c := range map[string]struct {
		runs            time.Duration
		atLeast, atMost time.Duration
	}{
		"seen":     {7 * time.Second, 7 * time.Second, 15 * time.Second},
		"not seen": {0, 30 * time.Second, 35 * time.Second},
	} {
		for backend, adjust := range map[string]func(*controller.Config){"fleet": nil, "narrow": overNarrow} {
			t.Run(name+" on "+backend, func(t *testing.T) {
				behave := func(fleettest.Start) fleettest.Behavior { return fleettest.Behavior{StartDelay: c.runs} }
				onBench(t, fleettest.Config{Behave: behave}, adjust, func(t *testing.T, b *bench) {
					req := withContent(named("job", "job@.service"), oneshot)
					b.do(b.controller.Submit, withSlices(req, "1"))
					began := time.Now()
					b.do(b.controller.Start, req) // the narrow backend's type comes from the request
					assert.GreaterOrEqual(t, time.Since(began), c.atLeast)
					assert.LessOrEqual(t, time.Since(began), c.atMost)
				})
			})
		}
	}
}

// R17a: a oneshot that fails has failed, and one that only is loaded has not run.
func TestOneshotThatDidNotRunR17a(t *testing.T) {
	onBench(t, fleettest.Config{}, func(config *controller.Config) { config.WaitTimeout = 2 * time.Minute }, func(t *testing.T, b *bench) {
		req := withSlices(withContent(named("job", "job@.service"), strings.Replace(oneshot, "/bin/true", "/bin/false", 1)), "1")
		b.do(b.controller.Submit, req)
		err := b.controller.WaitForStatus(t.Context(), req, nil, controller.StatusRunning)
		require.True(t, controller.IsWaitTimeoutReached(err), "%v", err)
		err = b.try(b.controller.Start, of("job"))
		require.True(t, controller.IsUnitFailed(err), "%v", err)
	})
}
