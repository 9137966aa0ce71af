package main

import (
	"github.com/squadronctl/squadron/controller"
	"github.com/squadronctl/squadron/fleet"
)

// created is the phase of a slice that no machine has taken yet. The other phases are the statuses.
const created = "created"

// phasesOf says of each slice in one word how it is: as the unit of it that is furthest from running.
func phasesOf(units []fleet.UnitStatus) map[string]string {
	phases := map[string]string{}
	for _, unit := range units {
		is := phaseOf(unit)
		if before, known := phases[unit.SliceID]; !known || distance(is) > distance(before) {
			phases[unit.SliceID] = is
		}
	}
	return phases
}

func phaseOf(unit fleet.UnitStatus) string {
	is := created
	for _, machine := range unit.Machine {
		if machine.SystemdActive == "" {
			continue // the machine has not reported yet
		}
		if status := string(statusOn(unit, machine)); is == created || distance(status) > distance(is) {
			is = status
		}
	}
	if is == string(controller.StatusStopped) && unit.Desired == "launched" {
		return created // loaded, and about to be started
	}
	if is == string(controller.StatusRunning) && unit.Desired != "launched" {
		return string(controller.StatusStopping) // asked to stop, and still there
	}
	return is
}

// distance orders the phases by how far they are from running.
func distance(phase string) int {
	for i, p := range []controller.Status{controller.StatusRunning, controller.StatusStarting, created,
		controller.StatusStopping, controller.StatusStopped} {
		if phase == string(p) {
			return i
		}
	}
	return 5 // failed, and what is not known
}
