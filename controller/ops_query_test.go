package controller_test

import (
	"context"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/squadronctl/squadron/controller"
	"github.com/squadronctl/squadron/fleet/fleettest"
	"github.com/squadronctl/squadron/task"
)

func TestGetStatus(t *testing.T) {
	onBench(t, fleettest.Config{}, nil, func(t *testing.T, b *bench) {
		b.put("launched", "web-app@2.service", "web-log@1.service", "web-app@1.service", "web-db@.service")
		statuses, err := b.controller.GetStatus(t.Context(), of("web", "1"))
		require.NoError(t, err)
		require.Equal(t, []string{"web-app@1.service", "web-log@1.service"}, namesOf(statuses))
		status := statuses[0]
		assert.Equal(t, "1", status.SliceID)
		assert.Equal(t, "launched", status.Current)
		assert.Equal(t, "launched", status.Desired)
		require.Len(t, status.Machine, 1)
		assert.Equal(t, "active", status.Machine[0].SystemdActive)
		assert.NotEmpty(t, status.Machine[0].UnitHash)
		assert.True(t, net.IPv4(192, 0, 2, 0).Mask(net.CIDRMask(24, 32)).Equal(status.Machine[0].IP.Mask(net.CIDRMask(24, 32))))

		statuses, err = b.controller.GetStatus(t.Context(), named("web", "web-app@.service"))
		require.NoError(t, err)
		assert.Equal(t, []string{"web-app@1.service", "web-app@2.service"}, namesOf(statuses))

		for _, c := range []struct {
			req               controller.Request
			notFound, noSlice bool
		}{
			{of("nothing"), true, false},
			{of("web", "1", "3"), false, true},
			{of("web", "3"), true, true},
			{withSlices(named("web", "web-log@.service"), "2"), true, true},
		} {
			_, err := b.controller.GetStatus(t.Context(), c.req)
			assert.Equal(t, c.notFound, controller.IsUnitNotFound(err), "%v", err)
			assert.Equal(t, c.noSlice, controller.IsUnitSliceNotFound(err), "%v", err)
			assert.ErrorContains(t, err, "get the status of group "+c.req.Group)
		}
		_, err = b.controller.GetStatus(t.Context(), of(""))
		_, ok := err.(controller.ValidationError)
		assert.True(t, ok, "%T", err)
	})
}

// The slice IDs found take the place of those of the request; none found is no error.
func TestExtendWithExistingSliceIDs(t *testing.T) {
	onBench(t, fleettest.Config{}, nil, func(t *testing.T, b *bench) {
		b.put("loaded", "web-app@2.service", "web-log@1.service", "web-app@1.service", "webhook@3.service", "db.service")
		req := request("web", 0, "9")
		extended, err := b.controller.ExtendWithExistingSliceIDs(req)
		require.NoError(t, err)
		assert.Equal(t, []string{"1", "2"}, extended.SliceIDs)
		assert.Equal(t, []string{"9"}, req.SliceIDs)
		assert.Equal(t, req.Units, extended.Units)

		extended, err = b.controller.ExtendWithExistingSliceIDs(named("web", "web-log@.service"))
		require.NoError(t, err)
		assert.Equal(t, []string{"1"}, extended.SliceIDs)
		for _, group := range []string{"nothing", "db"} {
			extended, err = b.controller.ExtendWithExistingSliceIDs(of(group, "1"))
			require.NoError(t, err)
			assert.Empty(t, extended.SliceIDs)
		}
	})
}

// Without a context of its own it still ends, with WaitTimeout.
func TestExtendWithExistingSliceIDsEnds(t *testing.T) {
	onBench(t, fleettest.Config{}, waitSoon, func(t *testing.T, b *bench) {
		b.faults.Set(fleettest.Always(fleettest.Hang()))
		began := time.Now()
		_, err := b.controller.ExtendWithExistingSliceIDs(of("web"))
		require.True(t, controller.IsWaitTimeoutReached(err), "%v", err)
		assert.ErrorContains(t, err, "find the slices of group web")
		assert.Equal(t, 20*time.Second, time.Since(began))
	})
}

