package progress

import (
	"strings"
	"time"

	"github.com/squadronctl/squadron/controller"
)

// sliceList is what is known of the slices of one operation.
type sliceList struct {
	began   time.Time
	entries []*entry // in the order in which they were first heard of
	byName  map[string]*entry
	note    string // what the update itself is at: paused, rolling back
}

// entry is one slice.
type entry struct {
	place  int
	name   string
	phase  string
	since  time.Time // when it came into the phase
	role   role
	done   bool
	gone   bool
	failed bool
	reason string // why it failed, as last told
}

// role is what an operation has to do with a slice.
type role int

const (
	target    role = iota // it is brought to where it is wanted; in an update it is a new one
	outgoing              // it is to be taken away
	untouched             // it is left alone
)

// state orders entries by how much there is to see.
type state int

const (
	moving state = iota
	failing
	waiting
	settled
)

func newSliceList(began time.Time) sliceList {
	return sliceList{began: began, byName: map[string]*entry{}}
}

// entry gives the entry of a slice, made with the role given where there is none.
func (l *sliceList) entry(name string, role role) *entry {
	name = clean(name)
	e, known := l.byName[name]
	if !known {
		e = &entry{place: len(l.entries), name: name, role: role}
		l.entries = append(l.entries, e)
		l.byName[name] = e
	}
	return e
}

// enter puts a slice into a phase, and reports whether it was in another.
func (e *entry) enter(phase string, at time.Time) bool {
	phase = clean(phase)
	if e.phase == phase {
		return false
	}
	e.phase, e.since = phase, at
	return true
}

// status takes in a slice's phase, and reports whether anything has changed.
func (l *sliceList) status(name, phase string, done bool, at time.Time) bool {
	e := l.entry(name, target)
	changed := e.done != done
	e.done, e.failed = done, phase == string(controller.PhaseFailed)
	return e.enter(phase, at) || changed
}

// event takes in an event of an update, and gives the text of a failure that was not told before.
func (l *sliceList) event(event controller.UpdateEvent) (reason string) {
	if isOfUpdate(event.Phase) {
		l.note = string(event.Phase)
		if event.Phase == controller.PhaseResumed {
			l.note = ""
		}
		return reasonOf(event)
	}
	e := l.entry(sliceName(event), roleOf(event.Phase))
	switch {
	case event.Unit == "":
		e.take(event)
	case e.phase == "":
		e.enter(string(event.Phase), event.Time)
	}
	if event.Err == nil || e.knows(event.Err.Error()) {
		return ""
	}
	e.reason = event.Err.Error()
	return reasonOf(event)
}

// take enters the phase of an event about the slice as a whole.
func (e *entry) take(event controller.UpdateEvent) {
	if e.gone && event.Phase != controller.PhaseDestroyed {
		e.role = roleOf(event.Phase) // made again under its name, as the one copy of an instance group is
	}
	e.enter(string(event.Phase), event.Time)
	e.done = false
	switch event.Phase {
	case controller.PhaseRunning, controller.PhaseRolledBack, controller.PhaseKept:
		e.done, e.failed = e.role != outgoing, false
	case controller.PhaseFailed:
		e.failed = true
	}
	e.gone = event.Phase == controller.PhaseDestroyed
}

// knows tells whether a failure was told before: of a unit and of its slice, or once more when the slice goes.
func (e *entry) knows(reason string) bool {
	return e.reason != "" && (strings.Contains(e.reason, reason) || strings.Contains(reason, e.reason))
}

func isOfUpdate(phase controller.UpdatePhase) bool {
	return phase == controller.PhasePaused || phase == controller.PhaseResumed || phase == controller.PhaseRollingBack
}

// roleOf reads a slice's role off the first that is heard of it.
func roleOf(first controller.UpdatePhase) role {
	switch first {
	case controller.PhasePlanned:
		return outgoing
	case controller.PhaseKept:
		return untouched
	default:
		return target
	}
}

// sliceName is what the user calls the slice of an event: web@3f1, or web where there is one copy.
func sliceName(event controller.UpdateEvent) string {
	if event.Slice == "" {
		return event.Group
	}
	return event.Group + "@" + event.Slice
}

// reasonOf is the line about a failure; empty where an event tells none.
func reasonOf(event controller.UpdateEvent) string {
	if event.Err == nil {
		return ""
	}
	subject := event.Unit
	if subject == "" {
		subject = sliceName(event)
	}
	return subject + ": " + string(event.Phase) + ": " + event.Err.Error()
}

func (e *entry) state() state {
	switch {
	case e.done || e.gone:
		return settled
	case e.phase == string(controller.PhaseFailed):
		return failing
	case e.role == outgoing && e.phase != string(controller.PhaseStopping):
		return waiting
	default:
		return moving
	}
}

func (e *entry) color() color {
	switch {
	case e.failed:
		return red
	case e.state() == settled:
		return green
	default:
		return ""
	}
}

// tally is how far an operation has come.
type tally struct{ done, all, failed int }

// tally counts the places of slices. In an update a place is taken by an old slice and then by a new one, before or after
// the old one goes, and is done when both have come to their ends: so many slices as the group has are counted, not those
// that come and go.
func (l *sliceList) tally() tally {
	var t tally
	var outgoings, left, targets, reached, others, well int
	for _, e := range l.entries {
		if e.failed {
			t.failed++
		}
		switch {
		case e.role == outgoing:
			outgoings++
			left += count(e.gone)
		case e.gone: // a new one that failed, or one that somebody else took away: no place of its own any more
		case e.role == target:
			targets++
			reached += count(e.done && !e.failed)
		default:
			others++
			well += count(e.done)
		}
	}
	t.all = others + max(outgoings, targets)
	t.done = t.all - (others - well) - max(outgoings-left, targets-reached)
	return t
}

func count(is bool) int {
	if is {
		return 1
	}
	return 0
}
