package fleet

import (
	"bytes"
	"context"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"

	"github.com/squadronctl/squadron/internal/errmask"
)

// agentVariable is the environment variable that names the agent's socket.
const agentVariable = "SSH_AUTH_SOCK"

// expandHome replaces a "~" at the beginning by the user's home.
func expandHome(path string) (string, error) {
	if path != "~" && !strings.HasPrefix(path, "~/") {
		return path, nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", err
	}
	return filepath.Join(home, path[1:]), nil
}

func readIdentity(file string) (ssh.Signer, error) {
	path, err := expandHome(file)
	if err != nil {
		return nil, errmask.Maskf(err, "identity file %q", file)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, errmask.Maskf(err, "identity file")
	}
	signer, err := ssh.ParsePrivateKey(text)
	return signer, errmask.Maskf(err, "identity file %q", path)
}

// login is what one handshake logs in with.
type login struct {
	ctx      context.Context // ends when the handshake has to
	user     string
	identity ssh.Signer    // nil where there is no file
	socket   string        // the agent's, empty where there is none
	patience time.Duration // how long the agent may take to list its keys

	agent   net.Conn    // nil until the keys are asked for
	uncut   func() bool // leaves its connection to close
	offered int         // how many keys were put on offer
	err     error       // why the agent gave none
}

func (t *sshTunnel) newLogin(ctx context.Context) *login {
	return &login{
		ctx: ctx, user: t.config.Username, identity: t.identity, socket: os.Getenv(agentVariable),
		patience: t.config.Timeout / 2, // so that there is time for the file's key where the agent is silent
	}
}

// keys gives the identity file's key and the agent's. The file's comes first, since servers cut off those who try many. An
// agent that does not answer matters only where there is no file.
func (l *login) keys() ([]ssh.Signer, error) {
	var keys []ssh.Signer
	if l.identity != nil {
		keys = append(keys, l.identity)
	}
	if l.socket != "" {
		held, err := l.agentKeys()
		if l.err = errmask.Maskf(err, "SSH agent"); err != nil && l.identity == nil {
			return nil, l.err
		}
		for _, key := range held {
			if l.identity == nil || !bytes.Equal(key.PublicKey().Marshal(), l.identity.PublicKey().Marshal()) {
				keys = append(keys, key)
			}
		}
	}
	l.offered = len(keys)
	return keys, nil
}

func (l *login) agentKeys() ([]ssh.Signer, error) {
	if l.agent == nil {
		dialer := &net.Dialer{Timeout: l.patience}
		connection, err := dialer.DialContext(l.ctx, "unix", l.socket)
		if err != nil {
			return nil, err
		}
		l.agent = connection
		// The ssh package waits for the agent whatever becomes of the connection.
		l.uncut = context.AfterFunc(l.ctx, func() { connection.Close() })
	}
	if err := l.agent.SetDeadline(time.Now().Add(l.patience)); err != nil {
		return nil, err
	}
	keys, err := agent.NewClient(l.agent).Signers()
	if err != nil {
		return nil, err
	}
	// A signature may take longer: some agents ask somebody first.
	return keys, l.agent.SetDeadline(time.Time{})
}

func (l *login) close() {
	if l.agent != nil {
		l.uncut()
		l.agent.Close()
	}
}

// explain adds to a failed handshake's error what was on offer, where it came so far. The ssh package has no type for
// a login that was refused.
func (l *login) explain(err error) error {
	switch {
	case l.err != nil && l.identity == nil:
		return err // which says so already
	case l.err != nil:
		return errmask.Maskf(err, "log in as %s with the identity file's key alone (%v)", l.user, l.err)
	case l.offered > 0:
		return errmask.Maskf(err, "log in as %s with %d keys on offer, the identity file's first (servers allow few tries)", l.user, l.offered)
	case l.socket != "" && l.agent != nil:
		return errmask.Maskf(err, "log in as %s: the SSH agent holds no key", l.user)
	default:
		return err
	}
}

// clientConfig puts together what a handshake with the host at remote needs; the login is to be closed after it.
func (t *sshTunnel) clientConfig(ctx context.Context, remote net.Addr) (*ssh.ClientConfig, *login, error) {
	check, err := t.hostKeyChecker()
	if err != nil {
		return nil, nil, err
	}
	login := t.newLogin(ctx)
	return &ssh.ClientConfig{
		User:              login.user,
		Auth:              []ssh.AuthMethod{ssh.PublicKeysCallback(login.keys)},
		HostKeyCallback:   check,
		HostKeyAlgorithms: hostKeyAlgorithms(check, t.address, remote),
		ClientVersion:     "SSH-2.0-squadron",
	}, login, nil
}