func TestGroupNeedsUpdate(t *testing.T) {
	for name, adjust := range map[string]func(*controller.Config){"fleet": nil, "narrow": overNarrow} {
		t.Run(name, func(t *testing.T) {
			onBench(t, fleettest.Config{}, adjust, func(t *testing.T, b *bench) {
				_, _, err := b.controller.GroupNeedsUpdate(t.Context(), request("web", 3))
				require.True(t, controller.IsUnitNotFound(err), "%v", err)

				b.do(b.controller.Submit, request("web", 0, "1", "2", "3"))
				same := request("web", 3)
				got, needed, err := b.controller.GroupNeedsUpdate(t.Context(), same)
				require.NoError(t, err)
				assert.False(t, needed)
				assert.Equal(t, same, got)

				// One of another content, one that lacks a unit.
				require.NoError(t, b.cluster.Put("web-app@2.service", service("v0"), "loaded"))
				require.True(t, b.cluster.Remove("web-log@3.service"))
				b.put("loaded", "webhook-app@4.service")
				got, needed, err = b.controller.GroupNeedsUpdate(t.Context(), same)
				require.NoError(t, err)
				assert.True(t, needed)
				assert.Equal(t, []string{"2", "3"}, got.SliceIDs)
				assert.Equal(t, same.Units, got.Units)
				assert.Empty(t, same.SliceIDs)

				got, needed, err = b.controller.GroupNeedsUpdate(t.Context(), request("web", 0, "1", "2"))
				require.NoError(t, err)
				assert.True(t, needed)
				assert.Equal(t, []string{"2"}, got.SliceIDs)
				_, needed, err = b.controller.GroupNeedsUpdate(t.Context(), request("web", 0, "1"))
				require.NoError(t, err)
				assert.False(t, needed)
				got, needed, err = b.controller.GroupNeedsUpdate(t.Context(), withVersion(same, "v2"))
				require.NoError(t, err)
				assert.True(t, needed)
				assert.Equal(t, []string{"1", "2", "3"}, got.SliceIDs)
			})
		})
	}
}

func TestGroupNeedsUpdateOfInstanceGroup(t *testing.T) {
	onBench(t, fleettest.Config{}, nil, func(t *testing.T, b *bench) {
		req := instanceGroup("db-server.service", "db-backup.service")
		b.do(b.controller.Submit, req)
		_, needed, err := b.controller.GroupNeedsUpdate(t.Context(), req)
		require.NoError(t, err)
		assert.False(t, needed)
		got, needed, err := b.controller.GroupNeedsUpdate(t.Context(), withVersion(req, "v2"))
		require.NoError(t, err)
		assert.True(t, needed)
		assert.Empty(t, got.SliceIDs)
	})
}

func TestWaitForTask(t *testing.T) {
	slow := func(fleettest.Start) fleettest.Behavior { return fleettest.Behavior{StartDelay: time.Minute} }
	onBench(t, fleettest.Config{Behave: slow}, nil, func(t *testing.T, b *bench) {
		b.do(b.controller.Submit, request("web", 1))
		created, err := b.controller.Start(t.Context(), of("web"))
		require.NoError(t, err)
		assert.Equal(t, task.StatusStarted, created.ActiveStatus)

		closed := make(chan struct{})
		close(closed)
		got, err := b.controller.WaitForTask(t.Context(), created.ID, closed)
		assert.NoError(t, err)
		assert.Nil(t, got)

		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err = b.controller.WaitForTask(ctx, created.ID, nil)
		assert.ErrorIs(t, err, context.DeadlineExceeded)

		_, err = b.controller.WaitForTask(t.Context(), "nobody's", nil)
		assert.True(t, task.IsTaskObjectNotFound(err), "%v", err)

		got, err = b.controller.WaitForTask(t.Context(), created.ID, nil)
		require.NoError(t, err)
		assert.True(t, task.HasSucceededStatus(got))

		// A failed task is no error of the wait.
		created, err = b.controller.Start(t.Context(), of("nothing"))
		require.NoError(t, err)
		got, err = b.controller.WaitForTask(t.Context(), created.ID, nil)
		require.NoError(t, err)
		assert.True(t, task.HasFailedStatus(got))
	})
}
