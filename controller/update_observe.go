package controller

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/squadronctl/squadron/internal/errmask"
)

// observe makes a situation of a look, and brings what is remembered up to date with it.
func (r *updateRun) observe(compared comparison) situation {
	r.forgetGone(compared)
	for id := range compared.slices {
		if r.memory[id] == nil {
			r.memory[id] = newSliceMemory()
		}
	}
	now := time.Now()
	var views []sliceView
	for _, id := range slices.Sorted(maps.Keys(r.memory)) {
		views = append(views, r.view(id, compared.slices[id], now))
	}
	s := r.newSituation() // made last: a failure found above is what ends the update
	s.slices = views
	return s
}

// view is what is to be decided on of one slice. A nil slice is one that the look lacks, which a few looks in a row have to
// do before it is believed; until then it is there, and nothing is known of it.
func (r *updateRun) view(id string, slice *comparedSlice, now time.Time) sliceView {
	m := r.memory[id]
	v := sliceView{id: id, replaceable: r.replaceable(id), launched: true, own: m.own(), made: m.made, absent: slice == nil}
	if slice != nil {
		m.see(slice)
		v.launched = slice.launched()
		v.running, v.down, v.untold = m.noteActivity(r.controller.activityOf(slice, r.content.oneshots), r.controller.config.WaitCount)
	}
	v.isNew = m.isNew
	switch {
	case m.removal != nil:
		v.removing, v.abandoned = true, m.removal.abandoned != nil
	case v.isNew:
		v.ready = r.readiness(id, m, slice, now)
		v.failed = m.failure != nil
	}
	return v
}

// readiness follows a new slice from launched to ready (R23), and notes when it has failed (R17, R25).
func (r *updateRun) readiness(id string, m *sliceMemory, slice *comparedSlice, now time.Time) bool {
	if slice == nil || !slice.launched() && !m.own() {
		return false // it may be there or not, or nobody has asked it to run yet
	}
	if m.rising == nil {
		m.rising = r.waitForRunning(m.names())
		m.rising.judge.failedBefore = r.controller.failedUnits(slice.units)
	}
	running, err := m.rising.take(detailsByName(slice))
	if !running {
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
	limit := r.controller.config.WaitTimeout
	if late := now.Sub(m.unreadySince) - r.readyTime(); err == nil && !ready && late >= limit {
		err = errmask.Maskf(errWaitTimeoutReached, "not ready after %v: %s", now.Sub(m.unreadySince), m.rising.judge.shortfall())
	}
	if err != nil && r.replaceable(id) {
		r.failed(id, err)
	}
	return ready && m.failure == nil
}

// failed notes why a new slice won't become ready, which ends the update. The first reason stands.
func (r *updateRun) failed(id string, err error) {
	if m := r.memory[id]; m.failure == nil {
		m.failure = errmask.Maskf(err, "new slice %s", sliceName(id))
		r.end(m.failure)
	}
}

func (r *updateRun) readyTime() time.Duration { return time.Duration(r.opts.ReadySecs) * time.Second }

// waitForRunning follows the units of a slice.
func (r *updateRun) waitForRunning(units []string) *wait {
	w := r.controller.newWait(r.controller.newJudge(StatusRunning))
	w.names = units
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
