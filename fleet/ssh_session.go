package fleet

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/crypto/ssh"

	"github.com/squadronctl/squadron/internal/errmask"
)

const (
	// maxLastWords is how much is kept of what a session's command says on standard error.
	maxLastWords = 1 << 10
	// exitWait is how long a command that has closed its output may take to exit.
	exitWait = 2 * time.Second
	// commandNotFound is the status with which shells answer for a command that there is not.
	commandNotFound = 127
)

// forwardCommand is what a session runs, in the words of a POSIX shell.
func forwardCommand(socket string) string {
	return "fleetctl fd-forward " + shellQuote(socket)
}

// shellQuote makes one word of a text. Nothing but a single quote means anything between single quotes.
func shellQuote(text string) string {
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}

// sessionChannel is a session in which fleetctl connects its standard streams to fleet's socket.
type sessionChannel struct {
	tunnel  *sshTunnel
	session *ssh.Session
	stderr  lastWords
	// refusal is why the server's own forwarding was not used; nil where sessions are known to work.
	refusal error
	// ended is closed when the command has exited, with what in exit.
	ended chan struct{}
	exit  error
}

// openSession opens a session and starts the command in it. That the command does what it should is known only when an
// answer comes through.
func (t *sshTunnel) openSession(ctx context.Context, connection *sshConnection, refusal error) (net.Conn, error) {
	s := &sessionChannel{tunnel: t, refusal: refusal, ended: make(chan struct{})}
	full := func(_ error, refused time.Duration) bool {
		return refusal == nil || connection.channels.Load() > 0 || refused < noSessionAfter
	}
	err := t.untilFree(ctx, connection, full, func() (err error) {
		s.session, err = connection.client.NewSession()
		return err
	})
	if _, refused := errors.AsType[*ssh.OpenChannelError](err); refused && ctx.Err() == nil {
		return nil, s.explain(errmask.Maskf(err, "the server grants no session"))
	}
	if err != nil {
		return nil, err
	}
	connection.channels.Add(1)
	out, in, err := s.start(connection)
	if err != nil {
		s.session.Close()
		connection.channelClosed()
		return nil, err
	}
	t.workers.Go(s.wait)
	channel := newChannelConn(connection, out, in, s.session.Close)
	channel.firstByte = func() { t.worked(connection, waySession) }
	channel.noAnswer = s.verdict
	return channel, nil
}

func (s *sessionChannel) start(connection *sshConnection) (out io.Reader, in io.Writer, err error) {
	s.session.Stderr = &s.stderr
	if out, err = s.session.StdoutPipe(); err != nil {
		return nil, nil, err
	}
	if in, err = s.session.StdinPipe(); err != nil {
		return nil, nil, err
	}
	err = s.tunnel.inTime(connection, func() error { return s.session.Start(forwardCommand(s.tunnel.target)) })
	switch {
	case err == nil || IsTemporary(err):
		return out, in, err
	case errors.Is(err, io.EOF):
		return nil, nil, withClass(errTemporary, err)
	default:
		return nil, nil, s.explain(errmask.Maskf(err, "the server runs no command"))
	}
}

func (s *sessionChannel) wait() {
	s.exit = s.session.Wait()
	close(s.ended)
}

// verdict says why a session ended without an answer. fleetctl exits with 0 also when it could not connect, but not
// without a word.
func (s *sessionChannel) verdict() error {
	timer := time.NewTimer(exitWait)
	defer timer.Stop()
	select {
	case <-s.ended:
	case <-timer.C:
		return errNoAnswer
	}
	said := s.stderr.String()
	exited, hasStatus := errors.AsType[*ssh.ExitError](s.exit)
	if !hasStatus && (s.exit != nil || said == "") {
		return errNoAnswer // the connection broke, or what listens at the socket has closed it
	}
	err := errors.New("it ended without an answer")
	switch {
	case hasStatus && exited.ExitStatus() == commandNotFound:
		err = errmask.Maskf(exited, "there seems to be no fleetctl in the PATH of %s there", s.tunnel.config.Username)
	case hasStatus:
		err = exited
	}
	if said != "" {
		err = errmask.Maskf(err, "it said %q", said)
	}
	err = s.explain(err)
	if s.refusal == nil || strings.Contains(said, syscall.ECONNREFUSED.Error()) {
		// It worked before on this connection, or the socket is there and nobody listens.
		return withClass(errTemporary, err)
	}
	return err
}

// explain puts together why neither way leads to the socket. What the server answers to the first way is the same for a
// refusal and for a socket that is not there (test it with sshd: each is "open failed"), so both have to be told.
func (s *sessionChannel) explain(err error) error {
	if s.refusal == nil {
		return errmask.Maskf(err, "session of %q", forwardCommand(s.tunnel.target))
	}
	return fmt.Errorf("neither way leads there. The server's own forwarding: %w. A session of %q: %w. "+
		"Either there is no such socket on %s, or %s may not open it: look with ls -l. Or the server refuses to forward: allow it "+
		"(AllowStreamLocalForwarding and AllowTcpForwarding in sshd_config, no restrict or no-port-forwarding before the key in "+
		"authorized_keys), or put fleetctl into the PATH of commands that %s runs there",
		s.refusal, forwardCommand(s.tunnel.target), err, s.tunnel.address, s.tunnel.config.Username, s.tunnel.config.Username)
}

// lastWords keeps the end of what is written to it.
type lastWords struct {
	mutex sync.Mutex
	text  []byte
}

// Write takes everything, and never fails.
func (w *lastWords) Write(p []byte) (int, error) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	w.text = append(w.text, p...)
	if extra := len(w.text) - maxLastWords; extra > 0 {
		w.text = append(w.text[:0], w.text[extra:]...)
	}
	return len(p), nil
}

// String gives what was kept, without space around it.
func (w *lastWords) String() string {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	return strings.TrimSpace(string(w.text))
}
