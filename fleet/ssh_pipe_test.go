package fleet

import (
	"context"
	"io"
	"net"
	"net/http"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// pipeEnd is one end of a connection in memory, of which a bubble can tell that it is being waited for. Both directions
// take as much as comes.
type pipeEnd struct{ in, out *pipeBuffer }

type pipeBuffer struct {
	mutex  sync.Mutex
	change *sync.Cond
	data   []byte
	closed bool
	frozen bool // nothing is read any more, as by a process that was stopped
}

func newPipeBuffer() *pipeBuffer {
	b := &pipeBuffer{}
	b.change = sync.NewCond(&b.mutex)
	return b
}

func newPipe() (client, server *pipeEnd) {
	up, down := newPipeBuffer(), newPipeBuffer()
	return &pipeEnd{in: down, out: up}, &pipeEnd{in: up, out: down}
}

func (b *pipeBuffer) set(change func()) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	change()
	b.change.Broadcast()
}

func (e *pipeEnd) Read(p []byte) (int, error) {
	b := e.in
	b.mutex.Lock()
	defer b.mutex.Unlock()
	for !b.closed && (len(b.data) == 0 || b.frozen) {
		b.change.Wait()
	}
	if len(b.data) == 0 || b.frozen {
		return 0, io.EOF
	}
	n := copy(p, b.data)
	b.data = b.data[n:]
	return n, nil
}

func (e *pipeEnd) Write(p []byte) (int, error) {
	e.out.mutex.Lock()
	defer e.out.mutex.Unlock()
	if e.out.closed {
		return 0, net.ErrClosed
	}
	e.out.data = append(e.out.data, p...)
	e.out.change.Broadcast()
	return len(p), nil
}

func (e *pipeEnd) Close() error {
	for _, b := range []*pipeBuffer{e.in, e.out} {
		b.set(func() { b.closed = true })
	}
	return nil
}

func (e *pipeEnd) LocalAddr() net.Addr              { return &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 22} }
func (e *pipeEnd) RemoteAddr() net.Addr             { return e.LocalAddr() }
func (e *pipeEnd) SetDeadline(time.Time) error      { return os.ErrNoDeadline }
func (e *pipeEnd) SetReadDeadline(time.Time) error  { return os.ErrNoDeadline }
func (e *pipeEnd) SetWriteDeadline(time.Time) error { return os.ErrNoDeadline }

// bubble is a server in a bubble of synctest, with a client that goes through a tunnel to it.
type bubble struct {
	server *sshServer
	tunnel *sshTunnel
	client *Client
}

// newBubble is to be called within the bubble; what it starts has ended when the test's function returns.
func newBubble(t *testing.T, handler http.Handler, config SSHTunnelConfig) *bubble {
	t.Helper()
	t.Setenv(agentVariable, "")
	login, private := newKey(t)
	host, _ := newKey(t)
	b := &bubble{server: newSSH(login.PublicKey(), host)}
	b.server.handler = handler
	config.Tunnel = "bubble.example"
	config.IdentityFile = writeIdentity(t, private)
	tunnel, err := NewSSHTunnel(config)
	require.NoError(t, err)
	b.tunnel = tunnel.(*sshTunnel)
	b.tunnel.dial = func(context.Context, string, string) (net.Conn, error) {
		client, server := newPipe()
		b.server.count(func() { b.server.connections = append(b.server.connections, server) })
		b.server.group.Go(func() { b.server.serve(server) })
		return client, nil
	}
	client, err := NewFleet(Config{SSHTunnel: tunnel})
	require.NoError(t, err)
	b.client = client.(*Client)
	t.Cleanup(func() {
		b.client.Close()
		b.tunnel.Close()
		b.server.dropConnections()
		b.server.group.Wait()
	})
	return b
}

// freeze stops the server's side of all connections, as SIGSTOP would.
func (b *bubble) freeze() {
	b.server.count(func() {
		for _, connection := range b.server.connections {
			in := connection.(*pipeEnd).in
			in.set(func() { in.frozen = true })
		}
	})
}
