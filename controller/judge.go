package controller

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/squadronctl/squadron/fleet"
)

// judge decides, look by look, whether units have the statuses that somebody waits for. What one look can't tell, it
// remembers of the looks before: that a unit has failed again and again, that a oneshot has run.
type judge struct {
	aggregator   Aggregator
	statuses     []Status
	waitCount    int
	failureGrace time.Duration
	oneshotGrace time.Duration

	// stateless counts a unit that no machine has, or has loaded yet, as stopped: it is not running, which is all a Stop
	// asks for.
	stateless bool
	// oneshots are the unit bases that the request says to be of that kind.
	oneshots map[string]bool
	// failedBefore are the units that had failed before the operation's write.
	failedBefore map[string]bool

	began time.Time
	units map[string]*unitWatch
}

// unitWatch is what a judge remembers of one unit.
type unitWatch struct {
	detail      *fleet.UnitDetail // as last seen, nil where it was not there
	has         bool              // it had one of the statuses in the last look
	failures    int               // looks in a row in which it had failed
	oldFailure  bool              // it has been failed since before the operation's write
	oneshotRuns map[string]*oneshotRun
}

// oneshotRun is what is known of a oneshot on one machine (R17a).
type oneshotRun struct {
	active     bool      // a look caught it running since the start
	quietSince time.Time // since when it has been launched and inactive; zero while it is not
}

func (c *controller) newJudge(statuses ...Status) *judge {
	return &judge{
		aggregator:   c.aggregator,
		statuses:     statuses,
		waitCount:    c.config.WaitCount,
		failureGrace: c.config.FailureGrace,
		oneshotGrace: c.config.OneshotGrace,
		began:        time.Now(),
		units:        map[string]*unitWatch{},
	}
}

func (j *judge) wants(status Status) bool { return slices.Contains(j.statuses, status) }

// look takes in what one look showed of a unit (nil: it was not there), and says whether the unit has one of the
// statuses, and whether it has failed for good where running is wanted. A look that does not count adds to no failure.
func (j *judge) look(name string, detail *fleet.UnitDetail, now time.Time, counts bool) (has, failed bool) {
	w := j.units[name]
	if w == nil {
		w = &unitWatch{oldFailure: j.failedBefore[name]}
		j.units[name] = w
	}
	w.detail = detail
	statuses, settled := j.statusesOf(detail)
	failing := settled && detail != nil && (slices.Contains(statuses, StatusFailed) || detail.LoadError != "")
	w.countFailure(failing, settled, counts)
	switch {
	case detail == nil:
		w.has = j.wants(StatusNotFound)
	case !settled:
		w.has = false
	case len(statuses) == 0:
		w.has = j.stateless && j.wants(StatusStopped)
	default:
		hasRun := j.oneshotHasRun(w, statuses, now) // asked in each look, since it notes what the look has caught
		w.has = hasRun || j.allWanted(statuses)
	}
	return w.has, j.failedForGood(w, now)
}

// statusesOf gives the unit's status on each of its machines, and false where they don't count yet: a machine reports
// another content's state (R14) or states that StatusIndex doesn't know (R12), or a machine that is due is missing (R13).
func (j *judge) statusesOf(detail *fleet.UnitDetail) ([]Status, bool) {
	if detail == nil {
		return nil, true
	}
	if detail.Missing > 0 && !j.stateless {
		return nil, false
	}
	statuses := make([]Status, 0, len(detail.Machine))
	for _, machine := range detail.Machine {
		if detail.Hash != "" && machine.UnitHash != detail.Hash && !(j.stateless && machine.UnitHash == "") {
			return nil, false
		}
		status, err := j.aggregator.AggregateStatus(detail.Current, detail.Desired, machine.SystemdActive, machine.SystemdSub)
		if err != nil {
			return nil, false
		}
		statuses = append(statuses, status)
	}
	return statuses, true
}

func (j *judge) allWanted(statuses []Status) bool {
	for _, status := range statuses {
		if !j.wants(status) {
			return false
		}
	}
	return true
}

func (w *unitWatch) countFailure(failing, settled, counts bool) {
	if failing {
		if counts {
			w.failures++
		}
		return
	}
	w.failures = 0
	if settled {
		w.oldFailure = false
	}
}

// failedForGood says whether waiting for the unit to run has become pointless (R17).
func (j *judge) failedForGood(w *unitWatch, now time.Time) bool {
	if !j.wants(StatusRunning) || j.wants(StatusFailed) || w.failures < j.waitCount {
		return false
	}
	return !w.oldFailure || now.Sub(j.began) >= j.failureGrace
}

