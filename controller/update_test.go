package controller_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/squadronctl/squadron/controller"
	"github.com/squadronctl/squadron/fleet/fleettest"
	"github.com/squadronctl/squadron/task"
)

// inBubble runs a test on a cluster that is as slow as a real one, with slices of the group web that run.
func inBubble(t *testing.T, slices int, behave func(fleettest.Start) fleettest.Behavior, f func(*testing.T, *bench)) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, fleettest.Config{Timing: fleettest.Measured(), Behave: behave})
		defer b.close()
		if slices > 0 {
			b.do(b.controller.Submit, request("web", slices))
			b.do(b.controller.Start, of("web"))
		}
		f(t, b)
	})
}

// v2 is the request that an update of web is asked for.
func v2(desired int, ids ...string) controller.Request {
	return withVersion(request("web", desired, ids...), "v2")
}

func isV2(content string) bool { return strings.Contains(content, "/bin/serve v2") }

// sliceIDs gives the IDs of web's slices, sorted.
func (b *bench) sliceIDs() []string {
	extended, err := b.controller.ExtendWithExistingSliceIDs(of("web"))
	require.NoError(b.t, err)
	return extended.SliceIDs
}

func TestR21OnlyWhatDiffersIsReplaced(t *testing.T) {
	inBubble(t, 3, nil, func(t *testing.T, b *bench) {
		before := b.sliceIDs()
		require.NoError(t, b.update(v2(0, before[1]), controller.UpdateOptions{MaxGrowth: 1, MinAlive: 2}))
		after := b.sliceIDs()
		assert.Len(t, after, 3)
		assert.Subset(t, after, []string{before[0], before[2]})
		assert.NotContains(t, after, before[1])
		old, fresh, incomplete := b.sliceContents("web")
		assert.Equal(t, [3]int{2, 1, 0}, [3]int{old, fresh, incomplete})

		// The whole group again: the slice that is new stays.
		require.NoError(t, b.update(v2(0), controller.UpdateOptions{MaxGrowth: 1, MinAlive: 2}))
		kept := slices.DeleteFunc(after, func(id string) bool { return slices.Contains(before, id) })
		assert.Subset(t, b.sliceIDs(), kept)
		assert.True(t, controller.IsUnitsAlreadyUpToDate(b.update(v2(0), controller.UpdateOptions{})))
	})
}

func TestR21NumberOfSlices(t *testing.T) {
	for _, c := range []struct {
		name           string
		found, desired int
		opts           controller.UpdateOptions
	}{
		{"more, one ahead", 2, 4, controller.UpdateOptions{MaxGrowth: 1, MinAlive: 2}},
		{"more, in place", 2, 4, controller.UpdateOptions{MinAlive: 1}},
		{"fewer, one ahead", 5, 3, controller.UpdateOptions{MaxGrowth: 1, MinAlive: 3}},
		{"fewer, and no room but the one there was", 5, 4, controller.UpdateOptions{MinAlive: 4}},
		{"all at once", 3, 3, controller.UpdateOptions{}},
		{"from nothing", 0, 2, controller.UpdateOptions{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			inBubble(t, c.found, nil, func(t *testing.T, b *bench) {
				require.NoError(t, b.update(v2(c.desired), c.opts))
				old, fresh, incomplete := b.sliceContents("web")
				assert.Equal(t, [3]int{0, c.desired, 0}, [3]int{old, fresh, incomplete})
			})
		})
	}
}

// Slices of the right content count towards the number wanted, and what is too many of them goes.
func TestR21SurplusOfNewSlices(t *testing.T) {
	inBubble(t, 4, nil, func(t *testing.T, b *bench) {
		before := b.sliceIDs()
		require.NoError(t, b.update(request("web", 2), controller.UpdateOptions{MinAlive: 2}))
		assert.Len(t, b.sliceIDs(), 2)
		assert.Subset(t, before, b.sliceIDs())
	})
}

func TestR21NamedAndMissingSlicesAreMade(t *testing.T) {
	inBubble(t, 1, nil, func(t *testing.T, b *bench) {
		id := b.sliceIDs()[0]
		require.NoError(t, b.update(v2(0, id, "blue", "green"), controller.UpdateOptions{}))
		assert.Len(t, b.sliceIDs(), 3)
		assert.Subset(t, b.sliceIDs(), []string{"blue", "green"})
	})
}

