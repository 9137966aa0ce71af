package controller_test

import (
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/squadronctl/squadron/controller"
	"github.com/squadronctl/squadron/fleet/fleettest"
)

// R45: a rolling restart replaces every slice though its content is equal, under the same bounds.
func TestR45RollingRestart(t *testing.T) {
	for _, opts := range []controller.UpdateOptions{{MaxGrowth: 1, MinAlive: 3}, {MinAlive: 2}, {}} {
		inBubble(t, 3, nil, func(t *testing.T, b *bench) {
			before := b.idsOf("web")
			require.True(t, controller.IsUnitsAlreadyUpToDate(b.update(request("web", 0), opts)))
			opts.Force = true
			check := newBoundsCheck("web", opts, 0)
			b.replay(check)
			b.cluster.OnChange(check.take)
			check.begin()
			require.NoError(t, b.update(request("web", 0), opts))
			assert.Empty(t, check.findings)
			assert.Len(t, b.idsOf("web"), 3)
			for _, id := range b.idsOf("web") {
				assert.NotContains(t, before, id)
			}
		})
	}
}

// Only the slices named are restarted.
func TestR45RestartOfNamedSlices(t *testing.T) {
	inBubble(t, 3, nil, func(t *testing.T, b *bench) {
		before := b.idsOf("web")
		require.NoError(t, b.update(request("web", 0, before[1]), controller.UpdateOptions{MaxGrowth: 1, MinAlive: 3, Force: true}))
		after := b.idsOf("web")
		assert.Len(t, after, 3)
		assert.Contains(t, after, before[0])
		assert.Contains(t, after, before[2])
		assert.NotContains(t, after, before[1])
	})
}

// One that is not named, and was never started, neither holds up those that are nor is touched.
func TestR45RestartBesideOneThatIsStopped(t *testing.T) {
	for _, opts := range []controller.UpdateOptions{{MaxGrowth: 1, MinAlive: 2}, {MinAlive: 1}} {
		inBubble(t, 4, nil, func(t *testing.T, b *bench) {
			before := b.idsOf("web")
			b.do(b.controller.Stop, request("web", 0, before[2], before[3]))
			opts.Force = true
			check := newBoundsCheck("web", opts, 0)
			b.replay(check)
			b.cluster.OnChange(check.take)
			check.begin()
			require.NoError(t, b.update(request("web", 0, before[0]), opts))
			assert.Empty(t, check.findings)
			after := b.idsOf("web")
			assert.Len(t, after, 4)
			assert.NotContains(t, after, before[0])
			assert.Subset(t, after, before[1:])
			for _, unit := range b.cluster.Units() {
				stopped := strings.Contains(unit.Name, "@"+before[2]+".") || strings.Contains(unit.Name, "@"+before[3]+".")
				assert.Equal(t, map[bool]string{true: "loaded", false: "launched"}[stopped], unit.Desired, unit.Name)
			}
		})
	}
}

// An instance group is restarted in place.
func TestR45RestartOfAnInstanceGroup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		starts := 0
		b := newBench(t, fleettest.Config{Timing: fleettest.Measured(), Behave: func(fleettest.Start) fleettest.Behavior {
			starts++
			return fleettest.Behavior{}
		}})
		defer b.close()
		req := controller.NewRequest(controller.RequestConfig{Group: "db"})
		req.DesiredSlices = 1
		req.Units = []controller.Unit{{Name: "db.service", Content: service("v1")}}
		b.do(b.controller.Submit, req)
		b.do(b.controller.Start, of("db"))
		require.NoError(t, b.update(req, controller.UpdateOptions{Force: true}))
		assert.Equal(t, 2, starts)
		assert.Equal(t, []string{"db.service"}, b.names("db"))
	})
}
