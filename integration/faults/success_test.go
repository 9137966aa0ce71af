package faults_test

import (
	"fmt"
	"slices"

	"github.com/squadronctl/squadron/integration/groups/bench"
)

// unlessLoaded, like all of its kind, says what of a success a look lacks.
func unlessLoaded(look bench.Snapshot, group string) string {
	return unlessAll(look, group, func(unit bench.Unit) bool {
		return unit.Desired == loaded && unit.Current == loaded && unit.Here().Active != active
	})
}

func unlessStopped(look bench.Snapshot, group string) string {
	return unlessAll(look, group, func(unit bench.Unit) bool { return unit.Desired == loaded && unit.Here().Active != active })
}

func unlessThere(look bench.Snapshot, group string) string {
	return unlessAll(look, group, func(bench.Unit) bool { return true })
}

func unlessRunning(look bench.Snapshot, group string) string {
	return unlessAll(look, group, func(unit bench.Unit) bool { return unit.Desired == launched && unit.Here().Active == active })
}

// unlessUpdated is about two slices, of any IDs, of the new content.
func unlessUpdated(look bench.Snapshot, group string) string {
	units := look.Named(group + "-")
	if want := len(sliceIDs) * len(content(group, 1).Units); len(units) != want {
		return fmt.Sprintf("%d units are there: %+v", len(units), units)
	}
	for _, unit := range units {
		if unit.Desired != launched || unit.Here().Active != active || !unit.Runs(exec(1)) {
			return fmt.Sprintf("%+v", unit)
		}
	}
	return ""
}

func unlessGone(look bench.Snapshot, group string) string {
	if units := look.Named(group + "-"); len(units) > 0 {
		return fmt.Sprintf("still there: %+v", units)
	}
	return ""
}

func unlessAll(look bench.Snapshot, group string, is func(bench.Unit) bool) string {
	units := look.Named(group + "-")
	var names []string
	for _, unit := range units {
		names = append(names, unit.Name)
		if !is(unit) {
			return fmt.Sprintf("%+v", unit)
		}
	}
	if !slices.Equal(names, unitNames(group)) {
		return fmt.Sprintf("there are %v", names)
	}
	return ""
}
