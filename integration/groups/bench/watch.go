package bench

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/squadronctl/squadron/controller"
)

// Watch holds every look at a cluster during an update against what the update owes (R22), by what the cluster says: how
// many slices run, how many there are, how many are on their way out, and that no other unit changes.
type Watch struct {
	group     string
	templates []string // names of the group's units, with @.
	opts      controller.UpdateOptions
	limit     int // most slices there may be
	others    map[string]Unit
	end       func()

	mutex    sync.Mutex
	began    time.Time
	slices   map[string]*watchedSlice
	report   Report
	lastLine string

	lossesAllowed bool
}

type watchedSlice struct {
	old      bool              // it was there in the first look
	launched bool              // all its units were seen launched at once
	runs     bool              // all its units were active in the last look, or have no state where they were active last
	doubtful bool              // since the first look nothing speaks against its running but that states are missing
	lost     bool              // it ran, and then did not though it was launched
	ranOn    map[string]string // the machines on which its units were seen active, by unit
}

// Report is what a Watch has seen.
type Report struct {
	Looks, FewestRunning, MostExisting, MostLeaving, Lost int
	Findings                                              []string // what was not as it must be
	History                                               []string // each change of the group, one a line
}

// WatchUpdate begins to watch the group of req, at whose end wanted slices are wanted (0: as many as there are). The units
// named as others must not change at all.
func (o *Observer) WatchUpdate(t testing.TB, req controller.Request, opts controller.UpdateOptions, wanted int, others ...string) *Watch {
	first := o.Now(t)
	w := &Watch{group: req.Group, opts: opts, began: time.Now(), slices: map[string]*watchedSlice{}, others: map[string]Unit{}}
	for _, unit := range req.Units {
		w.templates = append(w.templates, unit.Name)
	}
	for _, name := range others {
		w.others[name] = first.Units[name]
	}
	found := len(w.unitsBySlice(first))
	w.limit = max(found, wanted) + opts.MaxGrowth
	w.report.FewestRunning = found
	w.take(first)
	w.end = o.Follow(w.take)
	return w
}

// AllowLosses says that slices may be lost without the update's doing: one that ran and no longer does though nobody asked
// any of its units to stop. So many fewer may run (R22), as long as they don't run again.
func (w *Watch) AllowLosses() {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	w.lossesAllowed = true
}

// End ends the watching and asserts that nothing was found.
func (w *Watch) End(t testing.TB) Report {
	t.Helper()
	w.end()
	w.mutex.Lock()
	defer w.mutex.Unlock()
	history := strings.Join(w.report.History, "\n")
	assert.Empty(t, w.report.Findings, "group %s, %+v\n%s", w.group, w.opts, history)
	assert.NotZero(t, w.report.Looks)
	t.Logf("%s %+v: %d looks, fewest running %d, most existing %d, most leaving %d, lost %d", w.group, w.opts,
		w.report.Looks, w.report.FewestRunning, w.report.MostExisting, w.report.MostLeaving, w.report.Lost)
	return w.report
}

func (w *Watch) take(look Snapshot) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	w.report.Looks++
	bySlice := w.unitsBySlice(look)
	running, leaving, lost := 0, 0, 0
	for id, units := range bySlice {
		if w.slices[id] == nil {
			w.slices[id] = &watchedSlice{old: w.report.Looks == 1}
		}
		slice := w.slices[id]
		whole := len(units) == len(w.templates)
		ran := slice.runs
		launched := whole && all(units, func(u Unit) bool { return u.Desired == "launched" })
		slice.runs = whole && all(units, func(u Unit) bool { return u.Here().Active == "active" || ran && launched && slice.keeps(u) })
		slice.noteMachines(units)
		slice.doubtful = !slice.runs && launched && (slice.doubtful || w.report.Looks == 1) && all(units, mayRun)
		if slice.runs || slice.doubtful {
			running++
		}
		slice.lost = slice.lost || ran && !slice.runs && launched
		if slice.launched && !launched {
			leaving++
		}
		slice.launched = slice.launched || launched
	}
	for id, slice := range w.slices {
		slice.runs = slice.runs && bySlice[id] != nil
		// A new slice that fails is the update's own affair, unless something is being broken on purpose.
		if slice.lost && !slice.runs && (slice.old || w.lossesAllowed) {
			lost++
		}
	}
	w.note(look.At, bySlice, running, leaving)
	w.report.Lost = max(w.report.Lost, lost)
	w.hold(lost == 0 || w.lossesAllowed, "%d slices are lost", lost)
	w.hold(running+lost >= w.opts.MinAlive, "%d slices run, and %d are lost", running, lost)
	w.hold(len(bySlice) <= w.limit, "there are %d slices, and at most %d may be", len(bySlice), w.limit)
	w.hold(w.opts.MinAlive == 0 || leaving <= w.opts.MinAlive, "%d slices are on their way out", leaving)
	w.holdOthers(look)
}

