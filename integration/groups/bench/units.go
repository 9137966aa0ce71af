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

// Reported says that nothing is missing of what the cluster says of the unit. What another machine has unloaded takes a unit's
// published state along, for up to 24 s, and the current state goes with it, and then nothing can be held.
func (u Unit) Reported() bool {
	_, has := u.States[u.MachineID]
	return u.MachineID == "" || has && u.Current != "inactive"
}

// Settled gives the units whose names begin with prefix, as soon as all of them are Reported. It waits for at most the time given.
func (o *Observer) Settled(t testing.TB, limit time.Duration, prefix string) []Unit {
	t.Helper()
	return o.SettledLook(t, limit, prefix).Named(prefix)
}

// SettledLook gives the look in which that is so.
func (o *Observer) SettledLook(t testing.TB, limit time.Duration, prefix string) Snapshot {
	t.Helper()
	return o.Await(t, limit, "all units of "+prefix+" have a state", func(look Snapshot) bool {
		return all(look.Named(prefix), Unit.Reported)
	})
}
