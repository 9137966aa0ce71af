package fleet

import (
	"net"
	"slices"
	"strings"

	"github.com/squadronctl/squadron/internal/unitmeta"
)

// look is what fleet said at one look, before units, states and machines are put together.
type look struct {
	units    []unitEntry  // sorted by name, none twice
	states   []stateEntry // sorted by name and machine, none twice
	whole    bool
	machines []Machine // sorted by ID
}

// details puts the look's lists together.
func (l look) details() []UnitDetail {
	if len(l.units) == 0 {
		return nil
	}
	details := make([]UnitDetail, 0, len(l.units))
	for i := range l.units {
		details = append(details, l.detail(&l.units[i]))
	}
	return details
}

// detail puts together what is known of one unit.
func (l look) detail(unit *unitEntry) UnitDetail {
	facts := unit.content.of(unit.name)
	detail := UnitDetail{
		UnitStatus: UnitStatus{
			Current: stateOr(unit.current),
			Desired: stateOr(unit.desired),
			Name:    unit.name,
			SliceID: sliceID(unit.name),
		},
		Hash:    unit.content.hash,
		Group:   facts.group,
		Owner:   facts.owner,
		Stamped: facts.stamped,
		Global:  facts.global,
		Oneshot: facts.oneshot,
	}
	states := l.statesOf(unit.name)
	switch {
	case facts.global:
		// fleet has no current state of a global unit; it says inactive, or nothing at all.
		detail.Current = detail.Desired
		detail.Missing = l.missing(facts.metadata, states)
		for i := range states {
			detail.Machine = append(detail.Machine, l.status(&states[i]))
			detail.LoadError = max(detail.LoadError, loadError(&states[i]))
		}
	case unit.machine != "":
		// Other machines' states are what lost machines, or ones that had the unit before, said last.
		state := &stateEntry{machine: unit.machine}
		if at, reported := findState(states, unit.machine); reported {
			state = &states[at]
		}
		detail.Machine = []MachineStatus{l.status(state)}
		detail.LoadError = loadError(state)
	}
	return detail
}

// statesOf gives the states of one unit, sorted by machine.
func (l look) statesOf(name string) []stateEntry {
	from, _ := slices.BinarySearchFunc(l.states, name, func(state stateEntry, name string) int {
		return strings.Compare(state.name, name)
	})
	to := from
	for to < len(l.states) && l.states[to].name == name {
		to++
	}
	return l.states[from:to]
}

func findState(states []stateEntry, machine string) (at int, found bool) {
	return slices.BinarySearchFunc(states, machine, func(state stateEntry, id string) int {
		return strings.Compare(state.machine, id)
	})
}

// needsMachines says whether there is a global unit, or one on a machine that the list has not.
func (l look) needsMachines() bool {
	for i := range l.units {
		unit := &l.units[i]
		if unit.content.of(unit.name).global {
			return true
		}
		if _, listed := l.machine(unit.machine); !listed && unit.machine != "" {
			return true
		}
	}
	return false
}

// stateOr reads a missing state as inactive. For a moment after a unit was created, and around its end, a real fleetd
// lists it without one or the other: it keeps the two apart from the unit.
func stateOr(state string) string {
	if state == "" {
		return stateInactive
	}
	return state
}

// loadError is a load state that is none of a unit that can run.
func loadError(state *stateEntry) string {
	switch state.load {
	case "bad-setting", "error", "not-found", "masked":
		return state.load
	}
	return ""
}

func (l look) status(state *stateEntry) MachineStatus {
	return MachineStatus{
		ID:            state.machine,
		IP:            l.ip(state.machine),
		SystemdActive: state.active,
		SystemdSub:    state.sub,
		UnitHash:      state.hash,
	}
}

func (l look) machine(id string) (at int, listed bool) {
	return slices.BinarySearchFunc(l.machines, id, func(m Machine, id string) int { return strings.Compare(m.ID, id) })
}

// ip gives a machine's address in a copy of its own, nil where the machine is not listed.
func (l look) ip(id string) net.IP {
	at, listed := l.machine(id)
	if !listed {
		return nil
	}
	return slices.Clone(l.machines[at].IP)
}

// missing counts the machines that meet a global unit's conditions and have reported no state of it. What a machine says
// that is no longer listed stands for none of these.
func (l look) missing(conditions unitmeta.Metadata, states []stateEntry) int {
	count := 0
	for _, machine := range l.machines {
		if _, reported := findState(states, machine.ID); !reported && conditions.Met(machine.Metadata) {
			count++
		}
	}
	return count
}
