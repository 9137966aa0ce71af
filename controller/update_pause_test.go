package controller_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/squadronctl/squadron/controller"
	"github.com/squadronctl/squadron/fleet/fleettest"
	"github.com/squadronctl/squadron/task"
)

// R41: a paused update takes up no new slice, for however long; what is under way ends; and it goes on when resumed.
func TestR41PauseAndResume(t *testing.T) {
	for _, opts := range []controller.UpdateOptions{{MaxGrowth: 1, MinAlive: 4}, {MinAlive: 2}, {MaxGrowth: 2, MinAlive: 2, Rollback: true}} {
		for after := time.Duration(0); after < 20*time.Second; after += 4900 * time.Millisecond {
			inBubble(t, 4, nil, func(t *testing.T, b *bench) {
				check := newBoundsCheck("web", opts, 0)
				b.replay(check)
				b.cluster.OnChange(check.take)
				check.begin()
				created, err := b.controller.Update(t.Context(), v2(0), opts)
				require.NoError(t, err)
				pauser := b.controller.(controller.Pauser)
				time.Sleep(after)
				require.NoError(t, pauser.Pause(t.Context(), created.ID))
				time.Sleep(4 * time.Minute) // what is under way has ended
				paused := b.desires("web")
				old, fresh, incomplete := b.sliceContents("web")
				assert.Zero(t, incomplete)
				assert.GreaterOrEqual(t, old+fresh, 4, "a slice that was taken away has its successor")
				time.Sleep(15 * time.Minute) // longer than any time limit
				assert.Equal(t, paused, b.desires("web"))
				running, err := b.tasks.FetchState(t.Context(), created.ID)
				require.NoError(t, err)
				if task.HasFinalStatus(running) { // all that was left to do was under way
					assert.Equal(t, 4, fresh)
					assert.Zero(t, old)
				} else {
					require.NoError(t, pauser.Resume(t.Context(), created.ID))
				}
				require.NoError(t, b.outcome(created, nil))
				old, fresh, incomplete = b.sliceContents("web")
				assert.Equal(t, [3]int{0, 4, 0}, [3]int{old, fresh, incomplete})
				assert.Empty(t, check.findings)
			})
		}
	}
}

// Whoever pauses because the new slices look bad keeps the old ones, though the new ones become ready meanwhile.
func TestPauseKeepsWhatRuns(t *testing.T) {
	inBubble(t, 3, nil, func(t *testing.T, b *bench) {
		created, err := b.controller.Update(t.Context(), v2(0), controller.UpdateOptions{MaxGrowth: 3, MinAlive: 3})
		require.NoError(t, err)
		time.Sleep(2 * time.Second)
		require.NoError(t, b.controller.(controller.Pauser).Pause(t.Context(), created.ID))
		time.Sleep(time.Hour)
		old, fresh, incomplete := b.sliceContents("web")
		assert.Equal(t, [3]int{3, 3, 0}, [3]int{old, fresh, incomplete})
		require.NoError(t, b.controller.(controller.Pauser).Resume(t.Context(), created.ID))
		require.NoError(t, b.outcome(created, nil))
	})
}

// A paused update can be cancelled, and fails when a slice does.
func TestPausedUpdateCanEnd(t *testing.T) {
	inBubble(t, 3, nil, func(t *testing.T, b *bench) {
		created, err := b.controller.Update(t.Context(), v2(0), controller.UpdateOptions{MaxGrowth: 1, MinAlive: 3})
		require.NoError(t, err)
		require.NoError(t, b.controller.(controller.Pauser).Pause(t.Context(), created.ID))
		time.Sleep(time.Hour)
		require.NoError(t, b.tasks.(task.Canceler).Cancel(t.Context(), created.ID))
		failure := failureOf(t, b.outcome(created, nil))
		require.ErrorIs(t, failure, context.Canceled)
		assert.Len(t, failure.Old, 3)
	})
	inBubble(t, 3, failsFrom(1), func(t *testing.T, b *bench) {
		created, err := b.controller.Update(t.Context(), v2(0), controller.UpdateOptions{MaxGrowth: 1, MinAlive: 3})
		require.NoError(t, err)
		time.Sleep(1500 * time.Millisecond)
		require.NoError(t, b.controller.(controller.Pauser).Pause(t.Context(), created.ID))
		failure := failureOf(t, b.outcome(created, nil))
		assert.True(t, controller.IsUnitFailed(failure))
		old, fresh, incomplete := b.sliceContents("web")
		assert.Equal(t, [3]int{3, 0, 0}, [3]int{old, fresh, incomplete})
	})
}

