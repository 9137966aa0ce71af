package fleet

import (
	"net"
	"slices"
	"strings"
)

// listing puts a look's lists together, for the units that the selector takes.
func (l look) listing(selector Selector) Listing {
	listing := Listing{Whole: l.whole}
	takes := selector.filter()
	for name, unit := range l.units {
		if takes(name, unit.Options) {
			listing.Units = append(listing.Units, l.detail(unit))
		}
	}
	slices.SortFunc(listing.Units, func(a, b UnitDetail) int { return strings.Compare(a.Name, b.Name) })
	return listing
}

// filter gives the selector's test. Every stamp is looked at, though the last one stands: more may be taken, but no less.
func (s Selector) filter() func(name string, options []wireOption) bool {
	if len(s.Names) == 0 && len(s.Groups) == 0 {
		return func(string, []wireOption) bool { return true }
	}
	names := map[string]bool{}
	for _, name := range s.Names {
		names[name] = true
	}
	return func(name string, options []wireOption) bool {
		if names[name] {
			return true
		}
		return slices.ContainsFunc(s.Groups, func(group string) bool {
			return strings.HasPrefix(name, group) || slices.ContainsFunc(options, func(option wireOption) bool {
				return option.Section == "X-Squadron" && option.Name == "Group" && option.Value == group
			})
		})
	}
}

// detail puts together what is known of one unit.
func (l look) detail(unit wireUnit) UnitDetail {
	facts := readFacts(unit.Name, fromWire(unit.Options))
	detail := UnitDetail{
		UnitStatus: UnitStatus{
			Current: stateOr(unit.CurrentState),
			Desired: stateOr(unit.DesiredState),
			Name:    unit.Name,
			SliceID: sliceID(unit.Name),
		},
		Group:   facts.group,
		Stamped: facts.stamped,
		Global:  facts.global,
		Oneshot: facts.oneshot,
	}
	if len(unit.Options) > 0 {
		detail.Hash = facts.hash
	}
	states := l.states[unit.Name]
	switch {
	case facts.global:
		// fleet has no current state of a global unit; it says inactive, or nothing at all.
		detail.Current = detail.Desired
		detail.Missing = l.missing(facts.metadata, states)
		for _, state := range states {
			detail.Machine = append(detail.Machine, l.status(state))
			detail.LoadError = max(detail.LoadError, loadError(state))
		}
		slices.SortFunc(detail.Machine, func(a, b MachineStatus) int { return strings.Compare(a.ID, b.ID) })
	case unit.MachineID != "":
		// Other machines' states are what lost machines, or ones that had the unit before, said last.
		state := states[unit.MachineID]
		state.MachineID = unit.MachineID
		detail.Machine = []MachineStatus{l.status(state)}
		detail.LoadError = loadError(state)
	}
	return detail
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
func loadError(state wireState) string {
	switch state.SystemdLoadState {
	case "bad-setting", "error", "not-found", "masked":
		return state.SystemdLoadState
	}
	return ""
}

func (l look) status(state wireState) MachineStatus {
	return MachineStatus{
		ID:            state.MachineID,
		IP:            l.ip(state.MachineID),
		SystemdActive: state.SystemdActiveState,
		SystemdSub:    state.SystemdSubState,
		UnitHash:      state.Hash,
	}
}

// ip gives a machine's address in a copy of its own, nil where the machine is not listed.
func (l look) ip(id string) net.IP {
	at, listed := slices.BinarySearchFunc(l.machines, id, func(m Machine, id string) int { return strings.Compare(m.ID, id) })
	if !listed {
		return nil
	}
	return slices.Clone(l.machines[at].IP)
}

// missing counts the machines that meet a global unit's conditions and have reported no state of it. What a machine says
// that is no longer listed stands for none of these.
func (l look) missing(conditions map[string][]string, states map[string]wireState) int {
	count := 0
	for _, machine := range l.machines {
		if _, reported := states[machine.ID]; !reported && meets(machine, conditions) {
			count++
		}
	}
	return count
}

// meets says whether the machine has one of the values that the conditions have for each key.
func meets(machine Machine, conditions map[string][]string) bool {
	for key, values := range conditions {
		if value, has := machine.Metadata[key]; !has || !slices.Contains(values, value) {
			return false
		}
	}
	return true
}
