package controller_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/squadronctl/squadron/controller"
	"github.com/squadronctl/squadron/fleet"
	"github.com/squadronctl/squadron/fleet/fleettest"
)

// R15: closer ends a wait without error, the context with its error, WaitTimeout with its own: at once, whatever the
// cluster does, and without leaving anything (which the bubble sees).
func TestWaitEndsR15(t *testing.T) {
	for name, faults := range map[string][]fleettest.Fault{
		"well": nil, "hanging": {fleettest.Always(fleettest.Hang())}, "slow": {fleettest.Always(fleettest.Latency(9 * time.Second))},
		"broken": {fleettest.Always(fleettest.Fail(500, ""))},
	} {
		for backend, adjust := range map[string]func(*controller.Config){"fleet": waitSoon, "narrow": func(config *controller.Config) {
			waitSoon(config)
			overNarrow(config)
		}} {
			t.Run(name+" on "+backend, func(t *testing.T) {
				onBench(t, fleettest.Config{}, adjust, func(t *testing.T, b *bench) {
					b.put("loaded", "web@1.service", "web@2.service")
					b.faults.Set(faults...)
					req := withSlices(named("web", "web@.service"), "1", "2")
					wait := func(ctx context.Context, closer <-chan struct{}) (time.Duration, error) {
						began := time.Now()
						err := b.controller.WaitForStatus(ctx, req, closer, controller.StatusRunning)
						return time.Since(began), err
					}
					closer := make(chan struct{})
					defer in(7*time.Second, func() { close(closer) })()
					took, err := wait(t.Context(), closer)
					require.NoError(t, err)
					assert.Equal(t, 7*time.Second, took)
					took, err = wait(t.Context(), closer)
					require.NoError(t, err)
					assert.Zero(t, took)

					ctx, cancel := context.WithTimeout(t.Context(), 8*time.Second)
					defer cancel()
					took, err = wait(ctx, nil)
					require.ErrorIs(t, err, context.DeadlineExceeded)
					assert.False(t, controller.IsWaitTimeoutReached(err))
					assert.Equal(t, 8*time.Second, took)

					mine := errors.New("had enough")
					cancelled, end := context.WithCancelCause(t.Context())
					defer in(time.Second, func() { end(mine) })()
					_, err = wait(cancelled, nil)
					require.ErrorIs(t, err, context.Canceled)
					require.ErrorIs(t, err, mine)

					took, err = wait(t.Context(), nil)
					require.True(t, controller.IsWaitTimeoutReached(err), "%v", err)
					assert.False(t, errors.Is(err, context.DeadlineExceeded), "%v", err)
					assert.ErrorContains(t, err, "wait for the status of group web: after 20s, ")
					assert.Equal(t, 20*time.Second, took)
					assert.NotContains(t, err.Error(), "all had it")
					time.Sleep(3 * time.Minute) // until the narrow backend's last read has given up
				})
			})
		}
	}
}

// R15: a status has to be seen WaitCount times in a row, by all units at once.
func TestWaitCountR15(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		backend := newMemoryFleet()
		b := onBackend(t, backend, func(config *controller.Config) { config.WaitCount = 4 })
		defer b.close()
		b.do(b.controller.Submit, request("web", 0, "1"))
		b.do(b.controller.Start, of("web"))
		begin := backend.listings
		// + both run, - one does not.
		const looks = "-+++-+++-++++"
		backend.list = func(listing int, all []fleet.UnitStatus) []fleet.UnitStatus {
			if looks[listing-begin-1] == '-' {
				all[0].Machine = []fleet.MachineStatus{{SystemdActive: "activating", SystemdSub: "start"}}
			}
			return all
		}
		began := time.Now()
		req := withSlices(request("web", 0), "1")
		require.NoError(t, b.controller.WaitForStatus(t.Context(), req, nil, controller.StatusRunning))
		assert.Equal(t, begin+len(looks), backend.listings)
		assert.LessOrEqual(t, time.Since(began), 13*time.Second)
	})
}

