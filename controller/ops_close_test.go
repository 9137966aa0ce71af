package controller_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"runtime"
	"sync"
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

// R44: Close ends what the controller does, closes the backend, and may come again; whoever waits is told.
func TestCloseR44(t *testing.T) {
	never := func(fleettest.Start) fleettest.Behavior { return fleettest.Behavior{StartDelay: time.Hour} }
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, fleettest.Config{Behave: never})
		b.do(b.controller.Submit, request("web", 1))
		created, err := b.controller.Start(t.Context(), of("web"))
		require.NoError(t, err)
		waited := make(chan error, 1)
		go func() { waited <- b.controller.WaitForStatus(t.Context(), of("web"), nil, controller.StatusRunning) }()
		time.Sleep(10 * time.Second)
		began := time.Now()
		b.close()
		assert.Zero(t, time.Since(began))
		err = <-waited
		require.ErrorIs(t, err, context.Canceled)
		assert.ErrorContains(t, err, "the controller was closed")
		err = b.outcome(created, nil)
		require.ErrorIs(t, err, context.Canceled)
		assert.ErrorContains(t, err, "the controller was closed")
		b.close()

		for method, err := range everyCall(t.Context(), b.controller) {
			if method == "WaitForTask" {
				assert.True(t, task.IsTaskObjectNotFound(err), "%v", err)
				continue
			}
			require.ErrorIs(t, err, context.Canceled, method)
			assert.ErrorContains(t, err, "the controller was closed", method)
		}
		_, err = b.client.GetStatus(t.Context(), "web-app@1.service")
		require.ErrorIs(t, err, net.ErrClosed)
	})
}

// R44: two controllers may share a task service; the one that is closed ends its own tasks only.
func TestCloseEndsOwnTasksR44(t *testing.T) {
	slow := func(fleettest.Start) fleettest.Behavior { return fleettest.Behavior{StartDelay: time.Minute} }
	onBench(t, fleettest.Config{Behave: slow}, nil, func(t *testing.T, b *bench) {
		b.do(b.controller.Submit, request("web", 1))
		other := b.newController(overNarrow) // without its Close, which would end the client
		mine, err := b.controller.Start(t.Context(), of("web"))
		require.NoError(t, err)
		its, err := other.Start(t.Context(), of("web"))
		require.NoError(t, err)
		time.Sleep(10 * time.Second)
		require.NoError(t, other.(io.Closer).Close())
		require.ErrorIs(t, b.outcome(its, nil), context.Canceled)
		require.NoError(t, b.outcome(mine, nil))
	})
}

// R44: whenever Close comes, it ends, every task is final soon after, and nobody panics.
func TestCloseAtAnyMomentR44(t *testing.T) {
	for moment := range 20 {
		synctest.Test(t, func(t *testing.T) {
			b := newBench(t, fleettest.Config{Timing: fleettest.Fast()}, func(config *controller.Config) { config.WaitSleep = 50 * time.Millisecond })
			b.faults.Set(fleettest.Always(fleettest.Latency(7 * time.Millisecond)))
			b.do(b.controller.Submit, request("web", 2))
			b.do(b.controller.Submit, request("db", 2))
			b.do(b.controller.Start, of("web"))
			var all sync.WaitGroup
			for _, f := range []func() (*task.Task, error){
				func() (*task.Task, error) { return b.controller.Submit(t.Context(), request("zoo", 20)) },
				func() (*task.Task, error) { return b.controller.Start(t.Context(), of("db")) },
				func() (*task.Task, error) { return b.controller.Destroy(t.Context(), of("db")) },
				func() (*task.Task, error) {
					return b.controller.Update(t.Context(), withVersion(request("web", 0), "v2"), controller.UpdateOptions{MaxGrowth: 1})
				},
				func() (*task.Task, error) { _, err := b.controller.GetStatus(t.Context(), of("web")); return nil, err },
				func() (*task.Task, error) {
					return nil, b.controller.WaitForStatus(t.Context(), of("web"), nil, controller.StatusFailed)
				},
			} {
				all.Go(func() {
					created, err := f()
					if created != nil {
						err = b.outcome(created, err)
					}
					if err != nil && !errors.Is(err, context.Canceled) && !errors.Is(err, net.ErrClosed) && !controller.IsUnitNotFound(err) &&
						!controller.IsAmbiguousGroup(err) { // what is half destroyed can be no group any more
						assert.NoError(t, err, "moment %d", moment)
					}
				})
			}
			time.Sleep(time.Duration(moment) * 6 * time.Millisecond)
			b.close()
			all.Wait()
			for _, name := range b.names("zoo") {
				unit, _ := b.cluster.Unit(name)
				assert.Equal(t, "loaded", unit.Desired)
			}
			assert.Contains(t, []int{0, 40}, len(b.names("zoo")), "moment %d: a Submit is done or taken back", moment)
		})
	}
}

