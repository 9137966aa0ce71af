package controller_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/squadronctl/squadron/controller"
	"github.com/squadronctl/squadron/fleet"
	"github.com/squadronctl/squadron/fleet/fleettest"
	"github.com/squadronctl/squadron/task"
)

// failsFrom makes the nth new slice that starts, and all after it, fail; its restarts count as the same.
func failsFrom(n int) func(fleettest.Start) fleettest.Behavior {
	turns := map[string]int{}
	return func(start fleettest.Start) fleettest.Behavior {
		if !isV2(start.Content) {
			return fleettest.Behavior{}
		}
		if _, known := turns[start.Name]; !known {
			turns[start.Name] = len(turns) + 1
		}
		return fleettest.Behavior{Fail: turns[start.Name] >= n}
	}
}

func failureOf(t *testing.T, err error) *controller.UpdateFailure {
	t.Helper()
	require.True(t, controller.IsUpdateFailed(err), "%v", err)
	var failure *controller.UpdateFailure
	require.ErrorAs(t, err, &failure)
	return failure
}

// R25: whatever the strategy and however far the update got, the old content comes back under the same bounds.
func TestR25Rollback(t *testing.T) {
	for _, opts := range []controller.UpdateOptions{{MaxGrowth: 1, MinAlive: 3}, {MinAlive: 2}, {}, {MaxGrowth: 3, MinAlive: 3}, {MaxGrowth: 2, MinAlive: 1}} {
		for nth := 1; nth <= 3; nth++ {
			inBubble(t, 3, failsFrom(nth), func(t *testing.T, b *bench) {
				opts.Rollback = true
				check := newBoundsCheck("web", opts, 0)
				b.replay(check)
				b.cluster.OnChange(check.take)
				check.begin()
				failure := failureOf(t, b.update(v2(0), opts))
				assert.True(t, failure.RolledBack, "%v", failure)
				assert.True(t, controller.IsUnitFailed(failure))
				assert.Contains(t, failure.Error(), "rolled back: the old content is back")
				old, fresh, incomplete := b.sliceContents("web")
				assert.Equal(t, [3]int{3, 0, 0}, [3]int{old, fresh, incomplete}, "%+v, fails from %d", opts, nth)
				assert.Equal(t, b.idsOf("web"), failure.Old)
				assert.Empty(t, failure.New)
				assert.Empty(t, check.findings)
				require.NoError(t, b.controller.WaitForStatus(t.Context(), of("web"), nil, controller.StatusRunning))
			})
		}
	}
}

// Without Rollback what is new stays.
func TestR25NoRollbackUnlessAskedFor(t *testing.T) {
	inBubble(t, 3, failsFrom(2), func(t *testing.T, b *bench) {
		failure := failureOf(t, b.update(v2(0), controller.UpdateOptions{MaxGrowth: 1, MinAlive: 3}))
		assert.False(t, failure.RolledBack)
		require.NoError(t, failure.RollbackErr)
		old, fresh, incomplete := b.sliceContents("web")
		assert.Equal(t, [3]int{2, 1, 0}, [3]int{old, fresh, incomplete})
		assert.Len(t, failure.New, 1)
		assert.Len(t, failure.Old, 2)
	})
}

// What comes back is what was there: slices of several old contents, one that was stopped and one that had failed, which
// don't have to run for the rollback to have succeeded.
func TestR25RollbackRestoresEachSliceAsItWas(t *testing.T) {
	inBubble(t, 5, func(start fleettest.Start) fleettest.Behavior {
		return fleettest.Behavior{Fail: start.Content == service("v0") || isV2(start.Content)}
	}, func(t *testing.T, b *bench) {
		ids := b.idsOf("web")
		require.NoError(t, b.cluster.Put("web-app@"+ids[0]+".service", service("v0"), "launched")) // fails
		require.NoError(t, b.cluster.Put("web-app@"+ids[1]+".service", service("v1b"), "launched"))
		require.NoError(t, b.client.Stop(t.Context(), "web-app@"+ids[2]+".service"))
		require.NoError(t, b.client.Stop(t.Context(), "web-log@"+ids[2]+".service"))
		time.Sleep(time.Minute)
		before := b.askedFor()

		failure := failureOf(t, b.update(v2(0), controller.UpdateOptions{Rollback: true}))
		assert.True(t, failure.RolledBack, "%v", failure)
		assert.ElementsMatch(t, before, b.askedFor())
	})
}

// askedFor gives of each unit of web, without its slice, its content and desired state.
func (b *bench) askedFor() []string {
	var all []string
	for _, unit := range b.cluster.Units() {
		all = append(all, unit.Name[:len("web-app")]+" "+unit.Content+" "+unit.Desired)
	}
	return all
}