// R15: which units a wait is about.
func TestWhichUnitsR15(t *testing.T) {
	onBench(t, fleettest.Config{}, waitSoon, func(t *testing.T, b *bench) {
		b.put("launched", "web-app@1.service", "webhook@1.service")
		b.put("loaded", "web-log@1.service")
		wait := func(req controller.Request, statuses ...controller.Status) error {
			return b.controller.WaitForStatus(t.Context(), req, nil, statuses...)
		}
		both := withSlices(named("web", "web-app@.service", "web-log@.service"), "1")

		// Any of the statuses counts, unit by unit.
		require.NoError(t, wait(both, controller.StatusRunning, controller.StatusStopped))
		require.NoError(t, wait(of("web"), controller.StatusRunning, controller.StatusStopped))
		require.NoError(t, wait(of("web", "1"), controller.StatusStopped, controller.StatusRunning))
		require.NoError(t, wait(named("web", "web-app@.service"), controller.StatusRunning))
		require.NoError(t, wait(named("web", "web-app@1.service"), controller.StatusRunning))

		// A named unit that is missing is not-found.
		missing := withSlices(named("web", "web-app@.service"), "1", "2")
		err := wait(missing, controller.StatusRunning)
		require.True(t, controller.IsWaitTimeoutReached(err), "%v", err)
		assert.ErrorContains(t, err, "web-app@2.service is not there")
		assert.NotContains(t, err.Error(), "web-app@1.service")
		require.NoError(t, wait(missing, controller.StatusRunning, controller.StatusNotFound))

		// By group alone: none found is an error at once, unless that is wanted.
		began := time.Now()
		assert.True(t, controller.IsUnitNotFound(wait(of("nothing"), controller.StatusRunning)))
		err = wait(of("web", "1", "7"), controller.StatusRunning)
		assert.True(t, controller.IsUnitSliceNotFound(err), "%v", err)
		assert.Zero(t, time.Since(began))
		require.NoError(t, wait(of("nothing"), controller.StatusNotFound))
		require.NoError(t, wait(of("web", "7"), controller.StatusNotFound))

		err = wait(of("web"))
		assert.True(t, controller.IsInvalidArgument(err), "%v", err)
		assert.ErrorContains(t, err, "no status given")
		_, ok := wait(of("web@"), controller.StatusRunning).(controller.ValidationError)
		assert.True(t, ok)
	})
}

// R15: waiting for a group to go, part of which has gone already, is waiting for the rest.
func TestWaitForTheRestToGoR15(t *testing.T) {
	onBench(t, fleettest.Config{}, waitSoon, func(t *testing.T, b *bench) {
		b.put("loaded", "web@1.service")
		err := b.controller.WaitForStatus(t.Context(), of("web", "1", "2"), nil, controller.StatusNotFound)
		require.True(t, controller.IsWaitTimeoutReached(err), "%v", err)
		assert.ErrorContains(t, err, "web@1.service is loaded")

		defer in(5*time.Second, func() { b.cluster.Remove("web@1.service") })()
		began := time.Now()
		require.NoError(t, b.controller.WaitForStatus(t.Context(), of("web", "1", "2"), nil, controller.StatusNotFound))
		assert.GreaterOrEqual(t, time.Since(began), 5*time.Second)
	})
}

// R16: the timeout says of each unit what it is like, of many only the first ones.
func TestTimeoutNamesWhatIsMissingR16(t *testing.T) {
	slow := func(start fleettest.Start) fleettest.Behavior {
		if strings.HasPrefix(start.Name, "web-log") {
			return fleettest.Behavior{StartDelay: time.Hour}
		}
		return fleettest.Behavior{}
	}
	onBench(t, fleettest.Config{Behave: slow}, waitSoon, func(t *testing.T, b *bench) {
		b.do(b.controller.Submit, request("web", 30))
		err := b.try(b.controller.Start, of("web"))
		require.True(t, controller.IsWaitTimeoutReached(err), "%v", err)
		assert.ErrorContains(t, err, "start group web: wait for running: after 20s, web-log@")
		assert.ErrorContains(t, err, ".service is launched (desired launched), systemd says activating/start on machine 192.0.2.")
		assert.ErrorContains(t, err, "and 10 more")
		assert.NotContains(t, err.Error(), "web-app@")
	})
}

