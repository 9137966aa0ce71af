package controller_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/squadronctl/squadron/controller"
	"github.com/squadronctl/squadron/fleet"
	"github.com/squadronctl/squadron/fleet/fleettest"
)

// watchedClient is a client that tells of changes, as the backend for one host does.
type watchedClient struct {
	fleet.Fleet
	fleet.UnitReader
	fleet.MachineReader
	fleet.Launcher
	cluster *fleettest.Cluster
	eager   bool // it tells of changes without a pause, where there are none too
}

// watchTick is how often a watched cluster carries out what is due.
const watchTick = 50 * time.Millisecond

func newWatchedClient(client fleet.Fleet, cluster *fleettest.Cluster, eager bool) watchedClient {
	return watchedClient{client, client.(fleet.UnitReader), client.(fleet.MachineReader), client.(fleet.Launcher), cluster, eager}
}

// WatchUnits implements fleet.UnitWatcher.
func (w watchedClient) WatchUnits(ctx context.Context) (<-chan struct{}, error) {
	changed := make(chan struct{}, 1)
	tell := func() {
		select {
		case changed <- struct{}{}:
		default:
		}
	}
	w.cluster.OnChange(func(fleettest.Change) { tell() })
	told := make(chan struct{})
	go func() {
		defer close(told)
		ticker := time.NewTicker(watchTick)
		defer ticker.Stop()
		for ctx.Err() == nil {
			select {
			case <-ticker.C:
				w.cluster.Advance()
				if w.eager {
					tell()
				}
			case <-changed:
				select {
				case told <- struct{}{}:
				case <-ctx.Done():
				}
			case <-ctx.Done():
			}
		}
	}()
	return told, nil
}

// onWatchedCluster runs a test with three slices of the group web on a cluster that is watched, or not.
func onWatchedCluster(t *testing.T, timing fleettest.Timing, wrap func(*bench) fleet.Fleet, behave func(fleettest.Start) fleettest.Behavior,
	f func(*testing.T, *bench)) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, fleettest.Config{Timing: timing, Behave: behave})
		defer b.close()
		b.client = wrap(b)
		b.controller = b.newController()
		b.do(b.controller.Submit, request("web", 3))
		b.do(b.controller.Start, of("web"))
		f(t, b)
	})
}

// stubborn is a watched client that some stops and destroys don't get through.
type stubborn struct {
	watchedClient
	stops, destroys *atomic.Int32
	refused         int32 // how many of each
}

var errBusy = fleet.AsTemporary(errors.New("busy"))

// Stop implements fleet.Fleet.
func (s stubborn) Stop(ctx context.Context, name string) error {
	if s.stops.Add(1) <= s.refused {
		return errBusy
	}
	return s.watchedClient.Stop(ctx, name)
}

// Destroy implements fleet.Fleet.
func (s stubborn) Destroy(ctx context.Context, name string) error {
	if s.destroys.Add(1) <= s.refused {
		return errBusy
	}
	return s.watchedClient.Destroy(ctx, name)
}

func unwatched(b *bench) fleet.Fleet { return b.client }
func watched(b *bench) fleet.Fleet   { return newWatchedClient(b.client, b.cluster, false) }
func eager(b *bench) fleet.Fleet     { return newWatchedClient(b.client, b.cluster, true) }

// An update of a backend that tells of changes waits for the end of an old slice no longer than that takes, and for a new one as
// long as anywhere.
func TestUpdateFollowsTheEndOfSlices(t *testing.T) {
	took := map[string]time.Duration{}
	for name, wrap := range map[string]func(*bench) fleet.Fleet{"unwatched": unwatched, "watched": watched, "eager": eager} {
		onWatchedCluster(t, fleettest.Instant(), wrap, nil, func(t *testing.T, b *bench) {
			starting := map[string]time.Time{}
			rising := map[string]time.Duration{}
			began := time.Now()
			require.NoError(t, b.update(v2(0), controller.UpdateOptions{MinAlive: 2, Progress: func(e controller.UpdateEvent) {
				switch {
				case e.Phase == controller.PhaseSubmitting && e.Unit == "":
					starting[e.Slice] = e.Time
				case e.Phase == controller.PhaseRunning && !starting[e.Slice].IsZero():
					rising[e.Slice] = e.Time.Sub(starting[e.Slice])
				}
			}}))
			took[name] = time.Since(began)
			require.Len(t, rising, 3)
			for id, after := range rising {
				assert.GreaterOrEqual(t, after, 2700*time.Millisecond, "%s, slice %s: seen three times, a second apart", name, id)
			}
			old, fresh, incomplete := b.sliceContents("web")
			assert.Equal(t, [3]int{0, 3, 0}, [3]int{old, fresh, incomplete})
		})
	}
	assert.GreaterOrEqual(t, took["unwatched"], 3*7*time.Second)
	assert.LessOrEqual(t, took["watched"], 3*3500*time.Millisecond)
	assert.LessOrEqual(t, took["eager"], 3*3500*time.Millisecond)
}

