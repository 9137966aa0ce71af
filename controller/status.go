package controller

import (
	"slices"
	"strings"

	"github.com/squadronctl/squadron/fleet"
	"github.com/squadronctl/squadron/internal/errmask"
	"github.com/squadronctl/squadron/logging"
)

// Status is what a unit's fleet and systemd states add up to.
type Status string

// The statuses. They are not to be changed.
var (
	// StatusFailed is a unit that systemd gave up.
	StatusFailed Status = "failed"
	// StatusNotFound is a unit that the cluster does not have. No combination of states aggregates to it.
	StatusNotFound Status = "not-found"
	// StatusRunning is a unit that does what it is there for: a service runs, a timer waits, a mount is mounted.
	StatusRunning Status = "running"
	// StatusStarting is a unit on its way to running, one that systemd restarts by itself included.
	StatusStarting Status = "starting"
	// StatusStopped is a unit that is on the cluster and does not run.
	StatusStopped Status = "stopped"
	// StatusStopping is a unit on its way to stopped.
	StatusStopping Status = "stopping"
)

// StatusContext is one row of StatusIndex: a pattern for each of the four states, and what they add up to. A pattern is
// "*" for any value, or alternatives with "|" between them.
type StatusContext struct {
	FleetCurrent  string
	FleetDesired  string
	SystemdActive string
	SystemdSub    string
	Aggregated    Status
}

// StatusIndex is the table by which Aggregator reads states. The first row that matches decides. A program that knows
// states of its own may change it before the first use, and not later: it is read without a lock.
var StatusIndex = []StatusContext{
	{"inactive", "launched", "active", "running", StatusRunning},
	{"inactive", "*", "*", "*", StatusStopped},
	{"loaded|launched", "*", "inactive", "*", StatusStopped},
	{"loaded|launched", "*", "failed", "*", StatusFailed},
	{"loaded|launched", "*", "activating", "*", StatusStarting},
	{"loaded|launched", "*", "deactivating", "*", StatusStopping},
	{"loaded|launched", "*", "active|reloading", "stop-sigterm|stop-post|stop", StatusStopping},
	{"loaded|launched", "*", "active|reloading", "auto-restart|launched|start-pre|start-pre|start-post|start|dead",
		StatusStarting},
	{"loaded|launched", "*", "active|reloading", "exited|running", StatusRunning},
	// What those do not cover: a service that reloads, and the sub states of other types of units, such as listening,
	// waiting, elapsed, mounted, plugged and active.
	{"loaded|launched", "*", "active|reloading|refreshing", "*", StatusRunning},
	{"loaded|launched", "*", "maintenance", "*", StatusStopped},
}

// known says whether the status is one that a unit can come to have.
func (s Status) known() bool {
	return s == StatusNotFound || slices.ContainsFunc(StatusIndex, func(row StatusContext) bool { return row.Aggregated == s })
}

// Aggregator turns states into statuses, by StatusIndex. The zero value is ready to use.
type Aggregator struct {
	// Logger may be nil. An Aggregator returns all it has to say, and logs nothing at present.
	Logger logging.Logger
}

// AggregateStatus gives the status that fleet's current (fc) and desired state (fd) and systemd's active (sa) and sub
// state (ss) add up to. A combination that no row of StatusIndex matches gives an error for which IsInvalidUnitStatus
// is true and which names the four. Nothing is allocated on success.
func (a Aggregator) AggregateStatus(fc, fd, sa, ss string) (Status, error) {
	for i := range StatusIndex {
		// What tells most rows apart comes first.
		row := &StatusIndex[i]
		if matchesPattern(row.SystemdActive, sa) && matchesPattern(row.FleetCurrent, fc) &&
			matchesPattern(row.FleetDesired, fd) && matchesPattern(row.SystemdSub, ss) {
			return row.Aggregated, nil
		}
	}
	return "", errmask.Maskf(errInvalidUnitStatus,
		"fleet current %q, fleet desired %q, systemd active %q, systemd sub %q", fc, fd, sa, ss)
}

// UnitHasStatus reports whether every machine of the unit has one of the statuses. It is false for a unit that no
// machine has. States of any machine that StatusIndex does not know give an error for which IsInvalidUnitStatus is true
// and which names the unit and the states; no status given gives one for which IsInvalidArgument is true.
func (a Aggregator) UnitHasStatus(us fleet.UnitStatus, statuses ...Status) (bool, error) {
	if len(statuses) == 0 {
		return false, errmask.Maskf(errInvalidArgument, "unit %.256q: no status to compare with", us.Name)
	}
	all := len(us.Machine) > 0
	for _, machine := range us.Machine {
		status, err := a.AggregateStatus(us.Current, us.Desired, machine.SystemdActive, machine.SystemdSub)
		if err != nil {
			return false, errmask.Maskf(err, "unit %.256q on machine %q", us.Name, machine.ID)
		}
		all = all && slices.Contains(statuses, status)
	}
	return all, nil
}

// matchesPattern reports whether value is one of the pattern's alternatives.
func matchesPattern(pattern, value string) bool {
	if pattern == "*" {
		return true
	}
	for {
		bar := strings.IndexByte(pattern, '|')
		if bar < 0 {
			return pattern == value
		}
		if pattern[:bar] == value {
			return true
		}
		pattern = pattern[bar+1:]
	}
}
