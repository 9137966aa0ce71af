package fleet

import (
	"context"
	"io"
	"net"
	"net/http"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/ssh"
)

// sideBySide calls something a number of times, eight at a time.
func sideBySide(number int, call func(i int)) {
	var group sync.WaitGroup
	for worker := range 8 {
		group.Go(func() {
			for i := worker; i < number; i += 8 {
				call(i)
			}
		})
	}
	group.Wait()
}

// R31, C10: where forwarding is refused, a socket is reached by sessions; the refused way is not tried again and again,
// and Close leaves nothing.
func TestTunnelBySessions(t *testing.T) {
	for _, most := range []int{10, 2} {
		fleetd := &cluster{}
		server, config := bench(t, fleetd)
		server.refuseForwards(ssh.ConnectionFailed, -1)
		server.allowSessions(most, fdForward)
		client, tunnel := tunnelled(t, config)
		require.NoError(t, client.Submit(t.Context(), "a.service", webContent))
		sideBySide(40, func(int) { assert.NoError(t, client.Start(t.Context(), "a.service")) })
		assert.Equal(t, "launched", fleetd.units[0].DesiredState)

		connections, _, _ := server.seen()
		assert.Equal(t, 1, connections)
		seen := server.seenSessions()
		assert.LessOrEqual(t, seen.mostOpen, most)
		assert.Equal(t, "fleetctl fd-forward '"+config.Endpoint.Path+"'", seen.commands[0])
		assert.Empty(t, seen.requests, "no agent, no terminal, no environment")
		server.count(func() { assert.Equal(t, 1, server.forwards) })
		require.NoError(t, tunnel.(io.Closer).Close())
		assert.Eventually(t, func() bool { return server.seenSessions().open == 0 }, 10*time.Second, time.Millisecond)
	}
}

// R31: a request for which there is no session waits for one for as long as its context lasts, and no longer.
func TestTunnelWaitsForASession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		b := newBubble(t, nil, SSHTunnelConfig{})
		b.server.refuseForwards(ssh.ConnectionFailed, -1)
		b.server.allowSessions(1, func(_ string, stream ssh.Channel) uint32 {
			serveHTTP(stream, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if strings.HasSuffix(r.URL.Path, "/slow.service") {
					<-release
				}
				w.WriteHeader(http.StatusNoContent)
			}))
			return 0
		})
		require.NoError(t, b.client.Start(t.Context(), "a.service"))
		var group sync.WaitGroup
		group.Go(func() { assert.NoError(t, b.client.Start(t.Context(), "slow.service")) })
		synctest.Wait()

		short, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		assert.ErrorIs(t, b.client.Start(short, "b.service"), context.DeadlineExceeded)
		refused := b.server.seenSessions().refused
		time.Sleep(5 * time.Second)
		assert.Equal(t, refused, b.server.seenSessions().refused, "nobody waits any more, so nobody asks")
		group.Go(func() { assert.NoError(t, b.client.Start(t.Context(), "c.service")) })
		time.Sleep(15 * time.Second) // longer than Timeout, shorter than RequestTimeout
		close(release)
		group.Wait()
		connections, _, _ := b.server.seen()
		assert.Equal(t, 1, connections)
		assert.Equal(t, 1, b.server.seenSessions().mostOpen)
		assert.Less(t, b.server.seenSessions().refused, 60, "in 25 seconds")
		assert.EqualValues(t, 1, b.tunnel.current.channels.Load())
	})
}

// R31, R44: Close ends the wait for a channel, a request in a session, and the session.
func TestCloseEndsWaitForASession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBubble(t, nil, SSHTunnelConfig{})
		b.server.refuseForwards(ssh.ConnectionFailed, -1)
		b.server.allowSessions(1, func(_ string, stream ssh.Channel) uint32 {
			_, _ = io.Copy(io.Discard, stream) // never answers
			return 0
		})
		var group sync.WaitGroup
		for range 3 {
			group.Go(func() { assert.ErrorIs(t, b.client.Start(t.Context(), "a.service"), net.ErrClosed) })
		}
		time.Sleep(500 * time.Millisecond)
		require.NoError(t, b.tunnel.Close())
		group.Wait()
		synctest.Wait()
		assert.Zero(t, b.server.seenSessions().open)
	})
}