// Whatever moment a caller's context ends at, the call returns at once with that error, or with its answer.
func TestCancelAtAnyMoment(t *testing.T) {
	onBench(t, fleettest.Config{PageLimit: 1}, nil, func(t *testing.T, b *bench) {
		b.put("launched", "web@1.service", "web@2.service", "web@3.service")
		b.faults.Set(fleettest.Always(fleettest.Latency(9 * time.Millisecond)))
		for moment := range 50 {
			d := time.Duration(moment) * time.Millisecond
			ctx, cancel := context.WithTimeout(t.Context(), d)
			began := time.Now()
			_, err := b.controller.GetStatus(ctx, of("web"))
			if err != nil {
				require.ErrorIs(t, err, context.DeadlineExceeded)
				assert.Equal(t, d, time.Since(began))
			}
			err = b.controller.WaitForStatus(ctx, of("web"), nil, controller.StatusRunning)
			require.ErrorIs(t, err, context.DeadlineExceeded)
			_, _, err = b.controller.GroupNeedsUpdate(ctx, request("web", 1))
			require.ErrorIs(t, err, context.DeadlineExceeded)
			cancel()
			b.faults.Set(fleettest.Always(fleettest.Hang()))
			ctx, cancel = context.WithTimeout(t.Context(), d)
			_, err = b.controller.Update(ctx, request("web", 1), controller.UpdateOptions{})
			require.ErrorIs(t, err, context.DeadlineExceeded)
			cancel()
			b.faults.Set(fleettest.Always(fleettest.Latency(9 * time.Millisecond)))
		}
	})
}

// Operations on one group at the same time each come to an end.
func TestOneGroupByManyAtOnce(t *testing.T) {
	for name, adjust := range map[string]func(*controller.Config){"fleet": waitSoon, "narrow": func(config *controller.Config) {
		waitSoon(config)
		overNarrow(config)
	}} {
		t.Run(name, func(t *testing.T) {
			onBench(t, fleettest.Config{Timing: fleettest.Fast()}, adjust, func(t *testing.T, b *bench) {
				b.do(b.controller.Submit, request("web", 0, "1", "2"))
				var all sync.WaitGroup
				for i := range 24 {
					all.Go(func() {
						time.Sleep(time.Duration(i) * 100 * time.Millisecond)
						switch i % 6 {
						case 0:
							_ = b.try(b.controller.Submit, request("web", 0, "1", "2"))
						case 1:
							_ = b.try(b.controller.Start, of("web"))
						case 2:
							_ = b.try(b.controller.Stop, of("web"))
						case 3:
							_ = b.try(b.controller.Destroy, of("web"))
						case 4:
							_ = b.update(withVersion(request("web", 0), fmt.Sprint("v", i)), controller.UpdateOptions{MaxGrowth: 1})
						case 5:
							_, _ = b.controller.GetStatus(t.Context(), of("web"))
						}
					})
				}
				all.Wait()
				if err := b.try(b.controller.Destroy, of("web")); err != nil {
					require.True(t, controller.IsUnitNotFound(err), "%v", err)
				}
				assert.Empty(t, b.names(""))
			})
		})
	}
}

// descriptors counts this process's open files.
func descriptors(t *testing.T) int {
	entries, err := os.ReadDir("/proc/self/fd")
	require.NoError(t, err)
	return len(entries)
}

// R44, C22: over a real socket, a hundred operations hold no more than the first did, a dead endpoint makes no
// difference, and Close leaves nothing.
func TestNothingIsLeftC22R44(t *testing.T) {
	fleettest.NewServer(fleettest.Config{}).Close() // what the runtime opens once and for all is open now
	before, goroutines := descriptors(t), runtime.NumGoroutine()
	server := fleettest.NewServer(fleettest.Config{})
	client, err := fleet.NewFleet(fleet.Config{Endpoint: server.Endpoint(), RetryWait: time.Nanosecond})
	require.NoError(t, err)
	b := onBackend(t, client, func(config *controller.Config) {
		config.WaitSleep, config.WaitCount = time.Microsecond, 1
	})
	round := func() {
		b.do(b.controller.Submit, request("web", 0, "1", "2"))
		b.do(b.controller.Start, of("web"))
		b.do(b.controller.Stop, of("web"))
		b.do(b.controller.Destroy, of("web"))
	}
	round()
	first := descriptors(t)
	for range 24 {
		round()
	}
	// How many requests happened to be under way at once differs a little: 8 writes, or 3 lists, each with two ends.
	assert.LessOrEqual(t, descriptors(t), first+2*8)
	server.Close()
	for range 25 {
		require.Error(t, b.try(b.controller.Start, of("web")))
		_, err := b.controller.GetStatus(t.Context(), of("web"))
		require.True(t, fleet.IsTemporary(err), "%v", err)
	}
	b.close()
	// The last dials, of requests that a failed one beside them has ended, may just be coming to their own end.
	left := func() bool { return descriptors(t) > before || runtime.NumGoroutine() > goroutines+1 }
	require.Eventually(t, func() bool { return !left() }, 5*time.Second, time.Millisecond)
}
