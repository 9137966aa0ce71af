package controller

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/squadronctl/squadron/fleet"
)

// sliceMemory is what an update remembers of one slice from look to look: what no single look can show.
type sliceMemory struct {
	made     bool // created by this update
	launched bool // found loaded, and launched by this update

	isNew    bool            // it was as wanted when it was last seen
	fresh    bool            // it had the request's content then
	units    map[string]bool // its units, as far as they were ever seen or made
	expected map[string]bool // the units that it should have
	absent   int             // looks in a row that lacked it
	down     bool            // it was known not to run in the last look that told
	untold   int             // looks in a row that did not tell whether it runs

	// Of a new slice: the wait for its running, since when it has run often enough in a row, since when it is not ready,
	// and why it won't be.
	rising       *wait
	runningSince time.Time
	unreadySince time.Time
	failure      error
	health       health // what the caller's check says of it

	material material // what this update has made it of

	removal *removal // nil unless it is being taken away
}

func newSliceMemory(units ...string) *sliceMemory {
	return &sliceMemory{units: stringSet(units)}
}

// newSliceMemory begins to remember a slice that was found.
func (r *updateRun) newSliceMemory(id string, units []string) *sliceMemory {
	m := newSliceMemory(units...)
	if !r.restores() {
		m.expected = stringSet(r.unitNames(id))
	}
	return m
}

// own says whether this update has had the slice run.
func (m *sliceMemory) own() bool { return m.made || m.launched }

// names are the slice's units, sorted.
func (m *sliceMemory) names() []string { return slices.Sorted(maps.Keys(m.units)) }

// see takes in that a look showed the slice.
func (m *sliceMemory) see(slice *comparedSlice, target target) {
	m.absent = 0
	for _, detail := range slice.units {
		m.units[detail.Name] = true
	}
	m.isNew = target.isNew(slice, m.made)
	m.fresh = slice.isNew()
}

// noteActivity says whether the slice runs, whether it does not, and whether that has not been known for WaitCount looks.
func (m *sliceMemory) noteActivity(seen activity, counts bool, waitCount int) (isRunning, isDown, isUntold bool) {
	if seen != activityUnknown {
		m.untold = 0
		m.down = seen == activityDown
		return seen == activityRunning, seen == activityDown, false
	}
	if counts {
		m.untold++
	}
	return false, false, m.untold >= waitCount
}

// removal is a slice on its way out: its units are stopped, then destroyed, then gone.
type removal struct {
	units      []string
	destroying bool            // else stopping
	asked      map[string]bool // units that the step at hand has been written for
	answered   map[string]bool // units whose DELETE has been answered: they are gone, or were
	steps      *wait           // for stopped, then for not found
	since      time.Time
	abandoned  error // why the update has given up on it
}

// gone counts the looks that lack all units of a slice that has been destroyed.
func (m *removal) gone(slice *comparedSlice) bool {
	if !m.destroying || len(m.answered) < len(m.units) {
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

// errVanished is why a slice is gone that the update did not take away.
var errVanished = errors.New("somebody else has destroyed it")

// forgetGone drops the memory of slices that are there no longer. Those that were taken away have been gone for WaitCount
// looks; any other has been destroyed by somebody else, once as many looks lack it. One of this update's own that vanishes
// so is a failure: another one in its place might go the same way.
func (r *updateRun) forgetGone(compared comparison) {
	for _, id := range slices.Sorted(maps.Keys(r.memory)) {
		m, slice := r.memory[id], compared.slices[id]
		switch {
		case m.removal != nil:
			if m.removal.gone(slice) {
				delete(r.memory, id)
				r.events.slice(id, PhaseDestroyed, false, nil)
				if !m.made {
					r.gone++
				}
			}
		case slice == nil:
			if r.counts {
				m.absent++
			}
			if m.absent < r.controller.config.WaitCount {
				continue
			}
			m.health.stop()
			delete(r.memory, id)
			r.events.slice(id, PhaseDestroyed, false, errVanished)
			if m.own() && m.failure == nil {
				vanished := fmt.Errorf("new slice %s has vanished: %w", sliceName(id), errVanished)
				r.vanished = append(r.vanished, vanished)
				r.end(vanished)
			}
		}
	}
}
