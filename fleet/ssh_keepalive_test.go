package fleet

import (
	"context"
	"net"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// R31: a server that has gone silent is noticed though nobody waits for a channel; what was under way is sent again over
// another connection.
func TestKeepAliveEndsDeadConnections(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBubble(t, &cluster{}, SSHTunnelConfig{})
		require.NoError(t, b.client.Submit(t.Context(), "a.service", webContent))
		b.freeze()
		began := time.Now()
		require.NoError(t, b.client.Start(t.Context(), "a.service"))
		assert.LessOrEqual(t, time.Since(began), 30*time.Second, "KeepAlive and Timeout, and the pause before the repeat")
		connections, _, _ := b.server.seen()
		assert.Equal(t, 2, connections)
	})
}

// R31, R18: a request on a connection that was given up fails as a broken connection would, and not as a timeout only.
func TestKeepAliveFailsRequestsUnderWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBubble(t, &cluster{}, SSHTunnelConfig{KeepAlive: time.Second, Timeout: 2 * time.Second})
		b.client.retries = 0
		require.NoError(t, b.client.Submit(t.Context(), "a.service", webContent))
		b.freeze()
		began := time.Now()
		err := b.client.Start(t.Context(), "a.service")
		assert.True(t, IsTemporary(err), "%v", err)
		assert.LessOrEqual(t, time.Since(began), 3*time.Second)
		require.NoError(t, b.client.Start(t.Context(), "a.service"), "over another connection")
	})
}

// R31: a connection lasts for as long as the server answers, used or not.
func TestKeepAliveKeepsIdleConnections(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBubble(t, &cluster{}, SSHTunnelConfig{})
		require.NoError(t, b.client.Submit(t.Context(), "a.service", webContent))
		time.Sleep(time.Hour)
		require.NoError(t, b.client.Start(t.Context(), "a.service"))
		connections, channels, _ := b.server.seen()
		assert.Equal(t, 1, connections)
		assert.Equal(t, 1, channels, "the idle channel was closed, and one opened")
	})
}

// R44: Close ends requests under way, with an error of its own, and so also while the server is silent.
func TestCloseEndsRequestsUnderWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hang := make(chan struct{})
		defer close(hang)
		b := newBubble(t, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-hang }), SSHTunnelConfig{})
		failed := make(chan error)
		go func() { failed <- b.client.Start(t.Context(), "a.service") }()
		synctest.Wait()
		b.freeze()
		began := time.Now()
		require.NoError(t, b.tunnel.Close())
		err := <-failed
		assert.ErrorIs(t, err, net.ErrClosed)
		assert.False(t, IsTemporary(err), "%v", err)
		assert.Zero(t, time.Since(began))
	})
}

// R44: Close does not wait for a handshake under way.
func TestCloseEndsAHandshake(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBubble(t, &cluster{}, SSHTunnelConfig{})
		b.tunnel.dial = func(context.Context, string, string) (net.Conn, error) {
			silent, _ := newPipe()
			return silent, nil
		}
		failed := make(chan error)
		go func() { failed <- b.client.Start(t.Context(), "a.service") }()
		synctest.Wait()
		began := time.Now()
		require.NoError(t, b.tunnel.Close())
		assert.ErrorIs(t, <-failed, net.ErrClosed)
		assert.Zero(t, time.Since(began))
	})
}
