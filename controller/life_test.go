package controller_test

import (
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/squadronctl/squadron/controller"
	"github.com/squadronctl/squadron/fleet/fleettest"
)

func TestLifeOfAGroup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, fleettest.Config{Timing: fleettest.Measured()})
		defer b.close()
		b.do(b.controller.Submit, request("web", 3))
		require.Len(t, b.names("web"), 6)
		b.do(b.controller.Start, of("web"))
		statuses, err := b.controller.GetStatus(t.Context(), of("web"))
		require.NoError(t, err)
		require.Len(t, statuses, 6)
		grouped, err := controller.UnitStatusList(statuses).Group()
		require.NoError(t, err)
		require.Len(t, grouped, 3)
		require.NoError(t, b.update(withVersion(request("web", 0), "v2"), controller.UpdateOptions{MaxGrowth: 1, MinAlive: 2}))
		err = b.update(withVersion(request("web", 0), "v2"), controller.UpdateOptions{MaxGrowth: 1, MinAlive: 2})
		require.True(t, controller.IsUnitsAlreadyUpToDate(err), "%v", err)
		t.Log(b.states("web"))
		b.do(b.controller.Stop, of("web"))
		b.do(b.controller.Destroy, of("web"))
		require.Empty(t, b.names("web"))
	})
}
