package fleet

import (
	"context"
	"errors"
	"net"
	"os"
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
}

// end closes the connection where it was made.
func (s *sshConnection) end() {
	<-s.ready
	if s.client != nil {
		s.client.Close()
	}
}

// dialChannel opens a channel to the endpoint. It is what the tunnel's transport dials with.
func (t *sshTunnel) dialChannel(ctx context.Context, _, _ string) (net.Conn, error) {
	connection, err := t.connection(ctx)
	if err != nil {
		return nil, err
	}
	// A server that leaves an opening unanswered is as good as dead, and nothing but the end of the connection ends
	// the wait for it.
	timer := time.AfterFunc(t.config.Timeout, func() {
		t.forget(connection)
		connection.client.Close()
	})
	channel, err := connection.client.Dial(t.network, t.target)
	if inTime := timer.Stop(); err != nil && !inTime {
		err = withClass(errTemporary, errmask.Maskf(err, "no answer in time"))
	}
	if err != nil {
		return nil, errmask.Maskf(err, "open channel to %s", t.target)
	}
	return channel, nil
}

// connection gives the connection, and waits for it where it is being made. It is made under the tunnel's own context,
// not under that of the request which happens to be the first.
func (t *sshTunnel) connection(ctx context.Context) (*sshConnection, error) {
	t.mutex.Lock()
	if t.closing.Err() != nil {
		t.mutex.Unlock()
		return nil, errmask.Maskf(net.ErrClosed, "tunnel is closed")
	}
	if t.current == nil {
		t.current = &sshConnection{ready: make(chan struct{})}
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

// keep makes a connection, and forgets it when it has died.
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
	err := connection.client.Wait()
	t.forget(connection)
	t.debug("fleet: SSH tunnel to %s is down: %v", t.address, err)
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
	connection, err := (&net.Dialer{}).DialContext(ctx, "tcp", t.address)
	if err != nil {
		return nil, t.connectError(ctx, err)
	}
	cut := context.AfterFunc(ctx, func() { connection.Close() })
	client, err := t.handshake(connection)
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

func (t *sshTunnel) handshake(connection net.Conn) (*ssh.Client, error) {
	config, done, err := t.clientConfig(connection.RemoteAddr())
	if err != nil {
		return nil, err
	}
	defer done()
	inner, channels, requests, err := ssh.NewClientConn(connection, t.address, config)
	if err != nil {
		return nil, err
	}
	return ssh.NewClient(inner, channels, requests), nil
}

// connectError says what a closed connection means, when it was closed from here.
func (t *sshTunnel) connectError(ctx context.Context, err error) error {
	switch {
	case t.closing.Err() != nil:
		return errmask.Maskf(net.ErrClosed, "tunnel is closed")
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return errmask.Maskf(os.ErrDeadlineExceeded, "connect: no SSH handshake in time")
	default:
		return errmask.Maskf(err, "connect")
	}
}
