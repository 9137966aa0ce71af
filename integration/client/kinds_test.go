package client_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/squadronctl/squadron/fleet"
	"github.com/squadronctl/squadron/integration/cluster"
)

// Kinds of units, and what their states say once they have settled.
func TestKinds(t *testing.T) {
	t.Parallel()
	c := connect(t, real.Endpoint())
	service := func(lines string) string { return "[Service]\n" + lines + "\n" }
	for _, unit := range []struct{ name, content, states string }{
		{"kind.socket", "[Socket]\nListenStream=/run/kind.sock\n[X-Fleet]\nMachineOf=kind.service\n", "launched/launched active/listening"},
		{"kind.timer", "[Timer]\nOnActiveSec=1h\n[X-Fleet]\nMachineOf=kind.service\n", "launched/launched active/waiting"},
		{"kind.path", "[Path]\nPathExists=/nowhere\n[X-Fleet]\nMachineOf=kind.service\n", "launched/launched active/waiting"},
		{"kind-exit.service", service("Type=oneshot\nRemainAfterExit=yes\nExecStart=/bin/true"), "launched/launched active/exited"},
		{"kind-fails.service", service("ExecStart=/bin/false"), "launched/launched failed/failed"},
		{"kind-missing.service", service("ExecStart=/bin/no-such-program"), "launched/launched failed/failed"},
		{"kind-restarts.service", service("ExecStart=/bin/false\nRestart=always\nRestartSec=3600"), "launched/launched activating/auto-restart"},
		{"kind-slow-pre.service", service("ExecStartPre=/bin/sleep 3600\nExecStart=/bin/sleep 3600\nTimeoutStartSec=infinity"), "launched/launched activating/start-pre"},
		{"kind-slow.service", service("Type=notify\nExecStart=/bin/sleep 3600\nTimeoutStartSec=infinity"), "launched/launched activating/start"},
		{"kind-ends.service", service("ExecStart=/bin/true"), "launched/launched inactive/dead"},
		{"kind-once.service", service("Type=oneshot\nExecStart=/bin/true"), "launched/launched inactive/dead"},
	} {
		if unit.name == "kind.socket" {
			require.NoError(t, c.Submit(limited(t), "kind.service", sleeper()))
			settle(t, c, "kind.service", stopped)
		}
		create(t, c, unit.name, unit.content)
		t.Run(unit.name, func(t *testing.T) {
			t.Parallel()
			status := settle(t, c, unit.name, unit.states)
			assert.Equal(t, hash(t, unit.content), status.Machine[0].UnitHash)
			assert.Equal(t, unit.name == "kind-once.service", detail(t, c, unit.name).Oneshot)
			assert.Empty(t, detail(t, c, unit.name).LoadError)
		})
	}
}

// A unit that restarts for ever and quickly is never listed as failed while systemd goes on trying.
func TestRestartsForEver(t *testing.T) {
	t.Parallel()
	c := connect(t, real.Endpoint())
	name := "flaps.service"
	create(t, c, name, "[Unit]\nStartLimitIntervalSec=0\n[Service]\nExecStart=/bin/sh -c 'sleep 0.5; exit 1'\nRestart=always\nRestartSec=1\n")
	seen := map[string]bool{}
	settleWhere(t, c, name, "running and waiting for its restart", func(s fleet.UnitStatus) bool {
		seen[states(s)] = true
		return seen[running] && seen["launched/launched activating/auto-restart"]
	})
	for state := range seen {
		assert.NotContains(t, state, "failed")
	}
}

// A unit that starts slowly is activating as long as that takes, and active in the end.
func TestStartsSlowly(t *testing.T) {
	t.Parallel()
	c := connect(t, real.Endpoint())
	name := "slow.service"
	create(t, c, name, "[Service]\nExecStartPre=/bin/sh -c 'until [ -e /run/slow ]; do sleep 0.2; done'\n"+
		"ExecStart=/bin/sleep 100000\nTimeoutStartSec=infinity\n[X-Fleet]\nMachineMetadata=name=m1\n")
	settle(t, c, name, "launched/launched activating/start-pre")
	require.NoError(t, real.Machines()[0].Command(limited(t), "touch", "/run/slow").Run())
	settle(t, c, name, running)
}

// A failed unit runs again once its content was mended.
func TestMended(t *testing.T) {
	t.Parallel()
	c := connect(t, real.Endpoint())
	name := "mended.service"
	create(t, c, name, "[Service]\nExecStart=/bin/false\n")
	settle(t, c, name, "launched/launched failed/failed")
	create(t, c, name, sleeper())
	settle(t, c, name, running)
}

// What systemd says of a unit file that it can't load comes out as LoadError.
func TestLoadError(t *testing.T) {
	t.Parallel()
	c := connect(t, real.Endpoint())
	name := "unloadable.service"
	create(t, c, name, "[Service]\nType=simple\n")
	settleWhere(t, c, name, "bad-setting", func(s fleet.UnitStatus) bool {
		return states(s) == "launched/launched inactive/dead" && detail(t, c, name).LoadError == "bad-setting"
	})
}

// A socket starts its service, a timer does: the service's own desired state is not asked.
func TestTimerAndSocketStartTheirService(t *testing.T) {
	t.Parallel()
	c := connect(t, real.Endpoint())
	ctx := limited(t)
	require.NoError(t, c.Submit(ctx, "ticks.service", placed("MachineMetadata=name=m2")))
	require.NoError(t, c.Submit(ctx, "rings.service", "[Service]\nExecStart=/bin/sleep 100000\n[X-Fleet]\nMachineMetadata=name=m2\n"))
	settle(t, c, "ticks.service", stopped)
	settle(t, c, "rings.service", stopped)
	create(t, c, "ticks.timer", "[Timer]\nOnActiveSec=1\n[X-Fleet]\nMachineOf=ticks.service\n")
	create(t, c, "rings.socket", "[Socket]\nListenStream=/run/rings.sock\n[X-Fleet]\nMachineOf=rings.service\n")
	settle(t, c, "rings.socket", "launched/launched active/listening")
	machine := real.Machines()[1]
	require.Equal(t, cluster.IDOf(2), machine.ID)
	require.NoError(t, machine.Command(ctx, "perl", "-MIO::Socket::UNIX", "-e", `IO::Socket::UNIX->new(Peer => "/run/rings.sock") or die $!`).Run())
	settle(t, c, "rings.socket", "launched/launched active/running")
	settle(t, c, "rings.service", "loaded/loaded active/running")
	settle(t, c, "ticks.service", "loaded/loaded active/running")
}
