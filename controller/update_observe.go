package controller

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/squadronctl/squadron/internal/errmask"
)

// observe makes a situation of a look, and brings what is remembered up to date with it.
func (r *updateRun) observe(ctx context.Context, compared comparison) situation {
	r.counts = r.cadence.counts(time.Now())
	r.forgetGone(compared)
	for id := range compared.slices {
		if r.memory[id] == nil {
			r.memory[id] = r.newSliceMemory(id, nil)
		}
	}
	now := time.Now()
	var views []sliceView
	for _, id := range slices.Sorted(maps.Keys(r.memory)) {
		views = append(views, r.view(ctx, id, compared.slices[id], now))
	}
	s := r.newSituation() // made last: a failure found above is what ends the update
	s.slices = views
	s.wanted = r.target.wanted(s.tally().staying)
	r.reportViews(s)
	return s
}

// view is what is to be decided on of one slice. A nil slice is one that the look lacks, which a few looks in a row have to
// do before it is believed; until then it is there, and nothing is known of it.
func (r *updateRun) view(ctx context.Context, id string, slice *comparedSlice, now time.Time) sliceView {
	m := r.memory[id]
	v := sliceView{id: id, replaceable: r.replaceable(id), launched: true, own: m.own(), absent: slice == nil}
	v.made = m.made && !r.restores() // what was brought back stays, whatever becomes of it
	v.age = r.age(id)
	if slice != nil {
		m.see(slice, r.target)
		v.launched = slice.launched()
		v.running, v.down, v.untold = m.noteActivity(r.controller.activityOf(slice, r.content.oneshots), r.counts, r.controller.config.WaitCount)
	}
	v.isNew = m.isNew
	switch {
	case m.removal != nil:
		v.removing, v.abandoned = true, m.removal.abandoned != nil
	case v.isNew && !m.own() && r.target.leavesAlone():
		v.launched, v.ready = true, slice != nil
	case v.isNew:
		v.ready = r.readiness(ctx, id, m, slice, now)
		v.failed = m.failure != nil
	}
	return v
}

// readiness follows a new slice from launched to ready (R23), and notes when it has failed (R17, R25).
func (r *updateRun) readiness(ctx context.Context, id string, m *sliceMemory, slice *comparedSlice, now time.Time) bool {
	if slice == nil || !slice.launched() && !m.own() {
		return false // it may be there or not, or nobody has asked it to run yet
	}
	if m.rising == nil {
		m.rising = r.waitForRunning(m.names())
		m.rising.judge.failedBefore = r.controller.failedUnits(slice.units)
	}
	if m.material.untried {
		return m.failure == nil && len(slice.units) == len(m.units)
	}
	running, err := m.rising.take(detailsByName(slice))
	if running = r.healthy(ctx, id, m, slice, running); !running {
		m.runningSince = time.Time{}
	} else if m.runningSince.IsZero() {
		m.runningSince = now
	}
	ready := running && now.Sub(m.runningSince) >= r.readyTime() && m.failure == nil
	if ready {
		m.unreadySince = time.Time{}
	} else if m.unreadySince.IsZero() {
		m.unreadySince = now
	}
	limit := r.sliceTimeout()
	if late := now.Sub(m.unreadySince) - r.readyTime(); err == nil && !ready && late >= limit {
		err = errmask.Maskf(errWaitTimeoutReached, "not ready after %v: %s", now.Sub(m.unreadySince), m.shortfall())
	}
	if err != nil && r.replaceable(id) {
		r.failed(id, err)
	}
	return ready && m.failure == nil
}

// shortfall says what a new slice lacks.
func (m *sliceMemory) shortfall() string {
	if m.health.err != nil {
		return fmt.Sprintf("it runs, and its check says: %v", m.health.err)
	}
	return m.rising.judge.shortfall()
}

// failed notes why a new slice won't become ready, which ends the update. The first reason stands.
func (r *updateRun) failed(id string, err error) {
	if m := r.memory[id]; m.failure == nil {
		m.failure = errmask.Maskf(err, "%s %s", r.newSliceName(), sliceName(id))
		r.events.slice(id, PhaseFailed, false, err)
		r.end(m.failure)
	}
}

func (r *updateRun) newSliceName() string {
	if r.restores() {
		return "slice brought back"
	}
	return "new slice"
}

// age is how young a slice is where that decides who goes: when slices are too many.
func (r *updateRun) age(id string) int {
	if r.scales() {
		return r.controller.births.age(r.req.Group, id)
	}
	return 0
}

// restores says whether this is the way back.
func (r *updateRun) restores() bool {
	_, ok := r.target.(*restoration)
	return ok
}

// scales says whether this is a change of the number of slices.
func (r *updateRun) scales() bool {
	_, ok := r.target.(*scaling)
	return ok
}

func (r *updateRun) sliceTimeout() time.Duration {
	return positiveOr(r.opts.SliceTimeout, r.controller.config.WaitTimeout)
}

func (r *updateRun) readyTime() time.Duration { return time.Duration(r.opts.ReadySecs) * time.Second }

// waitForRunning follows the units of a slice. That they run is confirmed at leisure, however closely looks follow changes: a
// new slice that is about to fail shall fail before an old one goes for it.
func (r *updateRun) waitForRunning(units []string) *wait {
	w := r.controller.newWait(r.controller.newJudge(StatusRunning))
	w.names, w.cadence.interval = units, r.cadence.interval
	w.judge.oneshots = r.content.oneshots
	return w
}

// numbers puts a situation into words.
func (s situation) numbers() string {
	var running, old, fresh []string
	for _, slice := range s.slices {
		if slice.running {
			running = append(running, sliceName(slice.id))
		}
		if slice.isNew {
			fresh = append(fresh, sliceName(slice.id))
		} else {
			old = append(old, sliceName(slice.id))
		}
	}
	return strings.Join([]string{
		"running " + listNames(running), "new " + listNames(fresh), "old " + listNames(old),
	}, "; ")
}
