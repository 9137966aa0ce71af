package controller_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/squadronctl/squadron/controller"
)

// record collects the events of an update, told when they are complete by the end of its task.
func recordTo(events *[]controller.UpdateEvent) func(controller.UpdateEvent) {
	return func(event controller.UpdateEvent) { *events = append(*events, event) }
}

// story gives the phases of one slice as a whole, in order.
func story(events []controller.UpdateEvent, slice string) []controller.UpdatePhase {
	var phases []controller.UpdatePhase
	for _, event := range events {
		if event.Slice == slice && event.Unit == "" && event.Phase != controller.PhaseRollingBack {
			phases = append(phases, event.Phase)
		}
	}
	return phases
}

// R27: the phases of a slice that is replaced, of its successor, and of one that stays.
func TestR27Progress(t *testing.T) {
	inBubble(t, 2, nil, func(t *testing.T, b *bench) {
		old := b.idsOf("web")
		var events []controller.UpdateEvent
		require.NoError(t, b.update(v2(0, old[0]), controller.UpdateOptions{MaxGrowth: 1, MinAlive: 2, ReadySecs: 5, Progress: recordTo(&events)}))
		var fresh string
		for _, id := range b.idsOf("web") {
			if id != old[1] {
				fresh = id
			}
		}
		assert.Equal(t, []controller.UpdatePhase{"planned", "stopping", "destroyed"}, story(events, old[0]))
		assert.Equal(t, []controller.UpdatePhase{"kept"}, story(events, old[1]))
		assert.Equal(t, []controller.UpdatePhase{"submitting", "starting", "cooling down", "running"}, story(events, fresh))
		var units []string
		for _, event := range events {
			if event.Unit == "web-app@"+fresh+".service" || event.Unit == "web-app@"+old[0]+".service" {
				units = append(units, event.Unit[8:11]+" "+string(event.Phase))
			}
		}
		assert.Equal(t, []string{fresh + " submitting", fresh + " starting", old[0] + " stopping", old[0] + " destroyed"}, units)
		last := events[len(events)-1]
		assert.Equal(t, controller.UpdateCounts{Existing: 2, Running: 2}, last.Counts)
		assert.Contains(t, last.String(), "slice "+old[0]+": destroyed (2 there, 2 running, 0 going)")
	})
}

func TestR27ProgressOfFailureAndRollback(t *testing.T) {
	inBubble(t, 2, failsFrom(2), func(t *testing.T, b *bench) {
		var events []controller.UpdateEvent
		failure := failureOf(t, b.update(v2(0), controller.UpdateOptions{MaxGrowth: 1, MinAlive: 2, Rollback: true, Progress: recordTo(&events)}))
		assert.True(t, failure.RolledBack)
		phases := map[controller.UpdatePhase]int{}
		for _, event := range events {
			if event.Unit == "" {
				phases[event.Phase]++
			}
			if event.Phase == controller.PhaseFailed || event.Phase == controller.PhaseRollingBack {
				assert.True(t, controller.IsUnitFailed(event.Err), "%v", event)
			}
		}
		assert.Equal(t, 1, phases[controller.PhaseFailed])
		assert.Equal(t, 1, phases[controller.PhaseRollingBack])
		assert.Equal(t, 1, phases[controller.PhaseRolledBack])
		assert.Equal(t, 3, phases[controller.PhaseDestroyed], "the old one, the failed one, and the one that was rolled back")
	})
}

// The update does not wait for whoever is told, and no event is lost.
func TestR27ProgressDoesNotBlock(t *testing.T) {
	inBubble(t, 2, nil, func(t *testing.T, b *bench) {
		var events []controller.UpdateEvent
		release := make(chan struct{})
		created, err := b.controller.Update(t.Context(), v2(0), controller.UpdateOptions{MaxGrowth: 1, MinAlive: 2, Progress: func(event controller.UpdateEvent) {
			<-release
			events = append(events, event)
			if len(events) == 3 {
				panic("the caller's fault")
			}
		}})
		require.NoError(t, err)
		time.Sleep(50 * time.Second)
		old, fresh, _ := b.sliceContents("web")
		assert.Equal(t, [2]int{0, 2}, [2]int{old, fresh}, "it has gone on meanwhile")
		close(release)
		require.NoError(t, b.outcome(created, nil))
		assert.Equal(t, controller.UpdateCounts{Existing: 2, Running: 2}, events[len(events)-1].Counts)
	})
}

// Whoever never returns holds up the end of the task for CleanupTimeout, and nothing else.
func TestR27ProgressThatHangs(t *testing.T) {
	inBubble(t, 1, nil, func(t *testing.T, b *bench) {
		release := make(chan struct{})
		defer close(release)
		require.NoError(t, b.update(v2(0), controller.UpdateOptions{MaxGrowth: 1, MinAlive: 1, Progress: func(controller.UpdateEvent) { <-release }}))
	})
}

func TestPauseIsReported(t *testing.T) {
	inBubble(t, 2, nil, func(t *testing.T, b *bench) {
		var events []controller.UpdateEvent
		created, err := b.controller.Update(t.Context(), v2(0), controller.UpdateOptions{MaxGrowth: 1, MinAlive: 2, Progress: recordTo(&events)})
		require.NoError(t, err)
		pauser := b.controller.(controller.Pauser)
		time.Sleep(time.Second)
		require.NoError(t, pauser.Pause(t.Context(), created.ID))
		require.NoError(t, pauser.Pause(t.Context(), created.ID))
		time.Sleep(time.Minute)
		require.NoError(t, pauser.Resume(t.Context(), created.ID))
		require.NoError(t, b.outcome(created, nil))
		var told []controller.UpdatePhase
		for _, event := range events {
			if event.Phase == controller.PhasePaused || event.Phase == controller.PhaseResumed {
				told = append(told, event.Phase)
				assert.Contains(t, event.String(), "group web: "+string(event.Phase))
			}
		}
		assert.Equal(t, []controller.UpdatePhase{controller.PhasePaused, controller.PhaseResumed}, told)
	})
}

// A failed slice that only the end of the update destroys is told to be gone, and one that it can't destroy to be leaving.
func TestR27ProgressOfWhatTheEndDestroys(t *testing.T) {
	onInterposed(t, 2, failsFrom(1), func(t *testing.T, b *bench, between *interposed) {
		stuck := b.idsOf("web")[0]
		b.cluster.FailUnit("web-app@" + stuck + ".service")
		time.Sleep(20 * time.Second)
		between.onStop(func(name string) error {
			if strings.Contains(name, stuck) {
				return errRefused
			}
			return nil
		})
		there := map[string]controller.UpdatePhase{}
		failure := failureOf(t, b.update(v2(0), controller.UpdateOptions{MaxGrowth: 1, MinAlive: 1, Progress: func(event controller.UpdateEvent) {
			if event.Unit == "" {
				there[event.Slice] = event.Phase
			}
			if event.Unit == "" && event.Phase == controller.PhaseDestroyed {
				delete(there, event.Slice)
			}
		}}))
		require.ErrorIs(t, failure, errRefused)
		require.ErrorContains(t, failure, "destroyed again")
		assert.Len(t, there, 2)
		for _, id := range b.idsOf("web") {
			assert.Contains(t, there, id)
		}
	})
}
