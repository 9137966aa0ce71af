package controller

import (
	"fmt"
	"slices"

	"github.com/squadronctl/squadron/fleet"
	"github.com/squadronctl/squadron/internal/errmask"
)

// anyUnit is the name of an entry that stands for all units of its slice.
const anyUnit = "*"

// UnitStatusList is the status of a group's units, as GetStatus gives it.
type UnitStatusList []fleet.UnitStatus

// Group gives the list shortened slice by slice. Where all units of a slice are in the same state (fleet's current,
// fleet's desired, and systemd's active on each of their machines) and every unit base has one and the same hash over
// the whole list, one entry stands for the slice: a copy of its first, at that one's place, with "*" for a name. All other
// entries stay as they are. The units without slice count as one slice. The list itself is not changed; the result's
// entries share their Machine with it.
//
// An entry whose name can't be read, also one that has been shortened before, gives an error for which
// IsInvalidUnitStatus is true.
func (usl UnitStatusList) Group() (UnitStatusList, error) {
	names := make([]unitName, len(usl))
	for i, status := range usl {
		if status.Name == anyUnit {
			return nil, errmask.Maskf(errInvalidUnitStatus, "slice %q has been shortened before", status.SliceID)
		}
		name, err := parseUnitName(status.Name)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", errInvalidUnitStatus, err)
		}
		names[i] = name
	}
	if !usl.oneHashPerBase(names) {
		return slices.Clone(usl), nil
	}
	grouped := make(UnitStatusList, 0, len(usl))
	for i, slice := range usl.slicesByEntry(names) {
		switch {
		case !slice.alike:
			grouped = append(grouped, usl[i])
		case slice.first == i:
			first := usl[i]
			first.Name = anyUnit
			grouped = append(grouped, first)
		}
	}
	return grouped, nil
}

// oneHashPerBase reports whether no base has two hashes. A unit that no machine has, has no hash.
func (usl UnitStatusList) oneHashPerBase(names []unitName) bool {
	hashes := map[string]string{}
	for i, status := range usl {
		for _, machine := range status.Machine {
			hash, known := hashes[names[i].base]
			switch {
			case !known:
				hashes[names[i].base] = machine.UnitHash
			case hash != machine.UnitHash:
				return false
			}
		}
	}
	return true
}

// sliceState is what Group finds out about one slice.
type sliceState struct {
	first int       // the slice's first entry
	state unitState // that entry's
	alike bool      // all the slice's units are in that state
}

// slicesByEntry gives the slice of each entry.
func (usl UnitStatusList) slicesByEntry(names []unitName) []*sliceState {
	byEntry := make([]*sliceState, len(usl))
	byID := make(map[string]*sliceState, len(usl))
	states := make([]sliceState, 0, len(usl)) // in one piece, and never moved: there are no more slices than entries
	for i := range usl {
		state, same := stateOf(&usl[i])
		slice := byID[names[i].sliceID]
		if slice == nil {
			states = append(states, sliceState{first: i, state: state, alike: true})
			slice = &states[len(states)-1]
			byID[names[i].sliceID] = slice
		}
		slice.alike = slice.alike && same && state == slice.state
		byEntry[i] = slice
	}
	return byEntry
}

// unitState is what the units of a slice must have in common.
type unitState struct {
	current, desired, active string
	scheduled                bool
}

// stateOf is a unit's state, and whether it is the same on all its machines.
func stateOf(status *fleet.UnitStatus) (unitState, bool) {
	state := unitState{current: status.Current, desired: status.Desired, scheduled: len(status.Machine) > 0}
	for i, machine := range status.Machine {
		if i > 0 && machine.SystemdActive != state.active {
			return state, false
		}
		state.active = machine.SystemdActive
	}
	return state, true
}