func TestR21NotFound(t *testing.T) {
	inBubble(t, 2, nil, func(t *testing.T, b *bench) {
		assert.True(t, controller.IsUnitNotFound(b.update(withVersion(request("other", 0), "v2"), controller.UpdateOptions{})))
		err := b.update(v2(0, "nosuch"), controller.UpdateOptions{})
		assert.True(t, controller.IsUnitSliceNotFound(err), "%v", err)
		old, fresh, _ := b.sliceContents("web")
		assert.Equal(t, [2]int{2, 0}, [2]int{old, fresh})
	})
}

// A slice that is right but not launched, as a killed update leaves one, is launched and no other made for it.
func TestR21LoadedSliceIsLaunched(t *testing.T) {
	inBubble(t, 0, nil, func(t *testing.T, b *bench) {
		b.do(b.controller.Submit, request("web", 2))
		before := b.sliceIDs()
		require.NoError(t, b.update(request("web", 0), controller.UpdateOptions{}))
		assert.Equal(t, before, b.sliceIDs())
		for _, line := range b.states("web") {
			assert.Contains(t, line, "launched active/running")
		}
	})
}

func TestR21MissingAndForeignUnits(t *testing.T) {
	inBubble(t, 2, nil, func(t *testing.T, b *bench) {
		ids := b.sliceIDs()
		require.True(t, b.cluster.Remove("web-log@"+ids[0]+".service"))
		require.NoError(t, b.cluster.Put("web-extra@"+ids[1]+".service", service("extra"), "launched"))
		require.NoError(t, b.update(request("web", 0), controller.UpdateOptions{MinAlive: 1}))
		assert.NotContains(t, b.sliceIDs(), ids[0], "a slice that lacks a unit is replaced")
		assert.Contains(t, b.names("web"), "web-extra@"+ids[1]+".service", "a unit without stamp is never touched")
		assert.Contains(t, b.names("web"), "web-app@"+ids[1]+".service")
	})
}

func TestR21StampedUnitThatIsGoneFromTheRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, fleettest.Config{Timing: fleettest.Measured()}, func(c *controller.Config) { c.Stamp = true })
		defer b.close()
		b.do(b.controller.Submit, request("web", 2))
		b.do(b.controller.Start, of("web"))
		reduced := request("web", 0)
		reduced.Units = reduced.Units[:1]
		_, needed, err := b.controller.GroupNeedsUpdate(t.Context(), reduced)
		require.NoError(t, err)
		assert.True(t, needed)
		require.NoError(t, b.update(reduced, controller.UpdateOptions{MaxGrowth: 1, MinAlive: 2}))
		assert.Empty(t, b.names("web-log"))
		assert.Len(t, b.names("web-app"), 2)
	})
}

func TestUpdateRefusals(t *testing.T) {
	instance := controller.NewRequest(controller.RequestConfig{Group: "db"})
	instance.Units = []controller.Unit{{Name: "db-main.service", Content: service("v2")}}
	for _, c := range []struct {
		name string
		req  controller.Request
		opts controller.UpdateOptions
		says string
	}{
		{"growth below 0", v2(0), controller.UpdateOptions{MaxGrowth: -1}, "MaxGrowth is -1"},
		{"alive below 0", v2(0), controller.UpdateOptions{MinAlive: -1}, "MinAlive is -1"},
		{"ready below 0", v2(0), controller.UpdateOptions{ReadySecs: -1}, "ReadySecs is -1"},
		{"more alive than run", v2(0), controller.UpdateOptions{MinAlive: 4, MaxGrowth: 1}, "only 3 slices run now"},
		{"more alive than wanted", v2(2), controller.UpdateOptions{MinAlive: 3, MaxGrowth: 1}, "only 2 slices are wanted"},
		{"no room at all", v2(0), controller.UpdateOptions{MinAlive: 3}, "no slice could go"},
		{"an instance group can't grow", instance, controller.UpdateOptions{MaxGrowth: 1}, "without slices"},
		{"an instance group can't stay alive", instance, controller.UpdateOptions{MinAlive: 1}, "no slice could go"},
		{"fewer than may be removed", v2(1, "aaa"), controller.UpdateOptions{}, "not among the SliceIDs"},
	} {
		t.Run(c.name, func(t *testing.T) {
			inBubble(t, 0, nil, func(t *testing.T, b *bench) {
				b.do(b.controller.Submit, request("web", 0, "aaa", "bbb", "ccc"))
				b.do(b.controller.Start, of("web"))
				submitted := instance
				submitted.Units = []controller.Unit{{Name: "db-main.service", Content: service("v1")}}
				submitted.DesiredSlices = 1
				b.do(b.controller.Submit, submitted)
				b.do(b.controller.Start, of("db"))
				before := b.desires("")
				created, err := b.controller.Update(t.Context(), c.req, c.opts)
				require.True(t, controller.IsUpdateNotAllowed(err), "%v", err)
				assert.ErrorContains(t, err, c.says)
				assert.Nil(t, created)
				assert.Equal(t, before, b.desires(""))
			})
		})
	}
}

