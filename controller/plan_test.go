package controller_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/squadronctl/squadron/controller"
)

func (b *bench) plan(req controller.Request, opts controller.UpdateOptions) (*controller.Plan, error) {
	return b.controller.(controller.Planner).PlanUpdate(b.t.Context(), req, opts)
}

// R27: a plan says what an update would do, and touches nothing.
func TestR27Plan(t *testing.T) {
	inBubble(t, 3, nil, func(t *testing.T, b *bench) {
		ids := b.idsOf("web")
		require.NoError(t, b.cluster.Put("web-app@"+ids[0]+".service", service("v2"), "launched"))
		b.cluster.Remove("web-log@" + ids[1] + ".service")
		require.NoError(t, b.cluster.Put("web-old@"+ids[2]+".service", service("old")+"\n[X-Squadron]\nGroup=web\n", "launched"))
		require.NoError(t, b.cluster.Put("web-tool.service", service("tool"), "loaded"))
		time.Sleep(time.Minute)
		before := b.desires("")
		plan, err := b.plan(v2(0), controller.UpdateOptions{MaxGrowth: 1, MinAlive: 2, ReadySecs: 5})
		require.NoError(t, err)
		assert.Equal(t, before, b.desires(""))

		require.Len(t, plan.Slices, 3)
		assert.Equal(t, controller.PlannedSlice{ID: ids[0], Action: controller.PlanKeep, Running: true}, plan.Slices[0])
		assert.Equal(t, controller.PlanReplace, plan.Slices[1].Action)
		require.Len(t, plan.Slices[1].Units, 2)
		changed := plan.Slices[1].Units[0]
		assert.Equal(t, controller.UnitChanged, changed.Reason)
		assert.Contains(t, changed.Diff, "\n-ExecStart=/bin/serve v1\n+ExecStart=/bin/serve v2\n")
		assert.Equal(t, controller.PlannedUnit{Name: "web-log@" + ids[1] + ".service", Reason: controller.UnitMissing}, plan.Slices[1].Units[1])
		require.Len(t, plan.Slices[2].Units, 2)
		assert.Equal(t, controller.PlannedUnit{Name: "web-old@" + ids[2] + ".service", Reason: controller.UnitGone}, plan.Slices[2].Units[1])
		assert.Equal(t, []string{"web-tool.service"}, plan.LeftAlone)
		assert.Equal(t, []controller.PlanStep{
			{Create: 1}, {Remove: []string{ids[1]}}, {Create: 1}, {Remove: []string{ids[2]}},
		}, plan.Steps)
		assert.Equal(t, 3, plan.LeastRunning)
		assert.Equal(t, 4, plan.MostExisting)
		assert.False(t, plan.UpToDate())

		text := plan.String()
		assert.Contains(t, text, "group web: 3 slices now, 3 wanted; MaxGrowth 1, MinAlive 2, ReadySecs 5; at least 3 running, at most 4 there\n")
		assert.Contains(t, text, "    +ExecStart=/bin/serve v2\n")
		assert.Contains(t, text, "changed, as above", "a diff is shown once")
		assert.Contains(t, text, "step 2: remove "+ids[1]+"\n")
		assert.Contains(t, text, "left alone, since the request does not have them: web-tool.service\n")
	})
}

func TestPlanOfWhatIsUpToDate(t *testing.T) {
	inBubble(t, 2, nil, func(t *testing.T, b *bench) {
		plan, err := b.plan(request("web", 0), controller.UpdateOptions{MaxGrowth: 1, MinAlive: 2})
		require.NoError(t, err)
		assert.True(t, plan.UpToDate())
		assert.True(t, strings.HasPrefix(plan.String(), "group web: up to date, 2 slices\n"))

		plan, err = b.plan(request("web", 0), controller.UpdateOptions{MaxGrowth: 1, MinAlive: 2, Force: true})
		require.NoError(t, err)
		assert.False(t, plan.UpToDate())
		assert.Equal(t, controller.PlanReplace, plan.Slices[0].Action)
	})
}

// A plan is refused as its update is.
func TestPlanIsRefused(t *testing.T) {
	inBubble(t, 2, nil, func(t *testing.T, b *bench) {
		_, err := b.plan(v2(0), controller.UpdateOptions{MinAlive: 3})
		assert.True(t, controller.IsUpdateNotAllowed(err), "%v", err)
		_, err = b.plan(withVersion(request("nobody", 0), "v2"), controller.UpdateOptions{})
		assert.True(t, controller.IsUnitNotFound(err), "%v", err)
		_, err = b.plan(v2(0, "nob"), controller.UpdateOptions{})
		assert.True(t, controller.IsUnitSliceNotFound(err), "%v", err)
		_, err = b.plan(of("web"), controller.UpdateOptions{})
		assert.True(t, controller.IsNoUnitsInGroup(err), "%v", err)
	})
}

func TestPlanScale(t *testing.T) {
	inBubble(t, 4, nil, func(t *testing.T, b *bench) {
		ids := b.idsOf("web")
		b.cluster.FailUnit("web-app@" + ids[3] + ".service")
		time.Sleep(10 * time.Second)
		planner := b.controller.(controller.Planner)
		plan, err := planner.PlanScale(t.Context(), of("web"), 2, controller.UpdateOptions{MinAlive: 1})
		require.NoError(t, err)
		var removed []string
		for _, slice := range plan.Slices {
			if slice.Action == controller.PlanRemove {
				removed = append(removed, slice.ID)
			}
		}
		assert.Len(t, removed, 2)
		assert.Contains(t, removed, ids[3], "it does not run")
		assert.Equal(t, 2, plan.LeastRunning)

		plan, err = planner.PlanScale(t.Context(), of("web"), 4, controller.UpdateOptions{})
		require.NoError(t, err)
		assert.True(t, plan.UpToDate())
	})
}

// Scaling goes by no content, and so shows no differences.
func TestPlanScaleOfSlicesThatDiffer(t *testing.T) {
	inBubble(t, 3, nil, func(t *testing.T, b *bench) {
		ids := b.idsOf("web")
		require.NoError(t, b.cluster.Put("web-app@"+ids[0]+".service", service("v2"), "launched"))
		require.NoError(t, b.cluster.Put("web-log@"+ids[1]+".service", service("v2"), "launched"))
		time.Sleep(time.Minute)
		for _, req := range []controller.Request{of("web"), v2(0)} {
			plan, err := b.controller.(controller.Planner).PlanScale(t.Context(), req, 1, controller.UpdateOptions{})
			require.NoError(t, err)
			for _, slice := range plan.Slices {
				assert.Empty(t, slice.Units)
			}
		}
	})
}
