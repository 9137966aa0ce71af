package controller_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/squadronctl/squadron/controller"
	"github.com/squadronctl/squadron/fleet"
	"github.com/squadronctl/squadron/fleet/fleettest"
)

// interposed is a client whose stops and reads of contents fail as the test has it, asked one after the other.
type interposed struct {
	fleet.Fleet
	fleet.UnitReader
	fleet.Launcher
	fleet.ContentReader

	mutex      sync.Mutex
	stop, read func(name string) error // nil: they don't fail
}

func (i *interposed) onStop(f func(name string) error) {
	i.mutex.Lock()
	defer i.mutex.Unlock()
	i.stop = f
}

func (i *interposed) onRead(f func(name string) error) {
	i.mutex.Lock()
	defer i.mutex.Unlock()
	i.read = f
}

func (i *interposed) ask(f *func(string) error, name string) error {
	i.mutex.Lock()
	defer i.mutex.Unlock()
	if *f == nil {
		return nil
	}
	return (*f)(name)
}

func (i *interposed) Stop(ctx context.Context, name string) error {
	if err := i.ask(&i.stop, name); err != nil {
		return err
	}
	return i.Fleet.Stop(ctx, name)
}

func (i *interposed) ReadContent(ctx context.Context, name string) (string, error) {
	if err := i.ask(&i.read, name); err != nil {
		return "", err
	}
	return i.ContentReader.ReadContent(ctx, name)
}

// onInterposed is inBubble with an interposed client.
func onInterposed(t *testing.T, size int, behave func(fleettest.Start) fleettest.Behavior, f func(*testing.T, *bench, *interposed)) {
	t.Helper()
	between := &interposed{}
	onBench(t, fleettest.Config{Timing: fleettest.Measured(), Behave: behave}, func(config *controller.Config) {
		between.Fleet, between.UnitReader = config.Fleet, config.Fleet.(fleet.UnitReader)
		between.Launcher, between.ContentReader = config.Fleet.(fleet.Launcher), config.Fleet.(fleet.ContentReader)
		config.Fleet = between
	}, func(t *testing.T, b *bench) {
		b.do(b.controller.Submit, request("web", size))
		b.do(b.controller.Start, of("web"))
		f(t, b, between)
	})
}

var errRefused = errors.New("the backend refuses")

// notNow is an error that a repeat may cure.
type notNow struct{}

func (notNow) Error() string { return "not now" }
func (notNow) Timeout() bool { return true }

// R25: a group that the update was to make larger goes back within the room that the update had.
func TestR25RollbackOfAGroupThatGrew(t *testing.T) {
	inBubble(t, 1, failsFrom(3), func(t *testing.T, b *bench) {
		opts := controller.UpdateOptions{MinAlive: 1, Rollback: true}
		check := newBoundsCheck("web", opts, 3)
		b.replay(check)
		b.cluster.OnChange(check.take)
		check.begin()
		failure := failureOf(t, b.update(v2(3), opts))
		assert.True(t, failure.RolledBack, "%v", failure)
		old, fresh, incomplete := b.sliceContents("web")
		assert.Equal(t, [3]int{1, 0, 0}, [3]int{old, fresh, incomplete})
		assert.Empty(t, check.findings)
	})
}

// R25: what ran comes back before what did not, without which MinAlive would let nothing go.
func TestR25RollbackBringsBackFirstWhatRan(t *testing.T) {
	inBubble(t, 3, failsFrom(3), func(t *testing.T, b *bench) {
		first := b.idsOf("web")[0]
		for _, unit := range []string{"web-app@", "web-log@"} {
			require.NoError(t, b.client.Stop(t.Context(), unit+first+".service"))
		}
		time.Sleep(10 * time.Second)
		before := b.askedFor()
		failure := failureOf(t, b.update(v2(0), controller.UpdateOptions{MinAlive: 2, Rollback: true}))
		assert.True(t, failure.RolledBack, "%v", failure)
		assert.ElementsMatch(t, before, b.askedFor())
	})
}

// R25: each unit is launched where it was, in a slice of which another unit was not.
func TestR25RollbackLaunchesTheUnitsThatWere(t *testing.T) {
	inBubble(t, 2, failsFrom(1), func(t *testing.T, b *bench) {
		require.NoError(t, b.client.Stop(t.Context(), "web-log@"+b.idsOf("web")[0]+".service"))
		time.Sleep(10 * time.Second)
		before := b.askedFor()
		failure := failureOf(t, b.update(v2(0), controller.UpdateOptions{Rollback: true}))
		assert.True(t, failure.RolledBack, "%v", failure)
		assert.ElementsMatch(t, before, b.askedFor())
	})
}

