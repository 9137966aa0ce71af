package controller

import (
	"github.com/squadronctl/squadron/fleet"
)

// selection says which units a request is about (R1, R2): those of its group, of its slices where it names any, and of
// its units' bases where it names any.
type selection struct {
	group  string
	slices map[string]bool // empty: all
	bases  map[string]bool // bases of the templates named; bases and names both empty: all
	names  map[string]bool // full names named
}

func newSelection(req Request) selection {
	s := selection{group: req.Group, slices: stringSet(req.SliceIDs), bases: map[string]bool{}, names: map[string]bool{}}
	for _, unit := range req.Units {
		if isTemplate(unit.Name) {
			s.bases[unit.Name] = true
		} else {
			s.names[unit.Name] = true
		}
	}
	return s
}

func stringSet(values []string) map[string]bool {
	set := make(map[string]bool, len(values))
	for _, value := range values {
		set[value] = true
	}
	return set
}

// namesUnits says whether the request named its units.
func (s selection) namesUnits() bool { return len(s.bases) > 0 || len(s.names) > 0 }

// inGroup is the selection without regard to slices.
func (s selection) inGroup(detail fleet.UnitDetail) bool {
	if !belongs(detail, s.group) {
		return false
	}
	return !s.namesUnits() || s.names[detail.Name] || s.bases[baseOf(detail.Name)]
}

func (s selection) inSlices(detail fleet.UnitDetail) bool {
	return len(s.slices) == 0 || s.slices[sliceOf(detail.Name)]
}

// baseOf gives the unit base of a name; a name that does not parse is its own base.
func baseOf(name string) string {
	parsed, err := parseUnitName(name)
	if err != nil {
		return name
	}
	return parsed.base
}

// sliceOf gives the slice ID of a name, empty where it has none or does not parse.
func sliceOf(name string) string {
	parsed, err := parseUnitName(name)
	if err != nil {
		return ""
	}
	return parsed.sliceID
}

func matching(details []fleet.UnitDetail, match func(fleet.UnitDetail) bool) []fleet.UnitDetail {
	var found []fleet.UnitDetail
	for _, detail := range details {
		if match(detail) {
			found = append(found, detail)
		}
	}
	return found
}

func namesOf(details []fleet.UnitDetail) []string {
	names := make([]string, 0, len(details))
	for _, detail := range details {
		names = append(names, detail.Name)
	}
	return names
}
