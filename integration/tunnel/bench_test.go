package tunnel_test

import (
	"io"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/squadronctl/squadron/fleet"
	"github.com/squadronctl/squadron/fleet/fleettest"
	"github.com/squadronctl/squadron/integration/sshd"
)

const content = "[Service]\nExecStart=/bin/sleep 1000\n"

// patience is how long a test waits for what has to come; where all is well it comes in moments.
const patience = time.Minute

// bench is an SSH server that the test's key opens, and a cluster behind it on a unix socket and on TCP.
type bench struct {
	sshd   *sshd.Server
	key    sshd.Key
	known  string            // a file that knows the server's keys
	socket *fleettest.Server // the same cluster,
	tcp    *fleettest.Server // but for what its Counts count
}

// newBench starts a server with lines of sshd_config.
func newBench(t *testing.T, options ...string) *bench {
	t.Helper()
	return newBenchOf(t, sshd.Config{Options: options})
}

func newBenchOf(t *testing.T, config sshd.Config) *bench {
	t.Helper()
	if config.Path == "" {
		config.Path = binaries + ":/usr/bin:/bin"
	}
	server, err := sshd.Start(t.Context(), config)
	require.NoError(t, err)
	t.Cleanup(func() {
		if t.Failed() {
			log := server.Log()
			t.Logf("the end of sshd's log:\n%s", log[max(0, len(log)-4000):])
		}
		assert.NoError(t, server.Stop())
	})
	b := &bench{sshd: server, known: filepath.Join(t.TempDir(), "known_hosts")}
	b.key = newKey(t)
	require.NoError(t, server.Authorize(b.key, ""))
	b.know(t)
	b.socket = fleettest.NewUnstartedServer(fleettest.Config{})
	require.NoError(t, b.socket.StartUnix(filepath.Join(server.Dir, "fleet.sock")))
	t.Cleanup(b.socket.Close)
	require.NoError(t, os.Chmod(b.socket.Endpoint().Path, 0o777)) // the user isn't root
	b.tcp = fleettest.NewServer(fleettest.Config{})
	t.Cleanup(b.tcp.Close)
	return b
}

func newKey(t *testing.T) sshd.Key {
	t.Helper()
	key, err := sshd.NewKey(filepath.Join(t.TempDir(), "key"))
	require.NoError(t, err)
	return key
}

// know writes the file of known hosts: the server's keys of some kinds, by default all.
func (b *bench) know(t *testing.T, kinds ...string) {
	t.Helper()
	lines, err := b.sshd.KnownHosts(kinds...)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(b.known, []byte(lines), 0o600))
}

// config is that of a tunnel to a server of the bench's.
func (b *bench) config(to *fleettest.Server) fleet.SSHTunnelConfig {
	config := fleet.DefaultSSHTunnelConfig()
	config.Tunnel = b.sshd.Address
	config.KnownHostsFile = b.known
	config.IdentityFile = b.key.File
	config.Endpoint = to.Endpoint()
	return config
}

// client gives a client that goes through a tunnel, and the tunnel, which is closed with the test.
func client(t *testing.T, config fleet.SSHTunnelConfig) (*fleet.Client, fleet.SSHTunnel) {
	t.Helper()
	tunnel, err := fleet.NewSSHTunnel(config)
	require.NoError(t, err)
	return clientOver(t, tunnel, config.Endpoint), tunnel
}

func clientOver(t *testing.T, tunnel fleet.SSHTunnel, endpoint url.URL) *fleet.Client {
	t.Helper()
	made, err := fleet.NewFleet(fleet.Config{Endpoint: endpoint, SSHTunnel: tunnel, RetryWait: 10 * time.Millisecond})
	require.NoError(t, err)
	t.Cleanup(func() {
		assert.NoError(t, made.(io.Closer).Close())
		assert.NoError(t, tunnel.(io.Closer).Close())
	})
	return made.(*fleet.Client)
}

// requests says how many requests a cluster has got.
func requests(server *fleettest.Server) int {
	c := server.Cluster.Counts()
	return c.UnitPages + c.StatePages + c.MachinePages + c.UnitReads + c.StateReads + c.Puts + c.Deletes + c.Others
}

// oneConnection shows that the server has one connection, and gives it.
func oneConnection(t *testing.T, server *sshd.Server) sshd.Connection {
	t.Helper()
	connections := server.Connections()
	require.Len(t, connections, 1)
	return connections[0]
}

func eventually(t *testing.T, condition func() bool, what ...any) {
	t.Helper()
	require.Eventually(t, condition, patience, 10*time.Millisecond, what...)
}

// sideBySide calls something a number of times, some at a time.
func sideBySide(number, width int, call func(i int)) {
	var group sync.WaitGroup
	for worker := range width {
		group.Go(func() {
			for i := worker; i < number; i += width {
				call(i)
			}
		})
	}
	group.Wait()
}

// parents gives the directories that lead to a file, without the root.
func parents(file string) (dirs []string) {
	for dir := filepath.Dir(file); dir != "/"; dir = filepath.Dir(dir) {
		dirs = append(dirs, dir)
	}
	return dirs
}
