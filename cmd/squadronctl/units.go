package main

import (
	"context"
	"slices"

	"github.com/squadronctl/squadron/controller"
	"github.com/squadronctl/squadron/fleet"
)

// unknown is shown for states that add up to no status.
const unknown = "unknown"

// statusOf adds up a unit's states on all of its machines. Where these differ it gives the one that is furthest from
// running.
func statusOf(unit fleet.UnitStatus) string {
	var statuses []string
	for _, machine := range machinesOf(unit) {
		status, err := controller.Aggregator{}.AggregateStatus(unit.Current, unit.Desired, machine.SystemdActive, machine.SystemdSub)
		if err != nil {
			status = unknown
		}
		statuses = append(statuses, string(status))
	}
	return worst(statuses)
}

// worst gives the status that is furthest from running.
func worst(statuses []string) string {
	order := []string{
		string(controller.StatusFailed), unknown, string(controller.StatusStopped), string(controller.StatusStopping),
		string(controller.StatusStarting), string(controller.StatusRunning),
	}
	for _, status := range order {
		if slices.Contains(statuses, status) {
			return status
		}
	}
	return unknown
}

// isRunning says that a unit does what it is there for. The detail, where the backend offers it, tells of a global unit
// whether a machine is still missing, and of a oneshot, which never stays active, that it may have run.
func isRunning(unit fleet.UnitStatus, detail fleet.UnitDetail) bool {
	if detail.Missing > 0 || len(unit.Machine) == 0 {
		return false
	}
	if statusOf(unit) == string(controller.StatusRunning) {
		return true
	}
	hasRun := func(machine fleet.MachineStatus) bool {
		return machine.SystemdActive == "inactive" && machine.SystemdSub == "dead" || machine.SystemdActive == "active"
	}
	for _, machine := range unit.Machine {
		if !hasRun(machine) {
			return false
		}
	}
	return detail.Oneshot && unit.Current == "launched"
}

// details reads what the backend can tell beyond a status of units, by name. A backend that offers no more has none.
func (s *session) details(ctx context.Context, units []fleet.UnitStatus) (map[string]fleet.UnitDetail, error) {
	reader, ok := s.fleet.(fleet.UnitReader)
	if !ok {
		return nil, nil
	}
	var names []string
	for _, unit := range units {
		names = append(names, unit.Name)
	}
	listing, err := reader.ReadUnits(ctx, fleet.Selector{Names: names})
	if err != nil {
		return nil, err
	}
	details := make(map[string]fleet.UnitDetail, len(listing.Units))
	for _, detail := range listing.Units {
		details[detail.Name] = detail
	}
	return details, nil
}

// slicesOf gives the IDs of the slices that units are of, each once, in the order of the units.
func slicesOf(units []fleet.UnitStatus) []string {
	var ids []string
	seen := map[string]bool{}
	for _, unit := range units {
		if !seen[unit.SliceID] {
			seen[unit.SliceID] = true
			ids = append(ids, unit.SliceID)
		}
	}
	return ids
}

// sliceStatuses gives the status of each slice: that of its unit which is furthest from running.
func sliceStatuses(units []fleet.UnitStatus) map[string]string {
	byID := map[string][]string{}
	for _, unit := range units {
		byID[unit.SliceID] = append(byID[unit.SliceID], statusOf(unit))
	}
	statuses := make(map[string]string, len(byID))
	for id, of := range byID {
		statuses[id] = worst(of)
	}
	return statuses
}