// R25: a slice that could not be stopped is launched again as it was, and need not run if it did not before.
func TestR25RollbackOfASliceThatCouldNotBeStopped(t *testing.T) {
	for _, stopped := range []string{"", "web-log@"} {
		broken := ""
		onInterposed(t, 2, func(start fleettest.Start) fleettest.Behavior {
			return fleettest.Behavior{Fail: start.Name == broken}
		}, func(t *testing.T, b *bench, between *interposed) {
			first := b.idsOf("web")[0]
			broken = "web-app@" + first + ".service"
			b.cluster.FailUnit(broken)
			if stopped != "" {
				require.NoError(t, b.client.Stop(t.Context(), stopped+first+".service"))
			}
			time.Sleep(20 * time.Second)
			before := b.askedFor()
			between.onStop(func(name string) error {
				if strings.Contains(name, "app@"+first) {
					return errRefused
				}
				return nil
			})
			failure := failureOf(t, b.update(v2(0), controller.UpdateOptions{MinAlive: 1, Rollback: true}))
			require.ErrorIs(t, failure, errRefused)
			assert.True(t, failure.RolledBack, "%v", failure)
			assert.ElementsMatch(t, before, b.askedFor())
		})
	}
}

// R25: a way back that fails ends what it has begun: whatever it has taken away gets a successor.
func TestR25RollbackThatFailsLeavesNoGap(t *testing.T) {
	fails, old := failsFrom(3), map[string]bool{}
	onInterposed(t, 4, func(start fleettest.Start) fleettest.Behavior {
		if start.Content == service("v1") {
			old[start.Name] = true
		}
		behavior := fails(start)
		behavior.Fail = behavior.Fail || len(old) == 4+3 && start.Content == service("v1") // the third to come back
		return behavior
	}, func(t *testing.T, b *bench, between *interposed) {
		slow, since := "", time.Time{}
		between.onStop(func(name string) error { // of the new slices, the first to be stopped takes its time
			unit, _ := b.cluster.Unit(name)
			if slow == "" && isV2(unit.Content) {
				slow, since = name, time.Now()
			}
			if name == slow && time.Since(since) < time.Minute {
				return notNow{}
			}
			return nil
		})
		failure := failureOf(t, b.update(v2(0), controller.UpdateOptions{MinAlive: 2, Rollback: true}))
		require.ErrorContains(t, failure.RollbackErr, "slice brought back")
		assert.Len(t, b.idsOf("web"), 4, "%v", failure)
	})
}

// R25: what comes back has the kind of names that it had, also where the update made an instance group of a sliced one,
// or the other way round.
func TestR25RollbackOfAnotherKindOfGroup(t *testing.T) {
	stamped := service("v1") + "\n[X-Squadron]\nGroup=web\n"
	instance := withContent(named("web", "web-app.service"), service("v2"))
	instance.DesiredSlices = 1
	for _, c := range []struct {
		before []string
		req    controller.Request
	}{
		{[]string{"web-app.service"}, v2(1)},
		{[]string{"web-app@a.service", "web-app@b.service"}, instance},
	} {
		inBubble(t, 0, failsFrom(1), func(t *testing.T, b *bench) {
			for _, name := range c.before {
				require.NoError(t, b.cluster.Put(name, stamped, "launched"))
			}
			time.Sleep(time.Minute)
			failure := failureOf(t, b.update(c.req, controller.UpdateOptions{Rollback: true}))
			assert.True(t, failure.RolledBack, "%v", failure)
			names := b.names("web")
			require.Len(t, names, len(c.before))
			assert.Len(t, failure.Old, len(c.before))
			for _, name := range names {
				assert.Equal(t, strings.Contains(c.before[0], "@"), strings.Contains(name, "@"))
				unit, _ := b.cluster.Unit(name)
				assert.Equal(t, stamped, unit.Content)
			}
		})
	}
}

// R25: a slice of which a part was destroyed when the update gave up on it goes, before it comes back whole.
func TestR25RollbackOfASliceThatIsHalfGone(t *testing.T) {
	inBubble(t, 3, nil, func(t *testing.T, b *bench) {
		half := b.idsOf("web")[0]
		b.faults.Set(fleettest.On("DELETE", "/fleet/v1/units/web-log@"+half+".service", fleettest.First(1, fleettest.Fail(400, "not now"))))
		failure := failureOf(t, b.update(v2(0), controller.UpdateOptions{MaxGrowth: 1, MinAlive: 3, Rollback: true}))
		assert.True(t, failure.RolledBack, "%v", failure)
		old, fresh, incomplete := b.sliceContents("web")
		assert.Equal(t, [3]int{3, 0, 0}, [3]int{old, fresh, incomplete})
		assert.NotContains(t, b.idsOf("web"), half)
	})
}

// R25: once a slice has failed, nothing more is made of the new content, also not in the place of an old slice that has gone
// already: its old content takes it.
func TestR25NothingNewBeforeTheRollback(t *testing.T) {
	inBubble(t, 4, failsFrom(1), func(t *testing.T, b *bench) {
		var events []controller.UpdateEvent
		opts := controller.UpdateOptions{MinAlive: 1, Rollback: true, Progress: recordTo(&events)}
		failure := failureOf(t, b.update(v2(0), opts))
		assert.True(t, failure.RolledBack, "%v", failure)
		failed := false
		for _, event := range events {
			failed = failed || event.Phase == controller.PhaseFailed
			if event.Phase == controller.PhaseRollingBack {
				break
			}
			assert.False(t, failed && event.Phase == controller.PhaseSubmitting, "%v", event)
		}
		assert.True(t, failed)
	})
}
