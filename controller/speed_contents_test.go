package controller_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/squadronctl/squadron/controller"
	"github.com/squadronctl/squadron/fleet"
	"github.com/squadronctl/squadron/validator"
)

const (
	namedUnits   = 6
	parsedSlices = 10
)

// Each distinct content of a request is parsed and hashed once in a call, however many units have it and however many
// slices there are. What reading one costs in allocations grows with its length, so that by how much a call's allocations
// grow with the length of all contents tells how often they were read.
func TestSpeedContentsAreReadOnce(t *testing.T) {
	operations := map[string]struct {
		checks int // how often each unit is validated, which reads it in another way
		there  bool
		call   func(b *bench, req controller.Request)
	}{
		"GroupNeedsUpdate": {there: true, call: func(b *bench, req controller.Request) { b.mustNeedUpdate(req, parsedSlices) }},
		"Submit": {checks: 1, call: func(b *bench, req controller.Request) {
			req.DesiredSlices = parsedSlices
			b.do(b.controller.Submit, req)
			b.do(b.controller.Destroy, of("web"))
		}},
		"Submit again": {checks: 1, there: true, call: func(b *bench, req controller.Request) {
			for i := range parsedSlices {
				req.SliceIDs = append(req.SliceIDs, fmt.Sprintf("%05x", i))
			}
			assert.True(b.t, controller.IsUnitConflict(b.try(b.controller.Submit, req)))
		}},
		"Start": {there: true, call: func(b *bench, req controller.Request) { b.do(b.controller.Start, req) }},
		"Update": {checks: 1, there: true, call: func(b *bench, req controller.Request) {
			// So that it is always a change, whatever the last call left.
			require.NoError(b.t, b.update(req, controller.UpdateOptions{MaxGrowth: 2, MinAlive: 2, Force: true}))
		}},
	}
	for name, op := range operations {
		for _, distinct := range []int{1, namedUnits} {
			t.Run(fmt.Sprintf("%s, %d contents", name, distinct), func(t *testing.T) {
				allocations := func(lines int) float64 {
					var n float64
					synctest.Test(t, func(t *testing.T) {
						req := longUnits(distinct, lines)
						backend := newListedFleet(t, request("web", 0), req)
						b := onBackend(t, backend, once)
						defer b.close()
						if op.there {
							backend.fill(withContent(req, service("v1")), parsedSlices)
						}
						n = testing.AllocsPerRun(1, func() { op.call(b, req) })
					})
					return n
				}
				grown := allocations(600) - allocations(200)
				grown -= float64(op.checks*namedUnits) * grownBy(t, func(text string) error { return validator.UnitFile("web@1.service", text) })
				parses := grown / grownBy(t, func(text string) error { _, err := fleet.UnitHash(text); return err })
				assert.InDelta(t, distinct, parses, 0.4)
			})
		}
	}
}

// grownBy is by how much the allocations of reading a content grow from 200 lines to 600.
func grownBy(t *testing.T, read func(text string) error) float64 {
	t.Helper()
	allocations := func(lines int) float64 {
		text := longContent(0, lines)
		return testing.AllocsPerRun(1, func() { require.NoError(t, read(text)) })
	}
	return allocations(600) - allocations(200)
}

// longUnits is a request of namedUnits units with so many distinct contents, each of so many lines.
func longUnits(distinct, lines int) controller.Request {
	req := of("web")
	for i := range namedUnits {
		req.Units = append(req.Units, controller.Unit{Name: fmt.Sprintf("web-%d@.service", i), Content: longContent(i%distinct, lines)})
	}
	return req
}

func longContent(number, lines int) string {
	return fmt.Sprintf("[Service]\nExecStart=/bin/serve %d\n", number) + strings.Repeat("Environment=A=1\n", lines)
}