// R18, C9: every third request is a 500, and everything succeeds.
func TestEveryThirdRequestFailsC9R18(t *testing.T) {
	onBench(t, fleettest.Config{Timing: fleettest.Measured()}, nil, func(t *testing.T, b *bench) {
		for _, method := range []string{http.MethodPut, http.MethodGet, http.MethodDelete} {
			b.faults.Set(fleettest.On(method, "", fleettest.Every(3, fleettest.Fail(500, ""))))
			b.do(b.controller.Submit, request("web", 5))
			b.do(b.controller.Start, of("web"))
			_, err := b.controller.GetStatus(t.Context(), of("web"))
			require.NoError(t, err)
			b.do(b.controller.Stop, of("web"))
			b.do(b.controller.Destroy, of("web"))
			require.Empty(t, b.names(""))
		}
	})
}

// C9: where each is a 500, the error carries the call, the unit and the code.
func TestEveryRequestFailsC9(t *testing.T) {
	onBench(t, fleettest.Config{}, nil, func(t *testing.T, b *bench) {
		b.put("loaded", "web@1.service")
		for verb, method := range map[string]string{"start": http.MethodPut, "stop": http.MethodPut, "destroy": http.MethodDelete} {
			b.faults.Set(fleettest.On(method, "", fleettest.Always(fleettest.Fail(500, ""))))
			err := b.try(changers(b.controller)[verb], of("web"))
			assert.True(t, fleet.IsTemporary(err), "%v", err)
			for _, words := range []string{verb + " group web: " + verb + " web@1.service: ", method + " /fleet/v1/units/web@1.service", "500"} {
				assert.ErrorContains(t, err, words)
			}
		}
		b.faults.Set(fleettest.Always(fleettest.Fail(500, "")))
		err := b.try(b.controller.Submit, request("web", 1))
		assert.ErrorContains(t, err, "submit group web: ")
		assert.ErrorContains(t, err, "GET /fleet/v1/")
		assert.ErrorContains(t, err, "500")
		_, err = b.controller.GetStatus(t.Context(), of("web"))
		assert.ErrorContains(t, err, "get the status of group web: ")
		assert.ErrorContains(t, err, "500")
	})
}

// R18: looks that fail temporarily don't end a wait before WaitTimeout, which tells of them then.
func TestTemporaryErrorsInAWaitR18(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		backend := newMemoryFleet()
		b := onBackend(t, backend, waitSoon)
		defer b.close()
		b.do(b.controller.Submit, request("web", 0, "1"))
		req := withSlices(request("web", 0), "1")
		var broken atomic.Bool
		broken.Store(true)
		backend.before = func(method, _ string) error {
			if broken.Load() {
				return fleet.AsTemporary(errors.New("elections"))
			}
			return nil
		}
		done := in(15*time.Second, func() { broken.Store(false) })
		require.NoError(t, b.controller.WaitForStatus(t.Context(), req, nil, controller.StatusStopped))
		done()
		broken.Store(true)
		err := b.controller.WaitForStatus(t.Context(), req, nil, controller.StatusStopped)
		require.True(t, controller.IsWaitTimeoutReached(err), "%v", err)
		require.True(t, fleet.IsTemporary(err))
		assert.ErrorContains(t, err, "elections")
	})
}

// R18: any other error ends it, so also one that the backend doesn't type.
func TestOtherErrorsEndAWaitR18(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		backend := newMemoryFleet()
		b := onBackend(t, backend)
		defer b.close()
		b.do(b.controller.Submit, request("web", 0, "1"))
		fire := errors.New("disk on fire")
		backend.before = func(string, string) error { return fire }
		began := time.Now()
		err := b.controller.WaitForStatus(t.Context(), withSlices(request("web", 0), "1"), nil, controller.StatusStopped)
		require.ErrorIs(t, err, fire)
		assert.ErrorContains(t, err, "wait for the status of group web: ")
		assert.LessOrEqual(t, time.Since(began), time.Second)
	})
}