// R26: the only slice of an instance group gets its old content back in place.
func TestR26InstanceGroupRollsBackInPlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, fleettest.Config{Timing: fleettest.Measured(), Behave: failsFrom(1)})
		defer b.close()
		req := controller.NewRequest(controller.RequestConfig{Group: "db"})
		req.DesiredSlices = 1
		req.Units = []controller.Unit{{Name: "db-main.service", Content: service("v1")}, {Name: "db-log.service", Content: service("log")}}
		b.do(b.controller.Submit, req)
		b.do(b.controller.Start, of("db"))
		req.DesiredSlices = 0
		failure := failureOf(t, b.update(withVersion(req, "v2"), controller.UpdateOptions{Rollback: true}))
		assert.True(t, failure.RolledBack, "%v", failure)
		assert.Equal(t, []string{""}, failure.Old)
		assert.Equal(t, []string{"db-log.service", "db-main.service"}, b.names("db"))
		unit, _ := b.cluster.Unit("db-main.service")
		assert.Equal(t, service("v1"), unit.Content)
		require.NoError(t, b.controller.WaitForStatus(t.Context(), of("db"), nil, controller.StatusRunning))
	})
}

// A rollback that fails too says so, and names the units of both contents.
func TestR25RollbackThatFails(t *testing.T) {
	broken := false
	inBubble(t, 3, func(start fleettest.Start) fleettest.Behavior {
		return fleettest.Behavior{Fail: broken && !isV2(start.Content), FailAfter: map[bool]time.Duration{true: 20 * time.Second}[isV2(start.Content)]}
	}, func(t *testing.T, b *bench) {
		broken = true // the old content no longer starts
		failure := failureOf(t, b.update(v2(0), controller.UpdateOptions{MaxGrowth: 0, MinAlive: 2, ReadySecs: 40, Rollback: true}))
		assert.False(t, failure.RolledBack)
		require.Error(t, failure.RollbackErr)
		assert.Contains(t, failure.Error(), "rolling back failed too: slice brought back")
		for id, content := range b.contentBySlice("web") {
			assert.Equal(t, "v1", content)
			assert.Contains(t, failure.Old, id)
			assert.Contains(t, failure.Error(), "web-app@"+id+".service")
		}
	})
}

// A cancelled update is not rolled back, and a cancelled rollback takes up nothing new.
func TestR6CancelAndRollback(t *testing.T) {
	inBubble(t, 3, nil, func(t *testing.T, b *bench) {
		created, err := b.controller.Update(t.Context(), v2(0), controller.UpdateOptions{MaxGrowth: 1, MinAlive: 3, Rollback: true})
		require.NoError(t, err)
		time.Sleep(3 * time.Second)
		require.NoError(t, b.tasks.(task.Canceler).Cancel(t.Context(), created.ID))
		failure := failureOf(t, b.outcome(created, nil))
		assert.False(t, failure.RolledBack)
		require.NoError(t, failure.RollbackErr)
		assert.Len(t, failure.New, 1)
	})
	inBubble(t, 4, failsFrom(4), func(t *testing.T, b *bench) {
		rollingBack := make(chan struct{})
		opts := controller.UpdateOptions{MaxGrowth: 1, MinAlive: 4, Rollback: true, Progress: func(event controller.UpdateEvent) {
			if event.Phase == controller.PhaseRollingBack {
				close(rollingBack)
			}
		}}
		created, err := b.controller.Update(t.Context(), v2(0), opts)
		require.NoError(t, err)
		<-rollingBack
		require.NoError(t, b.tasks.(task.Canceler).Cancel(t.Context(), created.ID))
		failure := failureOf(t, b.outcome(created, nil))
		assert.False(t, failure.RolledBack)
		require.ErrorIs(t, failure.RollbackErr, context.Canceled)
		assert.Len(t, failure.New, 3)
	})
}

// contentless is a backend that can't read contents back.
type contentless struct{ fleet.Fleet }

func TestR25RollbackNeedsContents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, fleettest.Config{}, func(config *controller.Config) { config.Fleet = contentless{config.Fleet} })
		defer b.close()
		b.do(b.controller.Submit, request("web", 2))
		b.do(b.controller.Start, of("web"))
		err := b.update(v2(0), controller.UpdateOptions{Rollback: true})
		require.True(t, controller.IsUpdateNotAllowed(err), "%v", err)
		assert.ErrorContains(t, err, "can't read back")
	})
}

// unreadable is a backend whose contents can't be read just now.
type unreadable struct {
	fleet.Fleet
	fleet.UnitReader
	fleet.Launcher
}

var errUnreadable = errors.New("nobody may read this")

func (unreadable) ReadContent(context.Context, string) (string, error) { return "", errUnreadable }

// R25: the content is read before anything is removed.
func TestR25NothingGoesBeforeItsContentIsKnown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, fleettest.Config{}, func(config *controller.Config) {
			config.Fleet = unreadable{config.Fleet, config.Fleet.(fleet.UnitReader), config.Fleet.(fleet.Launcher)}
		})
		defer b.close()
		b.do(b.controller.Submit, request("web", 2))
		b.do(b.controller.Start, of("web"))
		before := b.desires("web")
		err := b.update(v2(0), controller.UpdateOptions{Rollback: true})
		require.ErrorIs(t, err, errUnreadable)
		assert.False(t, controller.IsUpdateFailed(err))
		assert.Equal(t, before, b.desires("web"))
	})
}