// suspects says whether one of the units was seen failed, though not often enough yet to have failed for good.
func (j *judge) suspects(names []string) bool {
	if !j.wants(StatusRunning) || j.wants(StatusFailed) {
		return false
	}
	return slices.ContainsFunc(names, func(name string) bool { return j.units[name].failures > 0 && !j.units[name].oldFailure })
}

// oneshotHasRun says whether a unit that never stays active has done what it was launched for, on all its machines
// (R17a), and notes what the look shows of that.
func (j *judge) oneshotHasRun(w *unitWatch, statuses []Status, now time.Time) bool {
	if !j.wants(StatusRunning) || !(w.detail.Oneshot || j.oneshots[baseOf(w.detail.Name)]) {
		return false
	}
	if w.oneshotRuns == nil {
		w.oneshotRuns = map[string]*oneshotRun{}
	}
	all := true
	for i, machine := range w.detail.Machine {
		run := w.oneshotRuns[machine.ID]
		if run == nil {
			run = &oneshotRun{}
			w.oneshotRuns[machine.ID] = run
		}
		run.note(w.detail.UnitStatus, machine, now)
		quiet := !run.quietSince.IsZero() && (run.active || now.Sub(run.quietSince) >= j.oneshotGrace)
		all = all && (quiet || j.wants(statuses[i]))
	}
	return all
}

func (r *oneshotRun) note(status fleet.UnitStatus, machine fleet.MachineStatus, now time.Time) {
	switch machine.SystemdActive {
	case "activating", "active", "reloading", "refreshing", "deactivating":
		r.active = true
		r.quietSince = time.Time{}
	case "inactive":
		if status.Current != "launched" {
			r.quietSince = time.Time{}
		} else if r.quietSince.IsZero() {
			r.quietSince = now
		}
	default:
		r.quietSince = time.Time{}
	}
}

// shortfall says of each unit that lacked the statuses in the last look what it was like (R16).
func (j *judge) shortfall() string {
	var lines []string
	for _, name := range slices.Sorted(maps.Keys(j.units)) {
		if w := j.units[name]; !w.has {
			lines = append(lines, fmt.Sprintf("%s %s", name, describe(w.detail)))
		}
	}
	if len(lines) == 0 {
		return "all had it, but not often enough in a row"
	}
	if len(lines) > namesShown {
		lines = append(lines[:namesShown], fmt.Sprintf("and %d more", len(lines)-namesShown))
	}
	return strings.Join(lines, "; ")
}

// forgetOthers drops what is remembered of units that are there no longer, where no unit was named.
func (j *judge) forgetOthers(details map[string]*fleet.UnitDetail) {
	maps.DeleteFunc(j.units, func(name string, _ *unitWatch) bool { return details[name] == nil })
}

// describe says in an error message what a unit was like.
func describe(detail *fleet.UnitDetail) string {
	if detail == nil {
		return "is not there"
	}
	text := fmt.Sprintf("is %s (desired %s)", orNone(detail.Current), orNone(detail.Desired))
	if len(detail.Machine) == 0 {
		return text + ", and no machine took it"
	}
	for _, machine := range detail.Machine {
		text += fmt.Sprintf(", systemd says %s/%s on machine %s", orNone(machine.SystemdActive), orNone(machine.SystemdSub), machineName(machine))
		if detail.Hash != "" && machine.UnitHash != "" && machine.UnitHash != detail.Hash {
			text += " of the content before"
		}
	}
	if detail.LoadError != "" {
		text += ", systemd could not load the unit file: " + detail.LoadError
	}
	if detail.Missing > 0 {
		text += fmt.Sprintf(", %d machines do not have it yet", detail.Missing)
	}
	return text
}

func orNone(state string) string {
	if state == "" {
		return "nothing"
	}
	return state
}

func machineName(machine fleet.MachineStatus) string {
	switch {
	case machine.IP != nil:
		return machine.IP.String()
	case machine.ID != "":
		return machine.ID
	default:
		return "unknown"
	}
}

// failureOf is the error for units that won't run.
func failureOf(judge *judge, names []string) error {
	var errs []error
	for _, name := range names {
		if w := judge.units[name]; w != nil {
			errs = append(errs, fmt.Errorf("%w: %s %s", errUnitFailed, name, describe(w.detail)))
		}
	}
	return errorList(errs)
}
