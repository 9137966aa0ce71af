package tunnel_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/squadronctl/squadron/fleet"
	"github.com/squadronctl/squadron/fleet/fleettest"
)

// ways are the lines of sshd_config that make a socket be reached by one way or the other.
var ways = map[string][]string{"forwarding": nil, "sessions": {"AllowStreamLocalForwarding no"}}

// inRequest has something done once, while a request of a method is under way, which is then answered too late.
func inRequest(b *bench, method string, do func()) {
	var done atomic.Bool
	b.socket.Faults.Set(func(r *http.Request) fleettest.Action {
		if r.Method != method || done.Swap(true) {
			return nil
		}
		return func(w http.ResponseWriter, r *http.Request, next http.Handler) {
			do()
			<-r.Context().Done()
		}
	})
}

// R29, R31: a connection that is cut in the middle of a request costs a repeat over another one, whatever the method.
func TestConnectionCutInARequest(t *testing.T) {
	t.Parallel()
	for way, options := range ways {
		t.Run(way, func(t *testing.T) {
			b := newBench(t, options...)
			c, _ := client(t, b.config(b.socket))
			cut := func() { oneConnection(t, b.sshd).Cut() }
			inRequest(b, http.MethodPut, cut)
			require.NoError(t, c.Submit(t.Context(), "a.service", content))
			assert.Len(t, b.socket.Cluster.Units(), 1)
			inRequest(b, http.MethodGet, cut)
			_, err := c.GetStatus(t.Context(), "a.service")
			require.NoError(t, err)
			inRequest(b, http.MethodDelete, cut)
			require.NoError(t, c.Destroy(t.Context(), "a.service"))
			assert.Empty(t, b.socket.Cluster.Units())
			eventually(t, func() bool { return len(b.sshd.Connections()) == 1 }, "the old ones have ended")
			assert.Equal(t, 4, strings.Count(b.sshd.Log(), "Accepted publickey"))
		})
	}
}

// R31: without repeats, the caller is told that one might help.
func TestConnectionCutIsTemporary(t *testing.T) {
	t.Parallel()
	for way, options := range ways {
		t.Run(way, func(t *testing.T) {
			b := newBench(t, options...)
			config := b.config(b.socket)
			tunnel, err := fleet.NewSSHTunnel(config)
			require.NoError(t, err)
			defer tunnel.(io.Closer).Close()
			c, err := fleet.NewFleet(fleet.Config{Endpoint: config.Endpoint, SSHTunnel: tunnel, Retries: -1})
			require.NoError(t, err)
			inRequest(b, http.MethodPut, func() { oneConnection(t, b.sshd).Cut() })
			err = c.Submit(t.Context(), "a.service", content)
			assert.True(t, fleet.IsTemporary(err), "%v", err)
		})
	}
}

// R31: a server whose process is stopped, not dead, is noticed, though its TCP connection is well; what was under way goes
// over another connection.
func TestServerStopped(t *testing.T) {
	t.Parallel()
	for way, options := range ways {
		t.Run(way, func(t *testing.T) {
			b := newBench(t, options...)
			config := b.config(b.socket)
			config.KeepAlive, config.Timeout = 200*time.Millisecond, 5*time.Second
			c, _ := client(t, config)
			require.NoError(t, c.Submit(t.Context(), "a.service", content))
			stopped := oneConnection(t, b.sshd)
			require.NoError(t, stopped.Pause())
			defer stopped.Cut()
			require.NoError(t, c.Start(t.Context(), "a.service"))
			unit, _ := b.socket.Cluster.Unit("a.service")
			assert.Equal(t, "launched", unit.Desired)
			assert.Equal(t, 2, strings.Count(b.sshd.Log(), "Accepted publickey"))
			stopped.Resume()
			eventually(t, func() bool { return len(b.sshd.Connections()) == 1 }, "the stopped one finds its connection closed")
		})
	}
}