// R12: states that nobody knows mean not yet, and are named when the time is over.
func TestUnknownStatesR12(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		backend := newMemoryFleet()
		b := onBackend(t, backend, waitSoon)
		defer b.close()
		b.do(b.controller.Submit, request("web", 0, "1"))
		b.do(b.controller.Start, of("web"))
		var odd atomic.Bool
		odd.Store(true)
		backend.list = func(_ int, all []fleet.UnitStatus) []fleet.UnitStatus {
			for i := range all {
				if odd.Load() {
					all[i].Machine[0].SystemdActive = "pondering"
				}
			}
			return all
		}
		err := b.controller.WaitForStatus(t.Context(), of("web"), nil, controller.StatusRunning)
		require.True(t, controller.IsWaitTimeoutReached(err), "%v", err)
		assert.False(t, controller.IsInvalidUnitStatus(err))
		assert.ErrorContains(t, err, "web-app@1.service is launched (desired launched), systemd says pondering/running")

		done := in(10*time.Second, func() { odd.Store(false) })
		require.NoError(t, b.controller.WaitForStatus(t.Context(), of("web"), nil, controller.StatusRunning))
		done()
	})
}

// R13, C5: a global unit runs when it runs on each machine that it is meant for, and not before.
func TestGlobalUnitC5R13(t *testing.T) {
	slowID := fleettest.DefaultMachines(3)[2].ID
	behave := func(start fleettest.Start) fleettest.Behavior {
		if start.Machine == slowID {
			return fleettest.Behavior{StartDelay: time.Minute}
		}
		return fleettest.Behavior{}
	}
	for condition, c := range map[string]struct{ atLeast, atMost time.Duration }{
		"": {time.Minute, 70 * time.Second},
		"MachineMetadata=\"zone=a\" \"zone=b\"\n": {0, 10 * time.Second},
	} {
		onBench(t, fleettest.Config{Timing: fleettest.Measured(), Behave: behave}, nil, func(t *testing.T, b *bench) {
			req := withContent(instanceGroup("db-agent.service"), service("v1")+"\n[X-Fleet]\nGlobal=true\n"+condition)
			b.do(b.controller.Submit, req)
			began := time.Now()
			b.do(b.controller.Start, of("db"))
			assert.GreaterOrEqual(t, time.Since(began), c.atLeast)
			assert.LessOrEqual(t, time.Since(began), c.atMost)
			b.do(b.controller.Stop, of("db"))
			b.do(b.controller.Destroy, of("db"))
		})
	}
}

// R13: the last word of a lost machine does not count for a unit that has gone elsewhere.
func TestLostMachineR13(t *testing.T) {
	timing := fleettest.Measured()
	timing.MachineGone, timing.MachineTTL = time.Second, 2*time.Minute
	began := time.Time{}
	behave := func(start fleettest.Start) fleettest.Behavior {
		if began.IsZero() {
			return fleettest.Behavior{}
		}
		return fleettest.Behavior{StartDelay: 40 * time.Second}
	}
	onBench(t, fleettest.Config{Timing: timing, Behave: behave}, nil, func(t *testing.T, b *bench) {
		b.do(b.controller.Submit, withSlices(named("web", "web@.service"), "1"))
		b.do(b.controller.Start, of("web"))
		unit, _ := b.cluster.Unit("web@1.service")
		began = time.Now()
		require.True(t, b.cluster.KillMachine(unit.Machine))
		time.Sleep(4 * time.Second)
		require.NoError(t, b.controller.WaitForStatus(t.Context(), of("web"), nil, controller.StatusRunning))
		assert.GreaterOrEqual(t, time.Since(began), 40*time.Second)
		statuses, err := b.controller.GetStatus(t.Context(), of("web"))
		require.NoError(t, err)
		require.Len(t, statuses[0].Machine, 1)
		assert.NotEqual(t, unit.Machine, statuses[0].Machine[0].ID)
	})
}

