package tunnel_test

import (
	"io"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/squadronctl/squadron/fleet"
	"github.com/squadronctl/squadron/integration/cluster"
)

// C10 on a real cluster: 40 units through the tunnel, by sessions to a machine's socket, with MaxSessions 2; and by
// forwarding to its TCP address what only reads.
func TestFortyUnitsOnARealCluster(t *testing.T) {
	t.Parallel()
	real, err := cluster.Start(t.Context(), cluster.Config{Machines: 3})
	require.NoError(t, err)
	defer func() {
		if t.Failed() {
			t.Log(real.Logs(30))
		}
		assert.NoError(t, real.Stop())
	}()
	b := newBench(t, "AllowStreamLocalForwarding no", "MaxSessions 2")
	machine := real.Machines()[0]
	letUserIn(t, machine.Socket().Path)
	config := b.config(b.socket)
	config.Endpoint = machine.Socket()
	tunnel, err := fleet.NewSSHTunnel(config)
	require.NoError(t, err)
	backend := clientOver(t, tunnel, config.Endpoint)
	direct, err := fleet.NewFleet(fleet.Config{Endpoint: machine.Endpoint()})
	require.NoError(t, err)
	defer direct.(io.Closer).Close()
	everything := func(string) bool { return true }
	lives(t, backend, time.Second, func(step string) {
		units, err := direct.GetStatusWithMatcher(everything)
		if step == "destroy" {
			assert.True(t, fleet.IsUnitNotFound(err), "%v", err)
			return
		}
		require.NoError(t, err)
		assert.Len(t, units, 40)
		for _, unit := range units {
			require.Len(t, unit.Machine, 1, step)
			assert.Equal(t, map[bool]string{true: "launched", false: "loaded"}[step == "start"], unit.Desired, step)
			assert.Equal(t, map[bool]string{true: "active", false: "inactive"}[step == "start"], unit.Machine[0].SystemdActive, step)
		}
	})
	oneConnection(t, b.sshd)

	config = b.config(b.tcp)
	config.Endpoint = machine.Endpoint()
	c, _ := client(t, config)
	machines, err := c.ReadMachines(t.Context())
	require.NoError(t, err)
	assert.Len(t, machines, 3)
}

// letUserIn lets the server's user, who isn't root, get at a socket.
func letUserIn(t *testing.T, socket string) {
	t.Helper()
	require.NoError(t, os.Chmod(socket, 0o777))
	for _, dir := range parents(socket) {
		info, err := os.Stat(dir)
		require.NoError(t, err)
		if info.Mode()&0o001 == 0 {
			require.NoError(t, os.Chmod(dir, info.Mode().Perm()|0o001))
		}
	}
}
