package units

import (
	"maps"
	"slices"

	"github.com/squadronctl/squadron/controller"
	"github.com/squadronctl/squadron/fleet"
	"github.com/squadronctl/squadron/stack"
)

// bySlice gives the declared units among those found, by slice and unit base.
func (d *deployment) bySlice(found []fleet.UnitDetail) map[string]map[string]fleet.UnitDetail {
	bySlice := map[string]map[string]fleet.UnitDetail{}
	for _, detail := range found {
		base, id := splitName(detail.Name)
		if _, declared := d.hashes[base]; !declared {
			continue
		}
		if bySlice[id] == nil {
			bySlice[id] = map[string]fleet.UnitDetail{}
		}
		bySlice[id][base] = detail
	}
	return bySlice
}

// upToDate says whether all is as declared: as many slices as wanted, each with all of its units, of the right content and
// launched.
func (d *deployment) upToDate(found []fleet.UnitDetail) bool {
	bySlice := d.bySlice(found)
	if len(bySlice) != d.manifest.wantedSlices(found) {
		return false
	}
	for _, units := range bySlice {
		for base, hash := range d.hashes {
			if detail, there := units[base]; !there || detail.Hash != hash || detail.Desired != desiredLaunched {
				return false
			}
		}
	}
	return true
}

// wantedSlices is how many slices there are to be, where these units are there.
func (m Manifest) wantedSlices(found []fleet.UnitDetail) int {
	if m.Slices > 0 || !m.sliced() {
		return max(m.Slices, 1)
	}
	bases, ids := m.bases(), map[string]bool{}
	for _, detail := range found {
		if base, id := splitName(detail.Name); bases[base] {
			ids[id] = true
		}
	}
	return max(len(ids), 1)
}

// bounds are the options of the update of what was found.
func (d *deployment) bounds(found []fleet.UnitDetail) controller.UpdateOptions {
	opts := controller.UpdateOptions{ReadySecs: d.manifest.ReadySecs}
	if !d.manifest.sliced() {
		return opts
	}
	opts.MaxGrowth = 1
	if growth, given := valueOf(d.manifest.MaxGrowth); given {
		opts.MaxGrowth = growth
	}
	if d.engine.isOwn(d.req.Name) {
		opts.MaxGrowth = max(opts.MaxGrowth, 1)
	}
	running := 0
	for _, units := range d.bySlice(found) {
		if runs(slices.Collect(maps.Values(units))) {
			running++
		}
	}
	most := min(running, d.manifest.wantedSlices(found))
	if alive, given := valueOf(d.manifest.MinAlive); given {
		opts.MinAlive = min(alive, most)
	} else {
		opts.MinAlive = most
		if opts.MaxGrowth == 0 {
			opts.MinAlive = max(0, most-1)
		}
	}
	return opts
}

// runs says whether all units of a slice run.
func runs(units []fleet.UnitDetail) bool {
	return !slices.ContainsFunc(units, func(detail fleet.UnitDetail) bool {
		status, _ := copyStatus(&detail)
		return status != stack.StatusRunning
	})
}
