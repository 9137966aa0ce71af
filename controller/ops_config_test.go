package controller_test

import (
	"context"
	"io"
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

// everyCall makes each call of the interface, with a good request, and gives their errors by method.
func everyCall(ctx context.Context, c controller.Controller) map[string]error {
	errs := map[string]error{}
	req := request("web", 0, "1")
	_, errs["ExtendWithExistingSliceIDs"] = c.ExtendWithExistingSliceIDs(req)
	_, _, errs["GroupNeedsUpdate"] = c.GroupNeedsUpdate(ctx, req)
	_, errs["Submit"] = c.Submit(ctx, req)
	_, errs["Start"] = c.Start(ctx, req)
	_, errs["Stop"] = c.Stop(ctx, req)
	_, errs["Destroy"] = c.Destroy(ctx, req)
	_, errs["GetStatus"] = c.GetStatus(ctx, req)
	errs["WaitForStatus"] = c.WaitForStatus(ctx, req, nil, controller.StatusRunning)
	_, errs["WaitForTask"] = c.WaitForTask(ctx, "4711", nil)
	_, errs["Update"] = c.Update(ctx, req, controller.UpdateOptions{})
	return errs
}

// R42, C20: without a backend or a task service each operation says so, whatever else the Config has or lacks.
func TestIncompleteConfigR42C20(t *testing.T) {
	for words, config := range map[string]controller.Config{
		"no Fleet":       {TaskService: task.NewTaskService(task.DefaultConfig())},
		"no TaskService": {Fleet: fleet.NewDummyFleet(fleet.DefaultDummyConfig())},
		"has no":         {},
	} {
		c := controller.NewController(config)
		for method, err := range everyCall(t.Context(), c) {
			assert.True(t, controller.IsInvalidArgument(err), "%s %s: %v", words, method, err)
			assert.ErrorContains(t, err, words, method)
		}
		require.NoError(t, c.(io.Closer).Close())
	}
}

// R42: a zero field is its default, and so is a negative one.
func TestDefaultsR42(t *testing.T) {
	for _, n := range []int{0, -1} {
		var looks []time.Time
		synctest.Test(t, func(t *testing.T) {
			backend := newMemoryFleet()
			backend.before = func(method, _ string) error {
				if method == "list" {
					looks = append(looks, time.Now())
				}
				return nil
			}
			b := onBackend(t, backend, func(config *controller.Config) {
				config.WaitCount, config.WaitSleep, config.WaitTimeout = n, time.Duration(n), time.Duration(n)
				config.Concurrency, config.FailureGrace, config.OneshotGrace = n, time.Duration(n), time.Duration(n)
				config.CleanupTimeout = time.Duration(n)
			})
			defer b.close()
			b.do(b.controller.Submit, request("web", 0, "1"))
			looks = nil
			require.NoError(t, b.controller.WaitForStatus(t.Context(), withSlices(request("web", 0), "1"), nil, controller.StatusStopped))
			require.Len(t, looks, 3)
			assert.Equal(t, time.Second, looks[2].Sub(looks[1]))

			began := time.Now()
			err := b.controller.WaitForStatus(t.Context(), of("web"), nil, controller.StatusRunning)
			assert.True(t, controller.IsWaitTimeoutReached(err), "%v", err)
			assert.Equal(t, 5*time.Minute, time.Since(began))
		})
	}
	defaults := controller.DefaultConfig()
	assert.Equal(t, 3, defaults.WaitCount)
	assert.Equal(t, time.Second, defaults.WaitSleep)
	assert.Equal(t, 5*time.Minute, defaults.WaitTimeout)
	assert.NotNil(t, defaults.Fleet)
	assert.NotNil(t, defaults.TaskService)
}

// R43: while an Update works on a group, other changes to it are refused at the call, by name of its task; looks, and
// changes to other groups, are not.
func TestBusyGroupR43(t *testing.T) {
	onBench(t, fleettest.Config{Timing: fleettest.Measured()}, nil, func(t *testing.T, b *bench) {
		b.do(b.controller.Submit, request("web", 2))
		b.do(b.controller.Submit, request("webhook", 1))
		b.do(b.controller.Start, of("web"))
		updated, err := b.controller.Update(t.Context(), withVersion(request("web", 0), "v2"), controller.UpdateOptions{MaxGrowth: 1, MinAlive: 1})
		require.NoError(t, err)
		synctest.Wait() // it has done what it does at once
		before := b.desired()
		ops := changers(b.controller)
		ops["submit"] = b.controller.Submit
		ops["update"] = func(ctx context.Context, req controller.Request) (*task.Task, error) {
			return b.controller.Update(ctx, req, controller.UpdateOptions{})
		}
		for verb, op := range ops {
			created, err := op(t.Context(), request("web", 1))
			assert.Nil(t, created)
			require.True(t, controller.IsGroupBusy(err), "%s: %v", verb, err)
			assert.ErrorContains(t, err, updated.ID)
			assert.ErrorContains(t, err, verb)
			assert.ErrorContains(t, err, "group web")
		}
		assert.Equal(t, before, b.desired())
		_, err = b.controller.GetStatus(t.Context(), of("web"))
		require.NoError(t, err)
		b.do(b.controller.Start, of("webhook"))
		require.NoError(t, b.outcome(updated, nil))
		b.do(b.controller.Stop, of("web"))
	})
}

// R43: an Update that is refused, fails or panics leaves the group free.
func TestBusyGroupIsFreedR43(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		backend := newMemoryFleet()
		b := onBackend(t, backend)
		defer b.close()
		b.do(b.controller.Submit, request("web", 2))
		require.True(t, controller.IsUpdateNotAllowed(b.update(request("web", 0), controller.UpdateOptions{MinAlive: 3})))
		b.do(b.controller.Start, of("web"))
		require.True(t, controller.IsUnitsAlreadyUpToDate(b.update(request("web", 0), controller.UpdateOptions{})))
		backend.before = func(method, _ string) error {
			if method == "stop" {
				panic("no")
			}
			return nil
		}
		require.Error(t, b.update(withVersion(request("web", 0), "v2"), controller.UpdateOptions{}))
		backend.before = nil
		b.do(b.controller.Stop, of("web"))
	})
}
