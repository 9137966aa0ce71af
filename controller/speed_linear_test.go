package controller_test

import (
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/squadronctl/squadron/controller"
)

// tenfold is how many times the allocations may be where there is ten times as much to do.
const tenfold = 12

// What is done to many slices allocates in proportion to their number: there is nothing that each slice does with each other
// one.
func TestSpeedIsLinear(t *testing.T) {
	for name, prepare := range map[string]func(b *bench, slices int) func(){
		"Group": func(b *bench, slices int) func() {
			list := controller.UnitStatusList(b.filled(slices).statuses(b.t))
			return func() { mustGroup(b.t, list, slices) }
		},
		"GroupNeedsUpdate": func(b *bench, slices int) func() {
			b = b.filled(slices)
			return func() { b.mustNeedUpdate(withVersion(request("web", 0), "v2"), slices) }
		},
		"GetStatus": func(b *bench, slices int) func() {
			b = b.filled(slices)
			return func() { b.statuses(b.t) }
		},
		"ValidateSubmitRequest": func(b *bench, slices int) func() {
			req := manyUnits(slices)
			return func() { mustBeValid(b.t, req) }
		},
		"ExtendSlices": func(b *bench, slices int) func() {
			req := manyUnits(slices)
			req.Units = req.Units[:unitsPerSlice]
			return func() { _, _ = req.ExtendSlices() }
		},
		"Submit, Start, Stop, Destroy": func(b *bench, slices int) func() {
			return func() { b.live(slices) }
		},
		"Update in one round": func(b *bench, slices int) func() {
			return b.filled(slices).updates(controller.UpdateOptions{})
		},
		"Update in ten rounds": func(b *bench, slices int) func() {
			return b.filled(slices).updates(controller.UpdateOptions{MaxGrowth: slices / 10, MinAlive: slices})
		},
		"Scale": func(b *bench, slices int) func() {
			b = b.filled(slices)
			return func() { b.scales(slices, 2*slices) }
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				allocations := func(slices int) float64 {
					b := onBackend(t, newListedFleet(t, request("web", 0), withVersion(request("web", 0), "v2")))
					defer b.close()
					return testing.AllocsPerRun(2, prepare(b, slices))
				}
				few, many := allocations(20), allocations(200)
				t.Logf("%.0f allocations, and %.0f for ten times as many slices", few, many)
				assert.LessOrEqual(t, many, tenfold*few)
			})
		})
	}
}

// filled has so many slices of the group web on the bench's listedFleet.
func (b *bench) filled(slices int) *bench {
	b.client.(*listedFleet).fill(request("web", 0), slices)
	return b
}

func (b *bench) statuses(t testing.TB) controller.UnitStatusList {
	statuses, err := b.controller.GetStatus(t.Context(), of("web"))
	require.NoError(t, err)
	return statuses
}

// live takes so many slices through their lives.
func (b *bench) live(slices int) {
	b.do(b.controller.Submit, request("web", slices))
	for _, op := range []operation{b.controller.Start, b.controller.Stop, b.controller.Destroy} {
		b.do(op, of("web"))
	}
}

// updates gives a function that updates the group web to another content each time.
func (b *bench) updates(opts controller.UpdateOptions) func() {
	version := "v1"
	return func() {
		version = map[string]string{"v1": "v2", "v2": "v1"}[version]
		require.NoError(b.t, b.update(withVersion(request("web", 0), version), opts))
	}
}

// scales changes the number of slices to one and to another.
func (b *bench) scales(fewer, more int) {
	for _, n := range []int{more, fewer} {
		created, err := b.controller.(controller.Scaler).Scale(b.t.Context(), request("web", 0), n, controller.UpdateOptions{})
		require.NoError(b.t, b.outcome(created, err))
	}
}

func (b *bench) mustNeedUpdate(req controller.Request, slices int) {
	reduced, needs, err := b.controller.GroupNeedsUpdate(b.t.Context(), req)
	if err != nil || !needs || len(reduced.SliceIDs) != slices {
		b.t.Fatal(len(reduced.SliceIDs), needs, err)
	}
}

func mustGroup(t testing.TB, list controller.UnitStatusList, slices int) {
	grouped, err := list.Group()
	if err != nil || len(grouped) != slices {
		t.Fatal(len(grouped), err)
	}
}

func mustBeValid(t testing.TB, req controller.Request) {
	if valid, err := controller.ValidateSubmitRequest(req); !valid {
		t.Fatal(err)
	}
}

// manyUnits is a request with so many slice IDs and as many units.
func manyUnits(n int) controller.Request {
	req := of("web")
	for i := range n {
		req.SliceIDs = append(req.SliceIDs, fmt.Sprintf("%05x", i))
		req.Units = append(req.Units, controller.Unit{Name: fmt.Sprintf("web-%d@.service", i), Content: service("v1")})
	}
	return req
}
