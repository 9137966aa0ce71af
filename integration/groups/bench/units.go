package bench

import (
	"slices"
	"strings"
	"testing"
	"time"
)

// Slice is the ID of the unit's slice, empty where it has none.
func (u Unit) Slice() string {
	_, rest, _ := strings.Cut(u.Name, "@")
	return rest[:max(0, strings.LastIndex(rest, "."))]
}

// SliceIDs gives the IDs of the units' slices, each once, sorted.
func SliceIDs(units []Unit) []string {
	var ids []string
	for _, unit := range units {
		ids = append(ids, unit.Slice())
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// Settled gives the units whose names begin with prefix, as soon as each that has a machine has a state. It waits for at most
// the time given: what another machine has unloaded takes a unit's published state along, for up to 24 s, and the current
// state goes with it, and then nothing can be held.
func (o *Observer) Settled(t testing.TB, limit time.Duration, prefix string) []Unit {
	t.Helper()
	return o.Await(t, limit, "all units of "+prefix+" have a state", func(look Snapshot) bool {
		return all(look.Named(prefix), func(u Unit) bool {
			return u.MachineID == "" || len(u.States) > 0 && u.Current != "inactive"
		})
	}).Named(prefix)
}