func TestR26InstanceGroupInPlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, fleettest.Config{Timing: fleettest.Measured()})
		defer b.close()
		req := controller.NewRequest(controller.RequestConfig{Group: "db"})
		req.Units = []controller.Unit{{Name: "db-main.service", Content: service("v1")}, {Name: "db-log.service", Content: service("log")}}
		req.DesiredSlices = 1
		b.do(b.controller.Submit, req)
		b.do(b.controller.Start, of("db"))
		require.NoError(t, b.update(withVersion(req, "v2"), controller.UpdateOptions{}))
		unit, ok := b.cluster.Unit("db-main.service")
		require.True(t, ok)
		assert.Contains(t, unit.Content, "/bin/serve v2")
		assert.Equal(t, []string{"db-log.service launched active/running", "db-main.service launched active/running"}, b.states("db"))
		assert.True(t, controller.IsUnitsAlreadyUpToDate(b.update(withVersion(req, "v2"), controller.UpdateOptions{})))
	})
}

// C12: the new content fails at once.
func TestC12FailingContent(t *testing.T) {
	behave := func(s fleettest.Start) fleettest.Behavior { return fleettest.Behavior{Fail: isV2(s.Content)} }
	inBubble(t, 3, behave, func(t *testing.T, b *bench) {
		before := b.sliceIDs()
		var stopped []string
		b.cluster.OnChange(func(change fleettest.Change) {
			if slices.ContainsFunc(before, func(id string) bool { return strings.Contains(change.Unit, "@"+id) }) {
				stopped = append(stopped, change.Unit)
			}
		})
		began := time.Now()
		err := b.update(v2(0), controller.UpdateOptions{MaxGrowth: 1, MinAlive: 3})
		require.True(t, controller.IsUpdateFailed(err), "%v", err)
		assert.True(t, controller.IsUnitFailed(err))
		assert.Less(t, time.Since(began), time.Minute, "well before WaitTimeout")
		assert.Empty(t, stopped)
		assert.Equal(t, before, b.sliceIDs(), "the failed slice is gone, the old ones are there")
		assert.ErrorContains(t, err, "old slices: "+strings.Join(before, ", "))
	})
}

// C13: a new slice takes ten times ReadySecs to run.
func TestC13SlowStart(t *testing.T) {
	behave := func(s fleettest.Start) fleettest.Behavior {
		if isV2(s.Content) {
			return fleettest.Behavior{StartDelay: 50 * time.Second}
		}
		return fleettest.Behavior{}
	}
	inBubble(t, 3, behave, func(t *testing.T, b *bench) {
		opts := controller.UpdateOptions{MaxGrowth: 1, MinAlive: 3, ReadySecs: 5}
		check := newBoundsCheck("web", opts, 0)
		var ran, stopped time.Time
		b.cluster.Advance()
		b.replay(check)
		b.cluster.OnChange(func(change fleettest.Change) {
			check.take(change)
			if change.Active == "active" && ran.IsZero() {
				ran = change.Time
			}
			if change.Kind == fleettest.DesiredChanged && stopped.IsZero() {
				stopped = change.Time
			}
		})
		check.begin()
		require.NoError(t, b.update(v2(0), opts))
		assert.Empty(t, check.findings)
		// The helper unit runs first; the slow one 50 s later, then WaitCount looks and ReadySecs follow.
		assert.Greater(t, stopped.Sub(ran), 50*time.Second+5*time.Second)
		assert.Equal(t, 3, check.minimum)
	})
}

