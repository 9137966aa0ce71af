package controller

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/squadronctl/squadron/fleet"
	"github.com/squadronctl/squadron/internal/errmask"
)

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
		v, err := c.observer.look(ctx, selector, urgent)
		if err != nil {
			return nil, errmask.Maskf(err, "list the units")
		}
		found := matching(v.units, match)
		names := namesOf(found)
		if v.whole || (attempt > 0 && slices.Equal(names, before)) {
			fillInStates(found, union)
			if v.whole {
				return found, nil
			}
			return c.fillInUnits(ctx, found, match)
		}
		before = names
		for _, detail := range found {
			union[detail.Name] = detail
		}
	}
	return c.confirm(ctx, union)
}

// fillInUnits asks by name for units that both listings may have skipped: of a sliced base, those of the slices that other
// bases have.
func (c *controller) fillInUnits(ctx context.Context, found []fleet.UnitDetail, match func(fleet.UnitDetail) bool) ([]fleet.UnitDetail, error) {
	there := stringSet(namesOf(found))
	bases := map[string]bool{}
	for _, detail := range found {
		if base := baseOf(detail.Name); isTemplate(base) {
			bases[base] = true
		}
	}
	var missing []string
	for _, id := range sliceIDsOf(found) {
		for base := range bases {
			if name := extendName(base, id); !there[name] {
				missing = append(missing, name)
			}
		}
	}
	if len(missing) == 0 {
		return found, nil
	}
	listing, err := c.backend.ReadUnits(ctx, fleet.Selector{Names: missing, Exact: true})
	if err != nil {
		return nil, errmask.Maskf(err, "read the units by name")
	}
	found = append(found, matching(listing.Units, match)...)
	slices.SortFunc(found, func(a, b fleet.UnitDetail) int { return strings.Compare(a.Name, b.Name) })
	return found, nil
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
		return nil, errmask.Maskf(errUnitNotFound, "none of its units is on the cluster; it has to be submitted first")
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