// whileOneStops gives the second of two new slices so much behaviour, and has old slices take so long to stop: looks follow changes
// closely then, since for the first one an old slice goes.
func whileOneStops(t *testing.T, stop time.Duration, second fleettest.Behavior, f func(*testing.T, *bench)) {
	timing := fleettest.Fast()
	timing.Stop = stop
	turns := map[string]bool{}
	behave := func(start fleettest.Start) fleettest.Behavior {
		if !isV2(start.Content) {
			return fleettest.Behavior{}
		}
		if turns[start.Name] = true; len(turns) == 2 {
			return second
		}
		return fleettest.Behavior{}
	}
	onWatchedCluster(t, timing, eager, behave, f)
}

// While looks follow changes closely, a new slice has as long to fail in as ever, before another old one goes for it (R22, R23).
func TestCloseLooksConfirmNoStartR23(t *testing.T) {
	whileOneStops(t, 30*time.Second, fleettest.Behavior{StartDelay: 6 * time.Second, FailAfter: 2 * time.Second}, func(t *testing.T, b *bench) {
		ready := map[string]bool{}
		err := b.update(v2(0), controller.UpdateOptions{MaxGrowth: 2, MinAlive: 3, Progress: func(e controller.UpdateEvent) {
			if e.Phase == controller.PhaseRunning {
				ready[e.Slice] = true
			}
		}})
		assert.True(t, controller.IsUnitFailed(err), "%v", err)
		assert.Len(t, ready, 1)
		assert.Len(t, having(b.contentBySlice("web"), "v1"), 2)
	})
}

// A ready check is called once a second, however many changes there are.
func TestCloseLooksCallNoMoreChecks(t *testing.T) {
	whileOneStops(t, 40*time.Second, fleettest.Behavior{StartDelay: 6 * time.Second}, func(t *testing.T, b *bench) {
		var mutex sync.Mutex
		calls := map[string][]time.Time{}
		require.NoError(t, b.update(v2(0), controller.UpdateOptions{MaxGrowth: 2, MinAlive: 3, Ready: func(_ context.Context, slice controller.SliceStatus) error {
			mutex.Lock()
			defer mutex.Unlock()
			calls[slice.ID] = append(calls[slice.ID], time.Now())
			if len(calls) > 1 && len(calls[slice.ID]) < 20 {
				return errors.New("not yet")
			}
			return nil
		}}))
		require.Len(t, calls, 3)
		for id, times := range calls {
			for i := range times[1:] {
				assert.GreaterOrEqual(t, times[i+1].Sub(times[i]), 900*time.Millisecond, "slice %s, call %d", id, i+1)
			}
		}
	})
}

// What a slice's end needs is written once, and again once a second where that came to nothing, however many changes there are.
func TestCloseLooksWriteNothingTwice(t *testing.T) {
	var stops, destroys atomic.Int32
	slowStop := fleettest.Fast()
	slowStop.Stop = 5 * time.Second
	wrap := func(b *bench) fleet.Fleet {
		return stubborn{newWatchedClient(b.client, b.cluster, true), &stops, &destroys, 6}
	}
	onWatchedCluster(t, slowStop, wrap, nil, func(t *testing.T, b *bench) {
		began := time.Now()
		require.NoError(t, b.update(v2(0, b.sliceIDs()[0]), controller.UpdateOptions{MinAlive: 2}))
		assert.EqualValues(t, 6+2, stops.Load(), "two units, three times in vain")
		assert.EqualValues(t, 6+2, destroys.Load())
		assert.GreaterOrEqual(t, time.Since(began), 2*3*900*time.Millisecond+slowStop.Stop)
	})
}
