package units_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/squadronctl/squadron/fleet/fleettest"
	"github.com/squadronctl/squadron/stack"
)

func TestServicesOfAStack(t *testing.T) {
	onBench(t, fleettest.Config{}, func(t *testing.T, b *bench) {
		b.mustDeploy("alice", "web", webManifest("slices: 3\n", "v1")+file("web-log@.service", service("log")))
		b.put("web-notes@1.service", service("notes"))
		require.NoError(t, b.client.Stop(t.Context(), b.names("web-app")[1]))
		services, err := b.engine.ReadStackServices(t.Context(), "web")
		require.NoError(t, err)
		require.Len(t, services, 2)
		assert.Contains(t, services[0].Message, b.names("web-app")[1]+" is loaded, and inactive/dead on machine 192.0.2.")
		services[0].Message = ""
		assert.Equal(t, []stack.ServiceState{
			{Name: "web-app@.service", Running: 2, Desired: 3, Status: stack.StatusStopped},
			{Name: "web-log@.service", Running: 3, Desired: 3, Status: stack.StatusRunning},
		}, services)
		assert.Len(t, b.engine.StackServices(t.Context(), "web"), 2)
	})
}

func TestStatusOfAService(t *testing.T) {
	stamp := "\n[X-Squadron]\nGroup=web\nOwner=alice\n"
	tests := map[string]struct {
		content, desired string
		after            time.Duration
		status, says     string
		running          int
	}{
		"running":          {service("v1"), "launched", time.Minute, stack.StatusRunning, "", 1},
		"starting":         {service("v1"), "launched", 2500 * time.Millisecond, stack.StatusStarting, "activating/start", 0},
		"no state yet":     {service("v1"), "launched", 1500 * time.Millisecond, stack.StatusStarting, "", 0},
		"stopped":          {service("v1"), "loaded", time.Minute, stack.StatusStopped, "inactive/dead", 0},
		"failed":           {"[Service]\nExecStart=/bin/false\n", "launched", time.Minute, stack.StatusFailed, "failed", 0},
		"no machine":       {service("v1") + "\n[X-Fleet]\nMachineMetadata=zone=none\n", "launched", time.Minute, stack.StatusStarting, "no machine has taken it", 0},
		"only to be there": {service("v1") + "\n[X-Fleet]\nMachineMetadata=zone=none\n", "loaded", time.Minute, stack.StatusStopped, "on no machine", 0},
		"oneshot that has run": {"[Service]\nType=oneshot\nExecStart=/bin/true\n", "launched", time.Minute,
			stack.StatusRunning, "", 1},
		"global": {service("v1") + "\n[X-Fleet]\nGlobal=true\n", "launched", time.Minute, stack.StatusRunning, "", 1},
	}
	timing := fleettest.Timing{Schedule: time.Second, Load: time.Second, Start: 2 * time.Second}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			onBench(t, fleettest.Config{Timing: timing}, func(t *testing.T, b *bench) {
				require.NoError(t, b.cluster.Put("web.service", test.content+stamp, test.desired))
				time.Sleep(test.after)
				services, err := b.engine.ReadStackServices(t.Context(), "web")
				require.NoError(t, err)
				require.Len(t, services, 1)
				assert.Equal(t, test.status, services[0].Status, services[0].Message)
				assert.Equal(t, test.running, services[0].Running)
				assert.Equal(t, 1, services[0].Desired)
				assert.Contains(t, services[0].Message, test.says)
			})
		})
	}
}

func TestReadStacksIsOneLook(t *testing.T) {
	onBench(t, fleettest.Config{}, func(t *testing.T, b *bench) {
		b.mustDeploy("alice", "web", webManifest("slices: 2\n", "v1"))
		b.mustDeploy("bob", "web-2", file("web-2-app.service", service("v1")))
		b.wrote()
		found, err := b.engine.ReadStacks(t.Context(), []string{"web", "web-2", "none"})
		require.NoError(t, err)
		assert.Equal(t, 1, b.cluster.Counts().UnitListings)
		assert.Equal(t, map[string][]stack.ServiceState{
			"web":   {{Name: "web-app@.service", Running: 2, Desired: 2, Status: stack.StatusRunning}},
			"web-2": {{Name: "web-2-app.service", Running: 1, Desired: 1, Status: stack.StatusRunning}},
			"none":  {},
		}, found)
		found, err = b.engine.ReadStacks(t.Context(), nil)
		require.NoError(t, err)
		assert.Empty(t, found)
		_, err = b.engine.ReadStacks(t.Context(), []string{"web", ""})
		require.Error(t, err, "all or nothing")
	})
}

func TestLiveStacksIsOneLook(t *testing.T) {
	onBench(t, fleettest.Config{}, func(t *testing.T, b *bench) {
		b.mustDeploy("alice", "web", webManifest("slices: 2\n", "v1"))
		b.mustDeploy("bob", "web-2", file("web-2-app.service", service("v1")))
		want := map[string]map[string]stack.Service{"none": {}}
		for _, name := range []string{"web", "web-2"} {
			live, err := b.engine.LiveServices(t.Context(), name)
			require.NoError(t, err)
			require.Len(t, live, 1)
			want[name] = live
		}
		b.wrote()
		found, err := b.engine.LiveStacks(t.Context(), []string{"web", "web-2", "none"})
		require.NoError(t, err)
		assert.Equal(t, want, found)
		assert.Equal(t, 1, b.cluster.Counts().UnitListings)
		found, err = b.engine.LiveStacks(t.Context(), nil)
		require.NoError(t, err)
		assert.Empty(t, found)
		_, err = b.engine.LiveStacks(t.Context(), []string{"web", ""})
		require.Error(t, err, "all or nothing")
		b.faults.Set(fleettest.Always(fleettest.Fail(500, "")))
		found, err = b.engine.LiveStacks(t.Context(), []string{"web"})
		require.Error(t, err)
		assert.Nil(t, found)
	})
}

func TestAReadThatFailedIsNoEmptyStack(t *testing.T) {
	onBench(t, fleettest.Config{}, func(t *testing.T, b *bench) {
		b.mustDeploy("alice", "web", webManifest("", "v1"))
		b.faults.Set(fleettest.Always(fleettest.Fail(500, "")))
		_, err := b.engine.ReadStackServices(t.Context(), "web")
		require.Error(t, err)
		found, err := b.engine.ReadStacks(t.Context(), []string{"web"})
		require.Error(t, err)
		assert.Nil(t, found)
		_, err = b.engine.LiveServices(t.Context(), "web")
		require.Error(t, err)
		_, err = b.engine.OwnedStacks(t.Context(), "alice")
		require.Error(t, err)
		_, err = b.engine.SwarmNodes(t.Context())
		require.Error(t, err)
		assert.Nil(t, b.engine.StackServices(t.Context(), "web"))
		require.Error(t, b.engine.RemoveStack(t.Context(), "web"))
		require.Error(t, b.deploy("alice", "web", webManifest("", "v2")))
		assert.Len(t, b.manifests("alice", "web"), 1)
	})
}

func TestMachinesAreCounted(t *testing.T) {
	onBench(t, fleettest.Config{Machines: fleettest.DefaultMachines(4)}, func(t *testing.T, b *bench) {
		n, err := b.engine.SwarmNodes(t.Context())
		require.NoError(t, err)
		assert.Equal(t, 4, n)
	})
}
