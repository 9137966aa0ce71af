package main

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/squadronctl/squadron/controller"
	"github.com/squadronctl/squadron/fleet"
)

// watch follows the slices of a group, says what has changed from look to look, and keeps the extremes.
type watch struct {
	story  *story
	begin  time.Time
	phases map[string]string // by slice ID, as of the last look
	old    map[string]bool   // the slices of the first look

	looks, leastRunning, most int
}

// newWatch looks for the first time.
func newWatch(ctx context.Context, s *story) (*watch, error) {
	units, err := s.watcher.GetStatus(ctx, s.req)
	if err != nil {
		return nil, err
	}
	w := &watch{story: s, begin: time.Now(), phases: phasesOf(units), old: map[string]bool{}, looks: 1}
	for id := range w.phases {
		w.old[id] = true
	}
	w.leastRunning, w.most = w.running(), len(w.phases)
	return w, nil
}

// start looks again and again until the function it returns is called or ctx ends.
func (w *watch) start(ctx context.Context) (stop func() error) {
	ctx, cancel := context.WithCancel(ctx)
	var failure error
	var running sync.WaitGroup
	running.Go(func() { failure = w.follow(ctx) })
	return func() error {
		cancel()
		running.Wait()
		return failure
	}
}

func (w *watch) follow(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(w.story.watchSleep):
		}
		units, err := w.story.watcher.GetStatus(ctx, w.story.req)
		switch {
		case ctx.Err() != nil:
			return nil
		case err == nil || controller.IsUnitNotFound(err):
			w.take(phasesOf(units))
		case !fleet.IsTemporary(err):
			return err
		}
	}
}

// take compares a look with the one before.
func (w *watch) take(now map[string]string) {
	before := w.phases
	w.phases = now
	w.looks++
	w.leastRunning, w.most = min(w.leastRunning, w.running()), max(w.most, len(now))
	for _, id := range slices.Sorted(maps.Keys(before)) {
		if now[id] == "" {
			w.report(id, "gone")
		}
	}
	for _, id := range slices.Sorted(maps.Keys(now)) {
		if before[id] != now[id] {
			w.report(id, now[id])
		}
	}
}

func (w *watch) report(id string, what string) {
	age := "new"
	if w.old[id] {
		age = "old"
	}
	w.story.say("   %5.2f s  %s slice %-4s  %-9s  now %d running of %d", time.Since(w.begin).Seconds(), age, id, what, w.running(), len(w.phases))
}

func (w *watch) running() int {
	n := 0
	for _, phase := range w.phases {
		if phase == string(controller.StatusRunning) {
			n++
		}
	}
	return n
}