// R31: what neither way reaches is explained by what the server said of each, and fleet got nothing.
func TestTunnelNeitherWay(t *testing.T) {
	for name, c := range map[string]struct {
		max       int
		run       func(string, ssh.Channel) uint32
		says      []string
		temporary bool
	}{
		"no fleetctl":     {1, saying(127, "sh: 1: fleetctl: not found\n"), []string{"no fleetctl in the PATH of core", `"sh: 1: fleetctl: not found"`}, false},
		"no socket":       {1, saying(0, "Failed dialing remote address: dial unix /x: connect: no such file or directory\n"), []string{"no such file or directory"}, false},
		"nobody listens":  {1, saying(0, "Failed dialing remote address: dial unix /x: connect: connection refused\n"), []string{"connection refused"}, true},
		"no word":         {1, saying(1, ""), []string{"exited with status 1"}, false},
		"no session":      {0, nil, []string{"grants no session"}, false},
		"no command":      {1, nil, []string{"runs no command"}, false},
		"closed at once":  {1, saying(0, ""), []string{"closed before an answer came"}, true},
		"endless excuses": {1, saying(1, strings.Repeat("x", 5000)+"END"), []string{"xEND"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBubble(t, nil, SSHTunnelConfig{})
				b.client.retries = 0
				b.server.refuseForwards(ssh.ConnectionFailed, -1)
				b.server.allowSessions(c.max, c.run)
				err := b.client.Start(t.Context(), "a.service")
				for _, word := range c.says {
					assert.ErrorContains(t, err, word)
				}
				assert.Less(t, len(err.Error()), 2500)
				assert.Equal(t, c.temporary, IsTemporary(err), "%v", err)
				synctest.Wait()
				assert.Zero(t, b.server.seenSessions().open)
				assert.Zero(t, b.tunnel.current.channels.Load())
				if name == "closed at once" {
					return
				}
				for _, word := range []string{`connect failed ("open failed")`, "fleetctl fd-forward '/var/run/fleet.sock'", "no such socket",
					"AllowStreamLocalForwarding"} {
					assert.ErrorContains(t, err, word)
				}
				// Neither has worked, so both are tried again.
				require.Error(t, b.client.Start(t.Context(), "a.service"))
				b.server.count(func() { assert.Equal(t, 2, b.server.forwards) })
			})
		})
	}
}

// R18, R31: what has worked and fails now may work again.
func TestTunnelAfterItHasWorked(t *testing.T) {
	t.Run("sessions", func(t *testing.T) {
		server, config := bench(t, &cluster{})
		server.refuseForwards(ssh.ConnectionFailed, -1)
		server.allowSessions(10, fdForward)
		client, tunnel := tunnelled(t, config)
		client.retries = 0
		require.NoError(t, client.Submit(t.Context(), "a.service", webContent))
		server.allowSessions(10, saying(0, "Failed dialing remote address: no such file or directory"))
		tunnel.(*sshTunnel).transport.CloseIdleConnections()
		err := client.Start(t.Context(), "a.service")
		assert.ErrorContains(t, err, "no such file or directory")
		assert.True(t, IsTemporary(err), "%v", err)
		server.count(func() { assert.Equal(t, 1, server.forwards) })
	})
	t.Run("forwarding", func(t *testing.T) {
		server, config := bench(t, &cluster{})
		server.allowSessions(10, fdForward)
		client, tunnel := tunnelled(t, config)
		require.NoError(t, client.Submit(t.Context(), "a.service", webContent))
		server.refuseForwards(ssh.ConnectionFailed, 1)
		tunnel.(*sshTunnel).transport.CloseIdleConnections()
		require.NoError(t, client.Start(t.Context(), "a.service"))
		server.count(func() { assert.Equal(t, 3, server.forwards) })
		assert.Empty(t, server.seenSessions().commands)
	})
}