// replay tells a check of what is there already.
func (b *bench) replay(check *boundsCheck) {
	for _, unit := range b.cluster.Units() {
		check.take(fleettest.Change{Kind: fleettest.Created, Unit: unit.Name, Desired: unit.Desired})
		for _, loaded := range unit.On {
			check.take(fleettest.Change{Kind: fleettest.SystemdChanged, Unit: unit.Name, Machine: loaded.Machine, Active: loaded.Active, Desired: unit.Desired})
		}
	}
}

// C14: a machine is lost in the middle of an update, and later comes back or not.
func TestC14MachineLoss(t *testing.T) {
	for _, machines := range []int{4, 1} {
		synctest.Test(t, func(t *testing.T) {
			b := newBench(t, fleettest.Config{Timing: fleettest.Measured(), Machines: fleettest.DefaultMachines(machines)})
			defer b.close()
			b.do(b.controller.Submit, request("web", 4))
			b.do(b.controller.Start, of("web"))
			opts := controller.UpdateOptions{MaxGrowth: 2, MinAlive: 4}
			check := newBoundsCheck("web", opts, 0)
			b.replay(check)
			b.cluster.OnChange(check.take)
			check.begin()
			id := fleettest.DefaultMachines(machines)[0].ID
			defer in(8*time.Second, func() { b.cluster.KillMachine(id) })()
			err := b.update(v2(0), opts)
			assert.Empty(t, check.findings)
			old, fresh, incomplete := b.sliceContents("web")
			if machines == 1 { // nothing is left to run on
				require.True(t, controller.IsUpdateFailed(err), "%v", err)
				assert.True(t, controller.IsWaitTimeoutReached(err))
				return
			}
			require.NoError(t, err)
			assert.Equal(t, [3]int{0, 4, 0}, [3]int{old, fresh, incomplete})
		})
	}
}

// C19: the process is killed at any moment, and the same request comes again from another one.
func TestC19KilledAndAskedAgain(t *testing.T) {
	for _, opts := range []controller.UpdateOptions{{MaxGrowth: 1, MinAlive: 2}, {MinAlive: 2}, {}} {
		for killed := time.Duration(0); killed < 45*time.Second; killed += 2300 * time.Millisecond {
			inBubble(t, 3, nil, func(t *testing.T, b *bench) {
				_, err := b.controller.Update(t.Context(), v2(3), opts)
				require.NoError(t, err)
				time.Sleep(killed)
				b.kill()
				err = b.update(v2(3), opts)
				if err != nil && !controller.IsUnitsAlreadyUpToDate(err) {
					require.NoError(t, err, "killed after %v, %+v, %v", killed, opts, b.states("web"))
				}
				old, fresh, incomplete := b.sliceContents("web")
				require.Equal(t, [3]int{0, 3, 0}, [3]int{old, fresh, incomplete}, "killed after %v, %+v", killed, opts)
			})
		}
	}
}

// kill cuts all tasks off at their next request, much as the end of their process would, and goes on with a new service
// and a new controller, which know nothing of the old ones.
func (b *bench) kill() {
	require.NoError(b.t, b.tasks.(task.Shutdowner).Shutdown(b.t.Context()))
	b.tasks = task.NewTaskService(task.DefaultConfig())
	b.controller = b.newController()
}

func TestR6CancelledUpdateEndsWhatIsUnderWay(t *testing.T) {
	for _, opts := range []controller.UpdateOptions{{MaxGrowth: 1, MinAlive: 2}, {MinAlive: 2}, {}} {
		for after := time.Duration(0); after < 40*time.Second; after += 3700 * time.Millisecond {
			inBubble(t, 3, nil, func(t *testing.T, b *bench) {
				check := newBoundsCheck("web", opts, 0)
				b.replay(check)
				b.cluster.OnChange(check.take)
				check.begin()
				created, err := b.controller.Update(t.Context(), v2(0), opts)
				require.NoError(t, err)
				time.Sleep(after)
				require.NoError(t, b.tasks.(task.Canceler).Cancel(t.Context(), created.ID))
				final, err := b.controller.WaitForTask(t.Context(), created.ID, nil)
				require.NoError(t, err)
				old, fresh, incomplete := b.sliceContents("web")
				assert.Equal(t, 3, old+fresh, "after %v, %+v: %v", after, opts, final.Error)
				assert.Zero(t, incomplete)
				assert.Empty(t, check.findings)
				if final.Error != nil {
					assert.True(t, controller.IsUpdateFailed(final.Error), "%v", final.Error)
					assert.ErrorIs(t, final.Error, context.Canceled)
				} else {
					assert.Equal(t, 3, fresh)
				}
			})
		}
	}
}

