package fleet

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"golang.org/x/crypto/ssh"

	"github.com/squadronctl/squadron/internal/errmask"
)

// way is how channels lead to the endpoint. Which one a server allows is found out on each connection anew.
type way int

const (
	wayUnknown way = iota
	wayForward     // the server's own forwarding: direct-streamlocal, direct-tcpip
	waySession     // sessions of fleetctl fd-forward
)

// noSessionAfter is how long a server may refuse sessions while none is open before there seem to be none to be had.
const noSessionAfter = time.Second

// dialChannel opens a channel to the endpoint. It is what the tunnel's transport dials with.
func (t *sshTunnel) dialChannel(ctx context.Context, _, _ string) (net.Conn, error) {
	if !t.begin() {
		return nil, errTunnelClosed()
	}
	defer t.workers.Done()
	if wanted, ok := ctx.Value(wantedKey{}).(context.Context); ok {
		ctx = wanted
	}
	connection, err := t.connection(ctx)
	if err != nil {
		return nil, err
	}
	channel, err := t.openChannel(ctx, connection)
	if err != nil {
		return nil, errmask.Maskf(err, "open channel to %s", t.target)
	}
	return channel, nil
}

// openChannel goes the way that is known to work, else the first that does.
func (t *sshTunnel) openChannel(ctx context.Context, connection *sshConnection) (net.Conn, error) {
	known := connection.knownWay()
	if known == waySession {
		return t.openSession(ctx, connection, nil)
	}
	channel, err := t.forward(ctx, connection)
	if err == nil {
		t.worked(connection, wayForward)
		return channel, nil
	}
	var refusal *ssh.OpenChannelError
	switch {
	case !errors.As(err, &refusal):
		return nil, err
	case known == wayForward:
		// It was allowed before, so it is not that: nobody listens there at the moment.
		return nil, withClass(errTemporary, err)
	case t.network == "tcp":
		return nil, t.tcpRefusal(refusal, err)
	default:
		return t.openSession(ctx, connection, err)
	}
}

// worked notes a way for the life of the connection.
func (t *sshTunnel) worked(connection *sshConnection, found way) {
	connection.mutex.Lock()
	defer connection.mutex.Unlock()
	if connection.way != wayUnknown {
		return
	}
	connection.way = found
	name := map[way]string{wayForward: "the server's own forwarding", waySession: "sessions of fleetctl fd-forward"}[found]
	t.debug("fleet: SSH tunnel to %s reaches %s by %s", t.address, t.target, name)
}

// forward opens a channel that the server itself connects to the endpoint.
func (t *sshTunnel) forward(ctx context.Context, connection *sshConnection) (net.Conn, error) {
	var channel net.Conn
	err := t.untilFree(ctx, connection, isShortage, func() (err error) {
		channel, err = connection.client.Dial(t.network, t.target)
		return err
	})
	if err != nil {
		return nil, err
	}
	connection.channels.Add(1)
	return newChannelConn(connection, channel, channel, channel.Close), nil
}

// isShortage reports whether a server that forwards has too much open at the moment.
func isShortage(err error, _ time.Duration) bool {
	refusal, ok := errors.AsType[*ssh.OpenChannelError](err)
	return ok && refusal.Reason == ssh.ResourceShortage
}

// tcpRefusal explains why a TCP address is out of reach. Here, other than for a socket, the server tells a refusal from a
// connection that failed.
func (t *sshTunnel) tcpRefusal(refusal *ssh.OpenChannelError, err error) error {
	if refusal.Reason == ssh.ConnectionFailed {
		return withClass(errTemporary, err)
	}
	return fmt.Errorf("the server at %s refuses to forward to it: %w. Allow it there (AllowTcpForwarding and PermitOpen in "+
		"sshd_config, no restrict, no-port-forwarding or permitopen before the key in authorized_keys), or give fleet's unix "+
		"socket as the tunnel's endpoint, which fleetctl fd-forward on that host can reach in sessions", t.address, err)
}
