package fleet

import (
	"context"
	"errors"
	"net"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/ssh"
)

// waitingRoom is a tunnel's queue without a server.
type waitingRoom struct {
	tunnel     *sshTunnel
	connection *sshConnection
	attempts   int
}

func newWaitingRoom() *waitingRoom {
	w := &waitingRoom{tunnel: &sshTunnel{config: withTunnelDefaults(SSHTunnelConfig{})}}
	w.tunnel.closing, w.tunnel.close = context.WithCancel(context.Background())
	w.connection = &sshConnection{ready: make(chan struct{}), dead: make(chan struct{}), queue: newQueue()}
	return w
}

// wait waits for a channel until grant says that there is one, or it has gone on for far too long.
func (w *waitingRoom) wait(ctx context.Context, grant func() bool) error {
	return w.tunnel.untilFree(ctx, w.connection, isShortage, func() error {
		w.attempts++
		if grant() || w.attempts > 1000 {
			return nil
		}
		return &ssh.OpenChannelError{Reason: ssh.ResourceShortage}
	})
}

func never() bool { return false }

// R28, R31: those who wait for a channel, the one who asks again and those behind it, leave when their contexts end, and then
// nobody asks any more.
func TestQueueHeedsContexts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWaitingRoom()
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		short, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		first, second := make(chan error, 1), make(chan error, 1)
		go func() { first <- w.wait(ctx, never) }()
		synctest.Wait()
		began := time.Now()
		go func() { second <- w.wait(short, never) }()
		assert.ErrorIs(t, <-second, context.DeadlineExceeded)
		assert.Equal(t, 5*time.Second, time.Since(began))
		assert.ErrorIs(t, <-first, context.DeadlineExceeded)
		assert.Equal(t, 10*time.Second, time.Since(began))
		assert.Less(t, w.attempts, 25, "pauses grow")
	})
}

// R31, R44: the end of the tunnel or of the connection ends the wait.
func TestQueueEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWaitingRoom()
		time.AfterFunc(1500*time.Millisecond, w.tunnel.close)
		assert.ErrorIs(t, w.wait(t.Context(), never), net.ErrClosed)

		w = newWaitingRoom()
		time.AfterFunc(1500*time.Millisecond, func() { close(w.connection.dead) })
		err := w.wait(t.Context(), never)
		assert.True(t, IsTemporary(err), "%v", err)
		assert.ErrorContains(t, err, "connection ended")
	})
}

// R31: a channel closed here makes pauses short again, since the server takes a moment to see it.
func TestQueueHastens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWaitingRoom()
		closed := time.Now().Add(10200 * time.Millisecond)
		free := closed.Add(20 * time.Millisecond)
		time.AfterFunc(time.Until(closed), w.connection.channelClosed)
		require.NoError(t, w.wait(t.Context(), func() bool { return !time.Now().Before(free) }))
		assert.Less(t, time.Since(free), 50*time.Millisecond)
	})
}

// R31: what ends a wait for another reason than a refusal is the connection's, and temporary.
func TestQueueOfADeadConnection(t *testing.T) {
	w := newWaitingRoom()
	err := w.tunnel.untilFree(t.Context(), w.connection, isShortage, func() error { return errors.New("broken") })
	assert.True(t, IsTemporary(err), "%v", err)
}

// R31: each channel is closed on every path while the connection stays: unused, and given up in the middle of a
// request.
func TestChannelsAreClosed(t *testing.T) {
	for name, sessions := range map[string]bool{"forwarding": false, "sessions": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				release := make(chan struct{})
				handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if r.Method == http.MethodDelete {
						<-release
					}
					w.WriteHeader(http.StatusNoContent)
				})
				b := newBubble(t, handler, SSHTunnelConfig{})
				if sessions {
					b.server.refuseForwards(ssh.ConnectionFailed, -1)
					b.server.allowSessions(10, func(_ string, stream ssh.Channel) uint32 { serveHTTP(stream, handler); return 0 })
				}
				open := func() int {
					synctest.Wait()
					_, channels, _ := b.server.seen()
					assert.EqualValues(t, b.tunnel.current.channels.Load(), channels+b.server.seenSessions().open)
					return channels + b.server.seenSessions().open
				}
				require.NoError(t, b.client.Start(t.Context(), "a.service"))
				assert.Equal(t, 1, open(), "kept for the next request")
				b.tunnel.transport.CloseIdleConnections()
				assert.Zero(t, open(), "unused")

				short, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				assert.ErrorIs(t, b.client.Destroy(short, "a.service"), context.DeadlineExceeded)
				close(release)
				assert.Zero(t, open(), "given up")
				connections, _, _ := b.server.seen()
				assert.Equal(t, 1, connections)
			})
		})
	}
}
