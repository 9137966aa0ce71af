package controller_test

import (
	"context"
	"math/rand/v2"
	"strings"
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

// R20: a backend with the six methods of the contract will do for everything.
func TestNarrowBackendR20(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		backend := newMemoryFleet()
		backend.lag = 3 * time.Second
		b := onBackend(t, backend)
		defer b.close()
		b.do(b.controller.Submit, request("web", 3))
		b.do(b.controller.Submit, request("webhook", 1))
		b.do(b.controller.Start, of("web"))
		extended, err := b.controller.ExtendWithExistingSliceIDs(of("web"))
		require.NoError(t, err)
		require.Len(t, extended.SliceIDs, 3)
		next := withVersion(request("web", 0), "v2")
		got, needed, err := b.controller.GroupNeedsUpdate(t.Context(), next)
		require.NoError(t, err)
		require.True(t, needed)
		assert.Equal(t, extended.SliceIDs, got.SliceIDs)
		require.NoError(t, b.update(next, controller.UpdateOptions{MaxGrowth: 1, MinAlive: 2}))
		assert.True(t, controller.IsUnitsAlreadyUpToDate(b.update(next, controller.UpdateOptions{})))
		statuses, err := b.controller.GetStatus(t.Context(), of("web"))
		require.NoError(t, err)
		require.Len(t, statuses, 6)
		require.NoError(t, b.controller.WaitForStatus(t.Context(), of("web"), nil, controller.StatusRunning))
		b.do(b.controller.Stop, of("web"))
		b.do(b.controller.Destroy, of("web"))
		require.NoError(t, b.controller.WaitForStatus(t.Context(), of("web"), nil, controller.StatusNotFound))
		assert.Len(t, backend.units, 2)
	})
}

// R20: one line at DEBUG says what a backend lacks; a whole one lacks nothing.
func TestWhatABackendLacksIsLoggedR20(t *testing.T) {
	logs := &logLines{}
	controller.NewController(controller.Config{Fleet: newMemoryFleet(), Logger: logs})
	require.Len(t, logs.lines, 1)
	assert.True(t, strings.HasPrefix(logs.lines[0], "DEBUG "))
	for _, words := range []string{"memoryFleet", "context", "contents", "launching"} {
		assert.Contains(t, logs.lines[0], words)
	}
	logs = &logLines{}
	controller.NewController(controller.Config{Fleet: fleet.NewDummyFleet(fleet.DefaultDummyConfig()), Logger: logs})
	assert.Empty(t, logs.lines)
}

// R20, R20a: a backend that sorts nothing, and names units twice, is believed after two listings all the same.
func TestUnsortedListingsR20(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		backend := newMemoryFleet()
		b := onBackend(t, backend)
		defer b.close()
		b.do(b.controller.Submit, request("web", 5))
		backend.list = func(_ int, all []fleet.UnitStatus) []fleet.UnitStatus {
			all = append(all, all[:3]...)
			rand.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
			return all
		}
		want := []string(nil)
		for range 10 {
			before := backend.listings
			statuses, err := b.controller.GetStatus(t.Context(), of("web"))
			require.NoError(t, err)
			require.Len(t, statuses, 10)
			assert.Equal(t, before+2, backend.listings)
			if want == nil {
				want = namesOf(statuses)
				assert.IsIncreasing(t, want)
			}
			assert.Equal(t, want, namesOf(statuses))
		}
		assert.Zero(t, backend.gets)
	})
}

// R20, R15, R44: a read that hangs and can't be cancelled holds nobody longer than its context, WaitTimeout, Cancel or
// Close say; when it answers after all, things go on.
func TestHangingReadR15R20R44(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		backend := newMemoryFleet()
		b := onBackend(t, backend, waitSoon)
		b.do(b.controller.Submit, request("web", 0, "1"))
		release := make(chan struct{})
		backend.before = func(method, _ string) error {
			if method == "list" {
				<-release
			}
			return nil
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := b.controller.GetStatus(ctx, of("web"))
		require.ErrorIs(t, err, context.DeadlineExceeded)
		err = b.controller.WaitForStatus(t.Context(), of("web"), nil, controller.StatusStopped)
		require.True(t, controller.IsWaitTimeoutReached(err), "%v", err)
		assert.ErrorContains(t, err, "no look at the cluster was answered")
		_, err = b.controller.ExtendWithExistingSliceIDs(of("web"))
		require.True(t, controller.IsWaitTimeoutReached(err), "%v", err)

		created, err := b.controller.Stop(t.Context(), of("web"))
		require.True(t, controller.IsWaitTimeoutReached(b.outcome(created, err)))

		created, err = b.controller.Stop(t.Context(), of("web"))
		require.NoError(t, err)
		time.Sleep(time.Second)
		require.NoError(t, b.tasks.(task.Canceler).Cancel(t.Context(), created.ID))
		require.ErrorIs(t, b.outcome(created, nil), context.Canceled)

		close(release)
		b.do(b.controller.Start, of("web"))

		release = make(chan struct{})
		created, err = b.controller.Stop(t.Context(), of("web"))
		require.NoError(t, err)
		synctest.Wait()
		b.close()
		require.ErrorIs(t, b.outcome(created, nil), context.Canceled)
		close(release)
	})
}

// R20: new units of an Update go to launched by Submit and Start where there is no single write for it.
func TestUpdateWritesOnNarrowBackendR20(t *testing.T) {
	for name, c := range map[string]struct {
		adjust func(*controller.Config)
		puts   int // a stop and the writes of a new unit
	}{"fleet": {nil, 2}, "narrow": {overNarrow, 3}} {
		t.Run(name, func(t *testing.T) {
			onBench(t, fleettest.Config{}, c.adjust, func(t *testing.T, b *bench) {
				b.do(b.controller.Submit, request("web", 4))
				b.do(b.controller.Start, of("web"))
				b.cluster.ResetCounts()
				require.NoError(t, b.update(withVersion(request("web", 0), "v2"), controller.UpdateOptions{MaxGrowth: 2, MinAlive: 2}))
				counts := b.cluster.Counts()
				assert.Equal(t, c.puts*8, counts.Puts)
				assert.Equal(t, 8, counts.Deletes)
			})
		})
	}
}
