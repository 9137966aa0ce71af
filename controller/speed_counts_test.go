package controller_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/squadronctl/squadron/controller"
	"github.com/squadronctl/squadron/fleet/fleettest"
)

const (
	unitsPerSlice = 2 // of request
	waitCount     = 3 // the default
	// discovery is how many listings it takes at most to find out which units there are (R20a), where nobody else changes any.
	discovery = 2
)

// cost is what an operation may cost.
type cost struct {
	puts, deletes int
	listings      int // at most
}

// requireCost holds what the cluster was asked since the last call against what it may cost. A listing is one pass over the
// pages of the units, one over those of their states and one of the machines at most, and nothing is read unit by unit.
func (b *bench) requireCost(what string, want cost) {
	b.t.Helper()
	got := b.cluster.Counts()
	b.cluster.ResetCounts()
	assert.Equal(b.t, want.puts, got.Puts, "PUTs of %s", what)
	assert.Equal(b.t, want.deletes, got.Deletes, "DELETEs of %s", what)
	assert.LessOrEqual(b.t, got.UnitListings, want.listings, "listings of %s", what)
	assert.Equal(b.t, got.UnitListings, got.StateListings, "units and states are listed together: %s", what)
	assert.LessOrEqual(b.t, got.MachineListings, got.UnitListings, "machines in %s", what)
	assert.Zero(b.t, got.UnitReads+got.StateReads+got.StateFiltered+got.Others, "other requests of %s", what)
	// A list that fills its pages ends in an empty one. Pages asked for side by side may be asked for beyond the end.
	pages := got.UnitListings * (2*b.mostPages() + 1)
	assert.LessOrEqual(b.t, got.UnitPages, pages, "pages of %s", what)
	assert.LessOrEqual(b.t, got.StatePages, pages, "pages of %s", what)
}

// mostPages is how many pages the units of the largest group need.
func (b *bench) mostPages() int {
	return groupSizes[len(groupSizes)-1]*unitsPerSlice*2/100 + 1
}

// R7, R19, R20: how often the cluster is asked. The writes are those that the units need, and the listings are as many for
// ten slices as for a thousand.
func TestSpeedRequestsOfOperationsR19(t *testing.T) {
	for _, slices := range groupSizes {
		t.Run(fmt.Sprintf("slices=%d", slices), func(t *testing.T) {
			onBench(t, fleettest.Config{}, nil, func(t *testing.T, b *bench) {
				units := slices * unitsPerSlice
				listings := discovery + waitCount
				b.do(b.controller.Submit, request("web", slices))
				b.requireCost("submit", cost{puts: units, listings: listings})
				b.do(b.controller.Start, of("web"))
				b.requireCost("start", cost{puts: units, listings: listings})
				statuses, err := b.controller.GetStatus(t.Context(), of("web"))
				require.NoError(t, err)
				assert.Len(t, statuses, units)
				b.requireCost("status", cost{listings: discovery})
				_, needs, err := b.controller.GroupNeedsUpdate(t.Context(), request("web", 0))
				require.NoError(t, err)
				assert.False(t, needs)
				b.requireCost("comparison", cost{listings: discovery})
				b.do(b.controller.Stop, of("web"))
				b.requireCost("stop", cost{puts: units, listings: listings})
				b.do(b.controller.Destroy, of("web"))
				b.requireCost("destroy", cost{deletes: units, listings: listings})
				assert.Empty(t, b.names(""))
			})
		})
	}
}

// updateListings are the listings of an update of so many rounds: those that find out what there is, one to begin with, and in
// each round those of three waits, one after the other: until the new slices run, the old ones have stopped, they are gone.
func updateListings(rounds int) int { return discovery + 1 + rounds*3*waitCount }

// R22, R24: an update writes each new unit once, and each old one twice: a stop and a DELETE. Its listings are as many as its
// rounds need, whatever the number of slices in a round.
func TestSpeedRequestsOfUpdateR24(t *testing.T) {
	const rounds = 5
	for _, slices := range groupSizes {
		t.Run(fmt.Sprintf("slices=%d", slices), func(t *testing.T) {
			onBench(t, fleettest.Config{}, nil, func(t *testing.T, b *bench) {
				b.runs(slices)
				units := slices * unitsPerSlice
				opts := controller.UpdateOptions{MaxGrowth: slices / rounds, MinAlive: slices}
				require.NoError(t, b.update(withVersion(request("web", 0), "v2"), opts))
				b.requireCost("update", cost{puts: 2 * units, deletes: units, listings: updateListings(rounds)})
				b.requireContent(slices, "v2")
			})
		})
	}
}

// R22: so does one that takes all slices in one round.
func TestSpeedRequestsOfUpdateAtOnceR22(t *testing.T) {
	for _, slices := range groupSizes[:2] {
		t.Run(fmt.Sprintf("slices=%d", slices), func(t *testing.T) {
			onBench(t, fleettest.Config{}, nil, func(t *testing.T, b *bench) {
				b.runs(slices)
				units := slices * unitsPerSlice
				require.NoError(t, b.update(withVersion(request("web", 0), "v2"), controller.UpdateOptions{}))
				b.requireCost("update", cost{puts: 2 * units, deletes: units, listings: updateListings(1)})
				b.requireContent(slices, "v2")
			})
		})
	}
}

// runs makes so many slices of the group web run, and begins to count.
func (b *bench) runs(slices int) {
	b.t.Helper()
	b.do(b.controller.Submit, request("web", slices))
	b.do(b.controller.Start, of("web"))
	b.cluster.ResetCounts()
}

// requireContent shows that so many slices of web run this version of their first unit.
func (b *bench) requireContent(slices int, version string) {
	b.t.Helper()
	got := 0
	for _, unit := range b.cluster.Units() {
		if unit.Current == "launched" && strings.Contains(unit.Content, "/bin/serve "+version+"\n") {
			got++
		}
	}
	assert.Equal(b.t, slices, got)
}