func TestR6ShutdownDoesNotWaitForAnUpdate(t *testing.T) {
	inBubble(t, 3, nil, func(t *testing.T, b *bench) {
		created, err := b.controller.Update(t.Context(), v2(0), controller.UpdateOptions{MaxGrowth: 1, MinAlive: 2})
		require.NoError(t, err)
		time.Sleep(time.Second)
		began := time.Now()
		require.NoError(t, b.tasks.(task.Shutdowner).Shutdown(t.Context()))
		assert.Zero(t, time.Since(began))
		final, err := b.tasks.FetchState(t.Context(), created.ID)
		require.NoError(t, err)
		assert.True(t, controller.IsUpdateFailed(final.Error))
		assert.ErrorIs(t, final.Error, context.Canceled)
	})
}

func TestR43OneUpdateAtATime(t *testing.T) {
	inBubble(t, 2, nil, func(t *testing.T, b *bench) {
		opts := controller.UpdateOptions{MaxGrowth: 1, MinAlive: 2}
		created, err := b.controller.Update(t.Context(), v2(0), opts)
		require.NoError(t, err)
		_, err = b.controller.Update(t.Context(), v2(0), opts)
		assert.True(t, controller.IsGroupBusy(err))
		assert.True(t, controller.IsUpdateNotAllowed(err))
		assert.ErrorContains(t, err, created.ID)
		for _, op := range []operation{b.controller.Start, b.controller.Stop, b.controller.Destroy} {
			_, err := op(t.Context(), of("web"))
			assert.True(t, controller.IsGroupBusy(err))
			assert.ErrorContains(t, err, created.ID)
		}
		_, err = b.controller.Submit(t.Context(), request("web", 1))
		assert.True(t, controller.IsGroupBusy(err))
		_, err = b.controller.GetStatus(t.Context(), of("web"))
		assert.NoError(t, err, "looking is no change")
		require.NoError(t, b.outcome(created, nil))
		b.do(b.controller.Stop, of("web"))
	})
}

// A look that fails for a while ends nothing (R18); one that fails for good ends the update with a word about it.
func TestR18UpdateOutlastsTemporaryErrors(t *testing.T) {
	inBubble(t, 2, nil, func(t *testing.T, b *bench) {
		opts := controller.UpdateOptions{MaxGrowth: 1, MinAlive: 2}
		created, err := b.controller.Update(t.Context(), v2(0), opts)
		require.NoError(t, err)
		time.Sleep(2 * time.Second)
		b.faults.Set(fleettest.Always(fleettest.Fail(500, "")))
		time.Sleep(2 * time.Minute)
		b.faults.Set()
		require.NoError(t, b.outcome(created, nil))

		created, err = b.controller.Update(t.Context(), withVersion(request("web", 0), "v3"), opts)
		require.NoError(t, err)
		time.Sleep(2 * time.Second)
		b.faults.Set(fleettest.Always(fleettest.Fail(500, "")))
		err = b.outcome(created, nil)
		assert.True(t, controller.IsUpdateFailed(err), "%v", err)
		assert.True(t, controller.IsWaitTimeoutReached(err), "%v", err)
		b.faults.Set()
	})
}

// A new slice whose writes fail is taken back, and the error says why.
func TestR25FailedWritesAreTakenBack(t *testing.T) {
	inBubble(t, 2, nil, func(t *testing.T, b *bench) {
		before := b.sliceIDs()
		b.faults.Set(fleettest.On("PUT", "/units/web-log@", fleettest.Always(fleettest.Fail(400, "no such thing"))))
		err := b.update(v2(0), controller.UpdateOptions{MaxGrowth: 1, MinAlive: 2})
		require.True(t, controller.IsUpdateFailed(err), "%v", err)
		assert.ErrorContains(t, err, "no such thing")
		assert.Equal(t, before, b.sliceIDs())
	})
}

