package cli_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/squadronctl/squadron/integration/sshd"
)

// bySocket reaches machine 1 by its unix socket.
func bySocket(t *testing.T) way {
	site.Start(t)
	socket := site.Cluster.Machines()[0].Socket()
	return way{flags: []string{"--fleet-endpoint", socket.String()}}
}

// byHTTP reaches machine 2 by TCP, as the environment says.
func byHTTP(t *testing.T) way {
	site.Start(t)
	endpoint := site.Cluster.Machines()[1].Endpoint()
	return way{env: []string{"SQUADRON_ENDPOINT=" + endpoint.String()}}
}

// byTunnel reaches the unix socket of machine 3 through a tunnel that a real sshd is the end of.
func byTunnel(t *testing.T) way { return startSSH(t).way() }

// byTLS reaches machine 2 through a proxy that speaks TLS and lets in who has a certificate.
func byTLS(t *testing.T) way { return startProxy(t).way() }

// sshServer is an sshd, and the files by which to log in there.
type sshServer struct {
	server          *sshd.Server
	identity, known string
	socket          string // of machine 3, as seen from the server
}

func startSSH(t *testing.T) *sshServer {
	t.Helper()
	site.Start(t)
	server, err := sshd.Start(t.Context(), sshd.Config{})
	require.NoError(t, err)
	t.Cleanup(func() {
		if t.Failed() {
			log := server.Log()
			t.Logf("the end of sshd's log:\n%s", log[max(0, len(log)-4000):])
		}
		assert.NoError(t, server.Stop())
	})
	socket := site.Cluster.Machines()[2].Socket()
	s := &sshServer{server: server, socket: socket.String()}
	letUserIn(t, socket.Path)
	key := newKey(t)
	require.NoError(t, server.Authorize(key, ""))
	s.identity = key.File
	lines, err := server.KnownHosts()
	require.NoError(t, err)
	s.known = writeFile(t, t.TempDir(), "known_hosts", lines)
	return s
}

func (s *sshServer) way() way {
	return way{flags: []string{"--fleet-endpoint", s.socket, "--tunnel", s.server.Address, "--ssh-identity", s.identity,
		"--ssh-known-hosts-file", s.known}}
}

func newKey(t *testing.T) sshd.Key {
	t.Helper()
	key, err := sshd.NewKey(filepath.Join(t.TempDir(), "key"))
	require.NoError(t, err)
	return key
}

// letUserIn lets the server's user, who isn't root, get at a socket.
func letUserIn(t *testing.T, socket string) {
	t.Helper()
	require.NoError(t, os.Chmod(socket, 0o777))
	for dir := filepath.Dir(socket); dir != "/"; dir = filepath.Dir(dir) {
		info, err := os.Stat(dir)
		require.NoError(t, err)
		if info.Mode()&0o001 == 0 {
			require.NoError(t, os.Chmod(dir, info.Mode().Perm()|0o001))
		}
	}
}

func writeFile(t *testing.T, dir, name, content string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
	return path
}
