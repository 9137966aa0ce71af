package fleet

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/crypto/ssh"

	"github.com/squadronctl/squadron/internal/errmask"
)

// sshConnection is the tunnel's connection, from the moment that somebody wants it.
type sshConnection struct {
	// ready is closed when client or err is set.
	ready  chan struct{}
	client *ssh.Client
	err    error
	// dead is closed when client's connection has ended.
	dead chan struct{}

	channels atomic.Int32 // open now, those included whose command has yet to start
	queue    *queue
	mutex    sync.Mutex
	way      way
}

// end closes the connection where it was made.
func (s *sshConnection) end() {
	<-s.ready
	if s.client != nil {
		s.client.Close()
	}
}

// channelClosed counts one channel less, whose place somebody may be waiting for.
func (s *sshConnection) channelClosed() {
	s.channels.Add(-1)
	s.queue.closed()
}

func (s *sshConnection) knownWay() way {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.way
}

// begin counts one more goroutine that Close waits for; it is false when there is to be none any more.
func (t *sshTunnel) begin() bool {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	if t.closing.Err() != nil {
		return false
	}
	t.workers.Add(1)
	return true
}

// connection gives the connection, and waits for it where it is being made. It is made under the tunnel's own context,
// not under that of the request which happens to be the first.
func (t *sshTunnel) connection(ctx context.Context) (*sshConnection, error) {
	t.mutex.Lock()
	if t.closing.Err() != nil {
		t.mutex.Unlock()
		return nil, errTunnelClosed()
	}
	if t.current == nil {
		t.current = &sshConnection{ready: make(chan struct{}), dead: make(chan struct{}), queue: newQueue()}
		t.workers.Add(1)
		go t.keep(t.current)
	}
	current := t.current
	t.mutex.Unlock()
	select {
	case <-current.ready:
		return current, current.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// keep makes a connection, looks after it, and forgets it when it has died.
func (t *sshTunnel) keep(connection *sshConnection) {
	defer t.workers.Done()
	connection.client, connection.err = t.connect()
	if connection.err != nil {
		t.forget(connection)
		close(connection.ready)
		return
	}
	close(connection.ready)
	t.debug("fleet: SSH tunnel to %s is up", t.address)
	t.workers.Add(1)
	go t.keepAlive(connection)
	err := connection.client.Wait()
	close(connection.dead)
	t.forget(connection)
	t.debug("fleet: SSH tunnel to %s is down: %v", t.address, err)
}

// keepAlive asks the server for a sign of life again and again. The request is one that no server knows: that it is
// refused is the sign.
func (t *sshTunnel) keepAlive(connection *sshConnection) {
	defer t.workers.Done()
	ticker := time.NewTicker(t.config.KeepAlive)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
		case <-connection.dead:
			return
		}
		// An error is one of the connection, which then has ended.
		_ = t.inTime(connection, func() error {
			_, _, err := connection.client.SendRequest("keepalive@openssh.com", true, nil)
			return err
		})
	}
}

// inTime does something that ends with an answer of the server's. A server that leaves it out is as good as dead, and
// nothing but the end of the connection ends the wait.
func (t *sshTunnel) inTime(connection *sshConnection, ask func() error) error {
	timer := time.AfterFunc(t.config.Timeout, func() {
		t.debug("fleet: SSH tunnel to %s: no answer in %s", t.address, t.config.Timeout)
		t.forget(connection)
		connection.client.Close()
	})
	err := ask()
	if inTime := timer.Stop(); err != nil && !inTime {
		return withClass(errTemporary, errmask.Maskf(err, "the SSH server gave no answer in %s", t.config.Timeout))
	}
	return err
}

// forget makes the next request ask for another connection.
func (t *sshTunnel) forget(connection *sshConnection) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	if t.current == connection {
		t.current = nil
	}
}

// connect dials and shakes hands. Both together have the configured time, which the ssh package's own timeout would not
// cover.
func (t *sshTunnel) connect() (*ssh.Client, error) {
	ctx, cancel := context.WithTimeout(t.closing, t.config.Timeout)
	defer cancel()
	connection, err := t.dial(ctx, "tcp", t.address)
	if err != nil {
		return nil, t.connectError(ctx, err)
	}
	cut := context.AfterFunc(ctx, func() { connection.Close() })
	client, err := t.handshake(ctx, connection)
	if !cut() && err == nil {
		client.Close()
		err = ctx.Err()
	}
	if err != nil {
		connection.Close()
		return nil, t.connectError(ctx, err)
	}
	return client, nil
}

func (t *sshTunnel) handshake(ctx context.Context, connection net.Conn) (*ssh.Client, error) {
	config, login, err := t.clientConfig(ctx, connection.RemoteAddr())
	if err != nil {
		return nil, err
	}
	defer login.close()
	inner, channels, requests, err := ssh.NewClientConn(connection, t.address, config)
	if err != nil {
		return nil, t.keyKindError(login.explain(err))
	}
	return ssh.NewClient(inner, channels, requests), nil
}

// connectError says what a closed connection means.
func (t *sshTunnel) connectError(ctx context.Context, err error) error {
	switch {
	case t.closing.Err() != nil:
		return errTunnelClosed()
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return errmask.Maskf(os.ErrDeadlineExceeded, "connect: no SSH handshake in time")
	case errors.Is(err, io.EOF), errors.Is(err, syscall.ECONNRESET):
		err = errmask.Maskf(err, "connect: the server ended the connection, as sshd does beyond its MaxStartups")
		return withClass(errTemporary, err)
	default:
		return errmask.Maskf(err, "connect")
	}
}