// R31: keepalive leaves a connection alone that is idle and well.
func TestKeepAliveOnAnIdleConnection(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	config := b.config(b.socket)
	config.KeepAlive = 20 * time.Millisecond
	c, _ := client(t, config)
	require.NoError(t, c.Submit(t.Context(), "a.service", content))
	time.Sleep(time.Second)
	require.NoError(t, c.Start(t.Context(), "a.service"))
	assert.Equal(t, 1, strings.Count(b.sshd.Log(), "Accepted publickey"))
}

// R44: Close ends what is under way, at once and with an error of its own.
func TestCloseInARequest(t *testing.T) {
	t.Parallel()
	for way, options := range ways {
		t.Run(way, func(t *testing.T) {
			b := newBench(t, append(options, "MaxSessions 2")...)
			c, tunnel := client(t, b.config(b.socket))
			arrived := make(chan struct{}, 10)
			b.socket.Faults.Set(func(*http.Request) fleettest.Action {
				return func(_ http.ResponseWriter, r *http.Request, _ http.Handler) {
					arrived <- struct{}{}
					<-r.Context().Done()
				}
			})
			var group sync.WaitGroup
			for range 5 { // more than there are sessions
				group.Go(func() { assert.ErrorIs(t, c.Submit(t.Context(), "a.service", content), net.ErrClosed) })
			}
			<-arrived
			<-arrived
			require.NoError(t, tunnel.(io.Closer).Close())
			group.Wait()
			eventually(t, func() bool { return len(b.sshd.Connections()) == 0 })
		})
	}
}

// R28, R31: a request's context ends it, and leaves the connection to others.
func TestContextEndsARequest(t *testing.T) {
	t.Parallel()
	for way, options := range ways {
		t.Run(way, func(t *testing.T) {
			b := newBench(t, options...)
			c, _ := client(t, b.config(b.socket))
			ctx, cancel := context.WithCancel(t.Context())
			inRequest(b, http.MethodPut, cancel)
			assert.ErrorIs(t, c.Submit(ctx, "a.service", content), context.Canceled)
			require.NoError(t, c.Submit(t.Context(), "a.service", content))
			assert.Equal(t, 1, strings.Count(b.sshd.Log(), "Accepted publickey"))
		})
	}
}

// R31: a server that drops connections because too many are being made is tried again.
func TestMaxStartups(t *testing.T) {
	t.Parallel()
	b := newBench(t, "MaxStartups 1")
	// One that connects and does not log in. The server may still be counting another, and drop it.
	var holding net.Conn
	eventually(t, func() bool {
		var err error
		holding, err = net.Dial("tcp", b.sshd.Address)
		require.NoError(t, err)
		if _, err = holding.Read(make([]byte, 1)); err != nil {
			holding.Close()
		}
		return err == nil
	})
	defer holding.Close()
	config := b.config(b.socket)
	tunnel, err := fleet.NewSSHTunnel(config)
	require.NoError(t, err)
	defer tunnel.(io.Closer).Close()
	once, err := fleet.NewFleet(fleet.Config{Endpoint: config.Endpoint, SSHTunnel: tunnel, Retries: -1})
	require.NoError(t, err)
	err = once.Submit(t.Context(), "a.service", content)
	assert.ErrorContains(t, err, "MaxStartups")
	assert.True(t, fleet.IsTemporary(err), "%v", err)
	holding.Close()
	eventually(t, func() bool { return once.Submit(t.Context(), "a.service", content) == nil })
}

// R31: a peer that accepts connections and never says a word holds nobody longer than Timeout.
func TestSilentPeer(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer silent.Close()
	config := b.config(b.socket)
	config.Tunnel = silent.Addr().String()
	config.Timeout = 100 * time.Millisecond
	c, _ := client(t, config)
	err = c.Submit(t.Context(), "a.service", content)
	assert.ErrorContains(t, err, "no SSH handshake in time")
	assert.True(t, fleet.IsTemporary(err), "%v", err)
}