// R31: a server that is short of channels is asked again.
func TestTunnelWaitsForAForwardedChannel(t *testing.T) {
	server, config := bench(t, &cluster{})
	server.refuseForwards(ssh.ResourceShortage, 3)
	client, _ := tunnelled(t, config)
	client.retries = 0
	require.NoError(t, client.Submit(t.Context(), "a.service", webContent))
	server.count(func() { assert.Equal(t, 4, server.forwards) })
}

// R31: a refusal that is for no want of channels makes nobody wait.
func TestTunnelRefusalIsNoShortage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBubble(t, &cluster{}, SSHTunnelConfig{})
		b.client.retries = 0
		require.NoError(t, b.client.Submit(t.Context(), "a.service", webContent))
		b.tunnel.transport.CloseIdleConnections()
		b.server.refuseForwards(ssh.ConnectionFailed, -1)
		began := time.Now()
		sideBySide(20, func(int) {
			err := b.client.Start(t.Context(), "a.service")
			assert.True(t, IsTemporary(err), "%v", err)
		})
		assert.Zero(t, time.Since(began))
	})
}

// R31: a session is in use from when it is granted, however long its command takes to start: others wait for it.
func TestTunnelWaitsForASlowCommand(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBubble(t, nil, SSHTunnelConfig{})
		b.client.retries = 0
		b.server.refuseForwards(ssh.ConnectionFailed, -1)
		b.server.sessions.delay = 2 * noSessionAfter
		b.server.allowSessions(1, func(_ string, stream ssh.Channel) uint32 {
			serveHTTP(stream, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }))
			return 0
		})
		sideBySide(2, func(int) { assert.NoError(t, b.client.Start(t.Context(), "a.service")) })
	})
}

// R31: fd-forward knows no TCP, so a server that refuses to forward it is the end.
func TestTunnelToTCPRefused(t *testing.T) {
	server, config := bench(t, &cluster{})
	server.allowSessions(10, fdForward)
	config.Endpoint.Scheme, config.Endpoint.Host, config.Endpoint.Path = "http", "127.0.0.1:1", ""
	client, _ := tunnelled(t, config)
	client.retries = 0
	err := client.Start(t.Context(), "a.service")
	assert.True(t, IsTemporary(err), "nobody listens: %v", err)
	server.refuseForwards(ssh.Prohibited, -1)
	err = client.Start(t.Context(), "a.service")
	assert.ErrorContains(t, err, "AllowTcpForwarding")
	assert.False(t, IsTemporary(err), "%v", err)
	assert.Empty(t, server.seenSessions().commands)
}

// R31: agents are never forwarded, also where the server would like it.
func TestTunnelForwardsNoAgent(t *testing.T) {
	server, config := bench(t, &cluster{})
	answered := make(chan error, 1)
	server.onLogin = func(login *ssh.ServerConn) {
		_, _, err := login.OpenChannel("auth-agent@openssh.com", nil)
		answered <- err
	}
	client, _ := tunnelled(t, config)
	require.NoError(t, client.Submit(t.Context(), "a.service", webContent))
	var refused *ssh.OpenChannelError
	assert.ErrorAs(t, <-answered, &refused)
}

// unquoted gives what a POSIX shell makes of the text that follows "printf %s".
func unquoted(t *testing.T, text string) string {
	t.Helper()
	out, err := exec.Command("/bin/sh", "-c", "printf %s "+text).Output()
	require.NoError(t, err, "%q", text)
	return string(out)
}

func TestShellQuote(t *testing.T) {
	for _, path := range []string{"/var/run/fleet.sock", "/a b", "/$HOME/`id`/$(id)", `/it's`, `/"x"`, `/a\b\`, "/*;&|<>!~#", "'", "''", "/ä"} {
		assert.Equal(t, path, unquoted(t, shellQuote(path)))
	}
}

// FuzzForwardCommand: a path that is not refused reaches fleetctl as it is, whatever is in it.
func FuzzForwardCommand(f *testing.F) {
	for _, seed := range []string{"/var/run/fleet.sock", "/it's $HOME", `/\'"`, "/a\nb"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, path string) {
		if checkRemoteSocket(path) == nil {
			arguments, found := strings.CutPrefix(forwardCommand(path), "fleetctl fd-forward ")
			require.True(t, found)
			assert.Equal(t, path, unquoted(t, arguments))
		}
	})
}
