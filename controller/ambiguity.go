package controller

import (
	"maps"
	"slices"
	"sort"
	"strings"

	"github.com/squadronctl/squadron/fleet"
	"github.com/squadronctl/squadron/internal/errmask"
)

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