func TestR24NewSlicesInOneWriteAUnit(t *testing.T) {
	inBubble(t, 4, nil, func(t *testing.T, b *bench) {
		b.cluster.ResetCounts()
		require.NoError(t, b.update(v2(0), controller.UpdateOptions{MaxGrowth: 2, MinAlive: 4}))
		counts := b.cluster.Counts()
		assert.Equal(t, 2*4*2, counts.Puts, "a launch for each new unit, a stop for each old one")
		assert.Equal(t, 4*2, counts.Deletes)
	})
}

func TestUpdateRefusedByTheCluster(t *testing.T) {
	inBubble(t, 1, nil, func(t *testing.T, b *bench) {
		b.faults.Set(fleettest.Always(fleettest.Fail(400, "not you")))
		_, err := b.controller.Update(t.Context(), v2(0), controller.UpdateOptions{})
		require.Error(t, err)
		assert.False(t, controller.IsUpdateFailed(err), "nothing has begun")
		b.faults.Set()
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err = b.controller.Update(ctx, v2(0), controller.UpdateOptions{})
		assert.True(t, errors.Is(err, context.Canceled))
		require.NoError(t, b.update(v2(0), controller.UpdateOptions{}), "a refused update leaves the group free")
	})
}

// What the options mean (spec/controller.md): how few slices run, and how many there are, at the extremes.
func TestStrategiesReachTheirExtremes(t *testing.T) {
	for _, c := range []struct {
		name           string
		opts           controller.UpdateOptions
		fewest, widest int
	}{
		{"one ahead", controller.UpdateOptions{MaxGrowth: 1, MinAlive: 2}, 3, 4},
		{"one ahead, though MinAlive would not ask for it", controller.UpdateOptions{MaxGrowth: 1}, 3, 4},
		{"hot swap", controller.UpdateOptions{MaxGrowth: 3, MinAlive: 3}, 3, 6},
		{"one by one in place", controller.UpdateOptions{MinAlive: 2}, 2, 3},
		{"all at once", controller.UpdateOptions{}, 0, 3},
	} {
		t.Run(c.name, func(t *testing.T) {
			inBubble(t, 3, nil, func(t *testing.T, b *bench) {
				check := newBoundsCheck("web", c.opts, 0)
				b.replay(check)
				b.cluster.OnChange(check.take)
				check.begin()
				require.NoError(t, b.update(v2(0), c.opts))
				assert.Empty(t, check.findings)
				assert.Equal(t, c.fewest, check.minimum, "slices running")
				assert.Equal(t, c.widest, check.greatest, "slices existing")
			})
		})
	}
}

// An old slice is stopped before it is destroyed, so that it can end in peace.
func TestSlicesAreStoppedBeforeTheyAreDestroyed(t *testing.T) {
	inBubble(t, 2, nil, func(t *testing.T, b *bench) {
		active := map[string]string{}
		b.cluster.OnChange(func(change fleettest.Change) {
			switch change.Kind {
			case fleettest.SystemdChanged:
				active[change.Unit] = change.Active
			case fleettest.Destroyed:
				assert.Equal(t, "inactive", active[change.Unit], change.Unit)
			}
		})
		require.NoError(t, b.update(v2(0), controller.UpdateOptions{MaxGrowth: 1, MinAlive: 2}))
		assert.NotEmpty(t, active)
	})
}

// R25: a failed new slice that could not be destroyed at first is tried again at the end.
func TestR25FailedSliceIsTriedAgain(t *testing.T) {
	behave := func(s fleettest.Start) fleettest.Behavior { return fleettest.Behavior{Fail: isV2(s.Content)} }
	inBubble(t, 2, behave, func(t *testing.T, b *bench) {
		before := b.sliceIDs()
		b.faults.Set(fleettest.On("DELETE", "/units/web-app@", fleettest.First(1, fleettest.Fail(400, "not now"))))
		err := b.update(v2(0), controller.UpdateOptions{MaxGrowth: 1, MinAlive: 2})
		require.True(t, controller.IsUpdateFailed(err), "%v", err)
		assert.Equal(t, before, b.sliceIDs())
	})
}
