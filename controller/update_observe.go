package controller

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/squadronctl/squadron/fleet"
	"github.com/squadronctl/squadron/internal/errmask"
)

// removal is a slice on its way out: its units are stopped, then destroyed, then gone.
type removal struct {
	units      []string
	destroying bool  // else stopping
	asked      bool  // each unit has been asked to be destroyed once, whatever the listings showed of it
	steps      *wait // for stopped, then for not found
	since      time.Time
	abandoned  error // why the update has given up on it
}

// observe makes a situation of a look, and brings what is remembered up to date with it.
func (r *updateRun) observe(compared comparison) situation {
	now := time.Now()
	r.forgetGone(compared, now)
	var views []sliceView
	for _, id := range slices.Sorted(maps.Keys(r.withRemembered(compared))) {
		views = append(views, r.view(id, compared.slices[id], now))
	}
	// Made last: a failure found above is what ends the update.
	s := r.newSituation()
	s.slices = views
	return s
}

// withRemembered is the set of slices that are there, or are being taken away and may still be.
func (r *updateRun) withRemembered(compared comparison) map[string]bool {
	ids := map[string]bool{}
	for id := range compared.slices {
		ids[id] = true
	}
	for id, m := range r.memory {
		if m.removal != nil {
			ids[id] = true
		}
	}
	return ids
}

// forgetGone moves removals on, and drops the memory of slices that are there no longer: those that were taken away,
// and those that somebody else has destroyed.
func (r *updateRun) forgetGone(compared comparison, now time.Time) {
	for id, m := range r.memory {
		slice := compared.slices[id]
		switch {
		case m.removal != nil:
			if m.removal.gone(slice) {
				delete(r.memory, id)
				r.moved = now
			}
		case slice == nil:
			delete(r.memory, id)
		}
	}
}

// gone counts the looks that lack all units of a slice being destroyed.
func (m *removal) gone(slice *comparedSlice) bool {
	if !m.destroying {
		return false
	}
	reached, _ := m.steps.take(detailsByName(slice))
	return reached
}

func detailsByName(slice *comparedSlice) map[string]*fleet.UnitDetail {
	if slice == nil {
		return nil
	}
	details := make(map[string]*fleet.UnitDetail, len(slice.units))
	for i := range slice.units {
		details[slice.units[i].Name] = &slice.units[i]
	}
	return details
}

func (r *updateRun) view(id string, slice *comparedSlice, now time.Time) sliceView {
	m := r.memory[id]
	if m == nil {
		m = &sliceMemory{unreadySince: now}
		r.memory[id] = m
	}
	v := sliceView{
		id:          id,
		replaceable: r.replaceable(id),
		own:         m.own(),
	}
	v.running, v.down = m.noteActivity(r.controller.activityOf(slice, r.content.oneshots), r.controller.config.WaitCount)
	if slice != nil {
		// A content that the backend does not tell of is the one this update has just given.
		v.isNew = slice.isNew() || slice.unknown && m.made
		v.launched = slice.launched()
		m.seenUnits = namesOf(slice.units) // a look that the listing was made sure of, so what it lacks is not there
	}
	if m.removal != nil {
		v.removing, v.abandoned = true, m.removal.abandoned != nil
		return v
	}
	if v.isNew {
		v.ready = r.readiness(id, m, slice, now)
		v.failed = m.failure != nil
	}
	return v
}

// noteActivity says whether the slice runs, and whether it does not. What is not known in WaitCount looks in a row won't
// come to be known, and the slice is not one that anybody can count on.
func (m *sliceMemory) noteActivity(seen activity, waitCount int) (isRunning, isDown bool) {
	if seen != unknown {
		m.unknownLooks = 0
		return seen == running, seen == down
	}
	m.unknownLooks++
	return false, m.unknownLooks >= waitCount
}

// readiness follows a new slice from launched to ready (R23), and notes when it has failed (R17, R25).
func (r *updateRun) readiness(id string, m *sliceMemory, slice *comparedSlice, now time.Time) bool {
	if !slice.launched() && !m.own() {
		m.unreadySince = now // nobody has asked it to run yet
		return false
	}
	if m.rising == nil {
		m.rising = r.waitForRunning(slice)
	}
	running, err := m.rising.take(detailsByName(slice))
	if !running {
		m.runningSince = time.Time{}
	} else if m.runningSince.IsZero() {
		m.runningSince = now
	}
	ready := running && now.Sub(m.runningSince) >= r.readyTime()
	if ready {
		m.unreadySince = time.Time{}
	} else if m.unreadySince.IsZero() {
		m.unreadySince = now
	}
	limit := r.controller.config.WaitTimeout
	if late := now.Sub(m.unreadySince) - r.readyTime(); err == nil && !ready && late >= limit {
		err = errmask.Maskf(errWaitTimeoutReached, "not ready after %v: %s", now.Sub(m.unreadySince), m.rising.judge.shortfall())
	}
	if err != nil && m.failure == nil && r.replaceable(id) {
		m.failure = errmask.Maskf(err, "new slice %s", sliceName(id))
		r.end(m.failure)
	}
	return ready
}

func (r *updateRun) readyTime() time.Duration { return time.Duration(r.opts.ReadySecs) * time.Second }

// waitForRunning follows a slice's units. One that had failed when this update first saw it may have done so under an
// earlier content or start.
func (r *updateRun) waitForRunning(slice *comparedSlice) *wait {
	w := r.controller.newWait(r.controller.newJudge(StatusRunning))
	w.names = namesOf(slice.units)
	w.judge.oneshots = r.content.oneshots
	if m := r.memory[slice.id]; m == nil || !m.own() {
		w.judge.failedBefore = r.controller.failedUnits(slice.units)
	}
	return w
}

// names are the units of the slice that the update knows of.
func (m *sliceMemory) names() []string {
	if m.removal != nil {
		return m.removal.units
	}
	return m.seenUnits
}

// counts puts a situation's numbers into words.
func (r *updateRun) counts(s situation) string {
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