// keeps says that nothing is said of a unit where it was seen active: fleet itself loses a state for a while (Unit.Reported), and
// what runs goes on running.
func (s *watchedSlice) keeps(u Unit) bool {
	return u.MachineID != "" && u.Here() == (State{}) && s.ranOn[u.Name] == u.MachineID
}

// mayRun says that a unit runs, or is on a machine and nothing is said of it.
func mayRun(u Unit) bool {
	return u.Here().Active == "active" || u.MachineID != "" && u.Here() == (State{})
}

func (s *watchedSlice) noteMachines(units []Unit) {
	for _, u := range units {
		if u.Here().Active == "active" {
			if s.ranOn == nil {
				s.ranOn = map[string]string{}
			}
			s.ranOn[u.Name] = u.MachineID
		}
	}
}

func all(units []Unit, is func(Unit) bool) bool {
	return !slices.ContainsFunc(units, func(u Unit) bool { return !is(u) })
}

// hold notes what is wrong, and when.
func (w *Watch) hold(ok bool, format string, args ...any) {
	if !ok && len(w.report.Findings) < 20 {
		w.report.Findings = append(w.report.Findings, fmt.Sprintf("%6.2f s: ", time.Since(w.began).Seconds())+fmt.Sprintf(format, args...))
	}
}

// holdOthers holds the others against the last look: desired state and options stay, and so does, once it is there, the
// machine, and once it runs, that it runs. A state that fleet has lost is the last one still.
func (w *Watch) holdOthers(look Snapshot) {
	for name, before := range w.others {
		now, there := look.Units[name]
		if there && now.MachineID == before.MachineID && now.Here() == (State{}) {
			now.States = before.States
		}
		same := there && now.Desired == before.Desired && now.Options == before.Options &&
			(before.MachineID == "" || now.MachineID == before.MachineID) &&
			(before.Here().Active != "active" || now.Here().Active == "active")
		w.hold(same, "another group's unit has changed: %+v, before %+v", now, before)
		if there {
			w.others[name] = now
		}
	}
}

func (w *Watch) note(at time.Time, bySlice map[string][]Unit, running, leaving int) {
	r := &w.report
	r.FewestRunning = min(r.FewestRunning, running)
	r.MostExisting = max(r.MostExisting, len(bySlice))
	r.MostLeaving = max(r.MostLeaving, leaving)
	var ids []string
	for id := range bySlice {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	line := fmt.Sprintf("%d run, %d leave, %d there:", running, leaving, len(ids))
	for _, id := range ids {
		line += " " + id
		for _, unit := range bySlice[id] {
			line += fmt.Sprintf(" [%s/%s %s %.4s]", unit.Current, unit.Desired, unit.Here().Active, lastOf(unit.MachineID, 2))
		}
	}
	if line != w.lastLine {
		r.History = append(r.History, fmt.Sprintf("%6.2f s: %s", at.Sub(w.began).Seconds(), line))
		w.lastLine = line
	}
}

// unitsBySlice gives the group's units by slice ID, those of each slice in the order of the request.
func (w *Watch) unitsBySlice(look Snapshot) map[string][]Unit {
	found := map[string][]Unit{}
	for _, template := range w.templates {
		before, after, _ := strings.Cut(template, "@")
		for _, unit := range look.Named(before + "@") {
			if id, ok := strings.CutSuffix(strings.TrimPrefix(unit.Name, before+"@"), after); ok {
				found[id] = append(found[id], unit)
			}
		}
	}
	return found
}