// Stop counts a unit that no machine has as stopped, and one that failed as well.
func TestStopOfWhatDoesNotRun(t *testing.T) {
	onBench(t, fleettest.Config{}, nil, func(t *testing.T, b *bench) {
		require.NoError(t, b.cluster.Put("web@1.service", service("v1")+"\n[X-Fleet]\nMachineMetadata=zone=nowhere\n", "launched"))
		require.NoError(t, b.cluster.Put("web@2.service", "[Service]\nExecStart=/bin/false\n", "launched"))
		b.put("launched", "web@3.service")
		b.do(b.controller.Stop, of("web"))
		assert.Equal(t, "web@1.service=loaded web@2.service=loaded web@3.service=loaded", b.desired())
	})
}

// R13: nor does it for a global unit, of which there is an entry more than there is a machine for.
func TestLostMachineOfGlobalUnitR13(t *testing.T) {
	timing := fleettest.Measured()
	timing.MachineGone, timing.MachineTTL = time.Second, 2*time.Minute
	timing.Load = 20 * time.Second
	fourth := fleettest.DefaultMachines(4)[3]
	behave := func(start fleettest.Start) fleettest.Behavior {
		if start.Machine == fourth.ID {
			return fleettest.Behavior{StartDelay: 40 * time.Second}
		}
		return fleettest.Behavior{}
	}
	onBench(t, fleettest.Config{Timing: timing, Behave: behave}, nil, func(t *testing.T, b *bench) {
		req := withContent(instanceGroup("db-agent.service"), service("v1")+"\n[X-Fleet]\nGlobal=true\n")
		b.do(b.controller.Submit, req)
		b.do(b.controller.Start, of("db"))
		began := time.Now()
		require.True(t, b.cluster.KillMachine(fleettest.DefaultMachines(1)[0].ID))
		b.cluster.AddMachine(fourth)
		time.Sleep(2 * time.Second)
		require.NoError(t, b.controller.WaitForStatus(t.Context(), of("db"), nil, controller.StatusRunning))
		assert.GreaterOrEqual(t, time.Since(began), 40*time.Second)
	})
}

// R15: a status that there is not is a mistake, and nothing to wait for.
func TestUnknownStatusR15(t *testing.T) {
	onBench(t, fleettest.Config{}, nil, func(t *testing.T, b *bench) {
		b.do(b.controller.Submit, request("web", 1))
		began := time.Now()
		err := b.controller.WaitForStatus(t.Context(), of("web"), nil, controller.StatusStopped, "runing")
		require.True(t, controller.IsInvalidArgument(err), "%v", err)
		assert.ErrorContains(t, err, "runing")
		assert.Zero(t, time.Since(began))
	})
}

// hangingStart is a client whose Start hangs for as long as it is let.
type hangingStart struct{ *fleet.Client }

func (hangingStart) Start(ctx context.Context, _ string) error {
	<-ctx.Done()
	return ctx.Err()
}

// A write that hangs has a deadline: the operation fails with it, and names the unit.
func TestHangingWriteHasADeadline(t *testing.T) {
	adjust := func(c *controller.Config) {
		c.Fleet, c.WaitTimeout = hangingStart{c.Fleet.(*fleet.Client)}, 20*time.Second
	}
	onBench(t, fleettest.Config{}, adjust, func(t *testing.T, b *bench) {
		req := request("web", 0, "aaa")
		req.Units = req.Units[:1]
		b.do(b.controller.Submit, req)
		began := time.Now()
		err := b.try(b.controller.Start, of("web"))
		require.ErrorIs(t, err, context.DeadlineExceeded)
		assert.ErrorContains(t, err, "start web-app@aaa.service")
		assert.LessOrEqual(t, time.Since(began), 25*time.Second)
	})
}
