package fleet

import (
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/squadronctl/squadron/internal/errmask"
)

var errNoAnswer = withClass(errTemporary, errors.New("the channel was closed before an answer came"))

// channelConn is an open channel as the transport wants it. What fails on it is temporary, for it is the connection or
// the far end that has failed; what the server refused it has refused before.
type channelConn struct {
	reader io.Reader
	writer io.Writer
	end    func() error
	// firstByte is called when the first byte comes from the far end.
	firstByte func()
	// noAnswer says why not a single one came.
	noAnswer func() error

	connection *sshConnection
	once       sync.Once // for end
	answered   atomic.Bool
	closed     atomic.Bool
}

var _ net.Conn = (*channelConn)(nil)

// newChannelConn wraps a channel that is counted as open.
func newChannelConn(connection *sshConnection, reader io.Reader, writer io.Writer, end func() error) *channelConn {
	return &channelConn{
		reader: reader, writer: writer, end: end, connection: connection,
		firstByte: func() {},
		noAnswer:  func() error { return errNoAnswer },
	}
}

// Read gives what the far end sends, and io.EOF after an answer only.
func (c *channelConn) Read(p []byte) (int, error) {
	n, err := c.reader.Read(p)
	if n > 0 && !c.answered.Swap(true) {
		c.firstByte()
	}
	return n, c.explain(err)
}

// Write sends to the far end.
func (c *channelConn) Write(p []byte) (int, error) {
	n, err := c.writer.Write(p)
	return n, c.explain(err)
}

func (c *channelConn) explain(err error) error {
	switch {
	case err == nil:
		return nil
	case c.closed.Load():
		return net.ErrClosed
	case !errors.Is(err, io.EOF):
		return withClass(errTemporary, errmask.Maskf(err, "SSH channel"))
	case c.answered.Load():
		return io.EOF
	default:
		return c.noAnswer()
	}
}

// Close ends the channel; closing again does nothing.
func (c *channelConn) Close() (err error) {
	c.once.Do(func() {
		c.closed.Store(true)
		err = c.end()
		c.connection.channelClosed()
	})
	return err
}

type channelAddr struct{}

// Network names a kind of address of which there is one only.
func (channelAddr) Network() string { return "ssh-channel" }

// String gives the same for all, since channels have no addresses.
func (channelAddr) String() string { return "ssh-channel" }

// LocalAddr gives an address that says nothing.
func (c *channelConn) LocalAddr() net.Addr { return channelAddr{} }

// RemoteAddr gives an address that says nothing.
func (c *channelConn) RemoteAddr() net.Addr { return channelAddr{} }

// SetDeadline fails: a channel has none. Requests have contexts.
func (c *channelConn) SetDeadline(time.Time) error { return os.ErrNoDeadline }

// SetReadDeadline fails, as SetDeadline does.
func (c *channelConn) SetReadDeadline(time.Time) error { return os.ErrNoDeadline }

// SetWriteDeadline fails, as SetDeadline does.
func (c *channelConn) SetWriteDeadline(time.Time) error { return os.ErrNoDeadline }
