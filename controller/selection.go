package controller

import (
	"context"
	"maps"
	"slices"
	"sort"
	"strings"

	"github.com/squadronctl/squadron/fleet"
	"github.com/squadronctl/squadron/internal/errmask"
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

// near is true of the group's units and of those that are named alike. A shared look also has what others asked for.
func near(group string) func(fleet.UnitDetail) bool {
	return func(detail fleet.UnitDetail) bool {
		return strings.HasPrefix(detail.Name, group) || (detail.Stamped && detail.Group == group)
	}
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

// discoveryLooks is after how many listings that differ their union is asked for name by name (R20a).
const discoveryLooks = 5

// discover finds the units that the selector takes and match is true of. One listing over several pages proves neither
// presence nor absence, so two in a row have to name the same units; when five don't, each name seen is asked for. It
// gives up with errWaitTimeoutReached after WaitTimeout.
func (c *controller) discover(ctx context.Context, selector fleet.Selector, match func(fleet.UnitDetail) bool) ([]fleet.UnitDetail, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, c.config.WaitTimeout, errWaitTimeoutReached)
	defer cancel()
	union := map[string]fleet.UnitDetail{}
	var before []string
	for attempt := range discoveryLooks {
		v, err := c.observer.look(ctx, selector, true)
		if err != nil {
			return nil, errmask.Maskf(err, "list the units")
		}
		found := matching(v.units, match)
		names := namesOf(found)
		if v.whole || (attempt > 0 && slices.Equal(names, before)) {
			fillInStates(found, union)
			return found, nil
		}
		before = names
		for _, detail := range found {
			union[detail.Name] = detail
		}
	}
	return c.confirm(ctx, union)
}

// fillInStates takes the states that the last listing lacks from those before: a list of states has pages that shift, too.
func fillInStates(found []fleet.UnitDetail, before map[string]fleet.UnitDetail) {
	for i := range found {
		now, earlier := found[i].Machine, before[found[i].Name].Machine
		if len(now) == 1 && len(earlier) == 1 && now[0].ID == earlier[0].ID && now[0].SystemdActive == "" {
			found[i].Machine = earlier
		}
	}
}

// confirm asks for each unit by name and gives those that are there.
func (c *controller) confirm(ctx context.Context, seen map[string]fleet.UnitDetail) ([]fleet.UnitDetail, error) {
	listing, err := c.backend.ReadUnits(ctx, fleet.Selector{Names: slices.Sorted(maps.Keys(seen)), Exact: true})
	if err != nil {
		return nil, errmask.Maskf(err, "read the units by name")
	}
	return listing.Units, nil
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

// find gives the units of a request, sorted by name. Nothing found is errUnitNotFound, a named slice that is not there
// errUnitSliceNotFound, all of them both. With changing, what can't be one group is refused (R1a).
func (c *controller) find(ctx context.Context, req Request, changing bool) ([]fleet.UnitDetail, error) {
	s := newSelection(req)
	inGroup, err := c.discover(ctx, fleet.Selector{Groups: []string{req.Group}}, s.inGroup)
	if err != nil {
		return nil, err
	}
	if changing && !s.namesUnits() {
		if err := checkOneGroup(req.Group, inGroup); err != nil {
			return nil, err
		}
	}
	found := matching(inGroup, s.inSlices)
	if err := missingSlices(req, found); err != nil {
		return nil, err
	}
	if len(found) == 0 {
		return nil, errmask.Maskf(errUnitNotFound, "none of its units is on the cluster (submit first, and wait for that task)")
	}
	return found, nil
}

// missingSlices is the error for the slices of the request that found has nothing of.
func missingSlices(req Request, found []fleet.UnitDetail) error {
	there := map[string]bool{}
	for _, detail := range found {
		there[sliceOf(detail.Name)] = true
	}
	var missing []string
	for _, id := range req.SliceIDs {
		if !there[id] {
			missing = append(missing, id)
		}
	}
	switch {
	case len(missing) == 0:
		return nil
	case len(found) == 0:
		return errmask.Maskf(bothErrors{errUnitSliceNotFound, errUnitNotFound}, "slices %s", strings.Join(missing, ", "))
	default:
		return errmask.Maskf(errUnitSliceNotFound, "slices %s", strings.Join(missing, ", "))
	}
}

// bothErrors reads like the first of its errors and is both.
type bothErrors [2]error

func (b bothErrors) Error() string   { return b[0].Error() }
func (b bothErrors) Unwrap() []error { return b[:] }

// checkOneGroup refuses what can't be the units of one group (R1a): sliced and unsliced ones mixed, or two sliced bases
// with no slice in common. Units that carry the group's stamp are its units, whatever they look like.
func checkOneGroup(group string, found []fleet.UnitDetail) error {
	slicesOf := map[string]map[string]bool{} // by base
	sliced, unsliced, stamped := 0, 0, 0
	for _, detail := range found {
		base, id := baseOf(detail.Name), sliceOf(detail.Name)
		if slicesOf[base] == nil {
			slicesOf[base] = map[string]bool{}
		}
		slicesOf[base][id] = true
		if id == "" {
			unsliced++
		} else {
			sliced++
		}
		if detail.Stamped {
			stamped++
		}
	}
	if stamped == len(found) || sliced == 0 {
		return nil
	}
	if unsliced == 0 && allMeet(slicesOf) {
		return nil
	}
	bases := slices.Sorted(maps.Keys(slicesOf))
	return errmask.Maskf(errAmbiguousGroup, "group %s matches units that can't be one group (name the units that are meant): %s",
		group, strings.Join(bases, ", "))
}

// allMeet says whether each two of the sets have a member in common.
func allMeet(sets map[string]map[string]bool) bool {
	list := slices.Collect(maps.Values(sets))
	sort.Slice(list, func(i, j int) bool { return len(list[i]) < len(list[j]) })
	for i, a := range list {
		for _, b := range list[i+1:] {
			if !meet(a, b) {
				return false
			}
		}
	}
	return true
}

func meet(smaller, larger map[string]bool) bool {
	for member := range smaller {
		if larger[member] {
			return true
		}
	}
	return false
}