func TestPauseOfWhatCannotBePaused(t *testing.T) {
	inBubble(t, 1, nil, func(t *testing.T, b *bench) {
		pauser := b.controller.(controller.Pauser)
		assert.True(t, task.IsTaskObjectNotFound(pauser.Pause(t.Context(), "nobody")))
		assert.True(t, task.IsTaskObjectNotFound(pauser.Resume(t.Context(), "")))
		stop, err := b.controller.Stop(t.Context(), of("web"))
		require.NoError(t, err)
		err = pauser.Pause(t.Context(), stop.ID)
		assert.True(t, controller.IsInvalidArgument(err), "%v", err)
		assert.ErrorContains(t, err, "no update")
		require.NoError(t, b.outcome(stop, nil))
		assert.ErrorContains(t, pauser.Pause(t.Context(), stop.ID), "has ended")
		assert.True(t, controller.IsInvalidArgument(controller.NewController(controller.Config{}).(controller.Pauser).Pause(t.Context(), "x")))
	})
}

// A paused update that is cancelled comes to its end even where it can't finish what it has begun.
func TestR6CancelledWhilePausedEnds(t *testing.T) {
	onInterposed(t, 2, nil, func(t *testing.T, b *bench, between *interposed) {
		opts := controller.UpdateOptions{MaxGrowth: 1, MinAlive: 2, ReadySecs: 30, Rollback: true}
		created, err := b.controller.Update(t.Context(), v2(0), opts)
		require.NoError(t, err)
		time.Sleep(10 * time.Second)
		between.onRead(func(string) error { return notNow{} })
		for id, content := range b.contentBySlice("web") {
			if content == "v1" { // another content, which has to be read before it may go
				require.NoError(t, b.cluster.Put("web-app@"+id+".service", service("v1b"), "launched"))
			}
		}
		require.NoError(t, b.controller.(controller.Pauser).Pause(t.Context(), created.ID))
		require.NoError(t, b.tasks.(task.Canceler).Cancel(t.Context(), created.ID))
		time.Sleep(time.Hour)
		found, err := b.tasks.FetchState(t.Context(), created.ID)
		require.NoError(t, err)
		require.True(t, task.HasFinalStatus(found))
		assert.ErrorIs(t, failureOf(t, found.Error), context.Canceled)
	})
}

// A cancelled update is not rolled back, and so what it has taken away gets its successor, whatever failed before.
func TestR6CancelledAfterAFailureLeavesNoGap(t *testing.T) {
	for _, rollback := range []bool{false, true} {
		first := ""
		onInterposed(t, 4, func(start fleettest.Start) fleettest.Behavior {
			if first == "" && isV2(start.Content) {
				first = start.Name
			}
			return fleettest.Behavior{Fail: start.Name == first}
		}, func(t *testing.T, b *bench, between *interposed) {
			begin, slow := time.Now(), ""
			between.onStop(func(name string) error { // one of two is still going when the other's successor has failed
				if slow == "" {
					slow = name
				}
				if name == slow && time.Since(begin) < time.Minute {
					return notNow{}
				}
				return nil
			})
			created, err := b.controller.Update(t.Context(), v2(0), controller.UpdateOptions{MinAlive: 2, Rollback: rollback})
			require.NoError(t, err)
			time.Sleep(30 * time.Second)
			require.NoError(t, b.tasks.(task.Canceler).Cancel(t.Context(), created.ID))
			failure := failureOf(t, b.outcome(created, nil))
			assert.True(t, controller.IsUnitFailed(failure), "%v", failure)
			assert.False(t, failure.RolledBack)
			assert.Len(t, failure.New, 1, "%v", failure)
		})
	}
}
