package controller_test

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/squadronctl/squadron/controller"
	"github.com/squadronctl/squadron/fleet/fleettest"
)

// R19: fifty waits, calls for a status and an update that run at the same time share one listing per WaitSleep. What is
// more than that is to find out which units there are, once for each caller that asks at another moment.
func TestSpeedWaitsAndUpdateShareLooksR19(t *testing.T) {
	const waits, statusCalls = 50, 5
	onBench(t, fleettest.Config{}, nil, func(t *testing.T, b *bench) {
		b.twentyGroups()
		b.runs(3)
		b.faults.Set(fleettest.Always(fleettest.Latency(10 * time.Millisecond)))
		ctx, cancel := context.WithCancel(t.Context())
		began := time.Now()
		var all sync.WaitGroup
		for i := range waits {
			all.Go(func() {
				req := of(fmt.Sprintf("web%dx", i%20))
				assert.ErrorIs(t, b.controller.WaitForStatus(ctx, req, nil, controller.StatusRunning), context.Canceled)
			})
		}
		all.Go(func() {
			for range statusCalls {
				time.Sleep(2500 * time.Millisecond)
				_, err := b.controller.GetStatus(ctx, of("web"))
				assert.NoError(t, err)
			}
		})
		require.NoError(t, b.update(withVersion(request("web", 0), "v2"), controller.UpdateOptions{MaxGrowth: 1, MinAlive: 3}))
		took := time.Since(began)
		cancel()
		all.Wait()
		require.Greater(t, took, 20*time.Second, "the update has three rounds of three waits")
		seconds := int(took/time.Second) + 1
		// The waits ask together, and so do the update's call and its task.
		callers := statusCalls + 3
		assert.LessOrEqual(t, b.cluster.Counts().UnitListings, seconds+discovery*callers)
		assert.GreaterOrEqual(t, b.cluster.Counts().UnitListings, seconds-3)
		assert.Zero(t, b.cluster.Counts().UnitReads)
	})
}

// R19: a controller that nobody asks for anything asks the cluster for nothing, and has no goroutine, after a day as after a
// second.
func TestSpeedIdleControllerDoesNothingR19(t *testing.T) {
	onBench(t, fleettest.Config{Timing: fleettest.Measured()}, nil, func(t *testing.T, b *bench) {
		synctest.Wait()
		goroutines := runtime.NumGoroutine()
		b.do(b.controller.Submit, request("web", 2))
		b.do(b.controller.Start, of("web"))
		require.NoError(t, b.update(withVersion(request("web", 0), "v2"), controller.UpdateOptions{MaxGrowth: 1, MinAlive: 2}))
		require.NoError(t, b.controller.WaitForStatus(t.Context(), of("web"), nil, controller.StatusRunning))
		synctest.Wait()
		b.cluster.ResetCounts()
		for range 24 {
			assert.LessOrEqual(t, runtime.NumGoroutine(), goroutines)
			time.Sleep(time.Hour)
		}
		assert.Equal(t, fleettest.Counts{}, b.cluster.Counts())
	})
}
