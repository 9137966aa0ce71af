package fleettest

import (
	"context"
	"fmt"
	"time"

	"github.com/squadronctl/squadron/fleet"
)

// watchRules are about hearing of changes.
func watchRules() []backendRule {
	return []backendRule{
		{
			name:  "watch",
			why:   "who waits looks when it is told of a change, and finds it then",
			has:   isUnitWatcher,
			check: checkWatch,
		}, {
			name:  "watch without changes",
			why:   "each value costs who waits a look, so where nothing happens there is none for long",
			has:   isUnitWatcher,
			check: checkWatchQuiet,
		}, {
			name:  "watch that ends",
			why:   "a closed channel is how a watcher learns that it has to watch anew, and nothing of a watch outlives its context",
			has:   isUnitWatcher,
			check: checkWatchEnds,
		},
	}
}

func isUnitWatcher(backend fleet.Fleet) bool { _, ok := backend.(fleet.UnitWatcher); return ok }

func (r *ruleRun) watch(ctx context.Context) (<-chan struct{}, bool) {
	changes, err := r.backend.(fleet.UnitWatcher).WatchUnits(ctx)
	return changes, r.ok("watch units", err)
}

// checkWatch takes a unit through its life, and looks at it only when it is told of a change.
func checkWatch(r *ruleRun) {
	ctx, cancel := context.WithCancel(r.ctx)
	defer cancel()
	changes, ok := r.watch(ctx)
	if !ok {
		return
	}
	name := r.unit("@1.service")
	isThere := func(status fleet.UnitStatus, err error) bool { return err == nil && is(loaded, false)(status) }
	runs := func(status fleet.UnitStatus, err error) bool { return err == nil && is(launched, true)(status) }
	isGone := func(_ fleet.UnitStatus, err error) bool { return fleet.IsUnitNotFound(err) }
	_ = r.submit(name, r.content(1)) && r.hears(changes, name, "loaded", isThere) &&
		r.start(name) && r.hears(changes, name, "running", runs) &&
		r.ok("stop "+name, r.backend.Stop(r.ctx, name)) && r.hears(changes, name, "stopped", isThere) &&
		r.destroy(name) && r.hears(changes, name, "gone", isGone)
}

// hears reads a unit after each value that comes, until it is as it should, and says so where it never was.
func (r *ruleRun) hears(changes <-chan struct{}, name, what string, as func(fleet.UnitStatus, error) bool) bool {
	end := time.NewTimer(r.options.Wait)
	defer end.Stop()
	for told := 0; ; told++ {
		select {
		case _, open := <-changes:
			if !open {
				r.failf("the watch has ended before %s was %s", name, what)
				return false
			}
		case <-end.C:
			status, err := r.backend.GetStatus(r.ctx, name)
			r.failf("told of %d changes, and with none of them %s was %s: it is %+v (%v)", told, name, what, status, err)
			return false
		case <-r.ctx.Done():
			r.failf("%w", r.ctx.Err())
			return false
		}
		if as(r.backend.GetStatus(r.ctx, name)) {
			return true
		}
	}
}

// quietValues is how many values may come in a row, while others make changes, before a watch counts as one that never rests.
const quietValues = 10000

// checkWatchQuiet takes all values that come at once: they have to run out.
func checkWatchQuiet(r *ruleRun) {
	ctx, cancel := context.WithCancel(r.ctx)
	defer cancel()
	changes, ok := r.watch(ctx)
	if !ok {
		return
	}
	for range quietValues {
		select {
		case <-changes:
		default:
			return
		}
	}
	r.failf("%d values came one after the other, without a pause", quietValues)
}

func checkWatchEnds(r *ruleRun) {
	ctx, cancel := context.WithCancel(r.ctx)
	changes, ok := r.watch(ctx)
	cancel()
	if !ok {
		return
	}
	closed := func() (bool, string) {
		for range quietValues {
			select {
			case _, open := <-changes:
				if !open {
					return true, ""
				}
			default:
				return false, "the channel of a watch whose context has ended is not closed"
			}
		}
		return false, fmt.Sprintf("%d values came after the context of a watch had ended", quietValues)
	}
	if !r.eventually(closed) {
		return
	}
	if again, err := r.backend.(fleet.UnitWatcher).WatchUnits(ctx); err != nil {
		r.endedAs("WatchUnits", err)
	} else {
		changes = again
		r.eventually(closed)
	}
}
