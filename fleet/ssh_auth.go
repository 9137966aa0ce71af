package fleet

import (
	"crypto/ed25519"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"
	"golang.org/x/crypto/ssh/knownhosts"

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

// loginKeys gives the identity file's key and the agent's, and what to close when the login is over. The file's comes
// first, since servers cut off those who try many. An agent that does not answer matters only where there is no file.
func (t *sshTunnel) loginKeys() (keys func() ([]ssh.Signer, error), done func()) {
	var own []ssh.Signer
	if t.identity != nil {
		own = append(own, t.identity)
	}
	socket := os.Getenv(agentVariable)
	if socket == "" {
		return func() ([]ssh.Signer, error) { return own, nil }, func() {}
	}
	var connection net.Conn
	keys = func() (signers []ssh.Signer, err error) {
		if connection == nil {
			connection, err = net.DialTimeout("unix", socket, t.config.Timeout)
			if err == nil { // an agent that stays silent holds nobody longer than the handshake may take
				err = connection.SetDeadline(time.Now().Add(t.config.Timeout))
			}
		}
		var held []ssh.Signer
		if err == nil {
			held, err = agent.NewClient(connection).Signers()
		}
		if err != nil && len(own) == 0 {
			return nil, errmask.Maskf(err, "SSH agent")
		}
		return append(own, held...), nil
	}
	return keys, func() {
		if connection != nil {
			connection.Close()
		}
	}
}

// hostKeyChecker reads the known hosts, anew for each connection so that they can be mended.
func (t *sshTunnel) hostKeyChecker() (ssh.HostKeyCallback, error) {
	if !t.config.StrictHostKeyChecking {
		return ssh.InsecureIgnoreHostKey(), nil
	}
	path, err := expandHome(t.config.KnownHostsFile)
	if err != nil {
		return nil, errmask.Maskf(err, "known hosts %q", t.config.KnownHostsFile)
	}
	check, err := knownhosts.New(path)
	if err != nil {
		return nil, errmask.Maskf(err, "known hosts")
	}
	return func(host string, remote net.Addr, key ssh.PublicKey) error {
		return errmask.Maskf(check(host, remote, key), "host key of %s in %s", host, path)
	}, nil
}

// hostKeyAlgorithms lists the algorithms of the keys that are known of a host, so that the server shows one of these and
// not another that it has too. It is empty, which asks for any, where no key is known or keys are not checked.
func hostKeyAlgorithms(check ssh.HostKeyCallback, host string, remote net.Addr) []string {
	// There is no asking for the keys but to show one that can't be right: all zeros.
	nobody, err := ssh.NewPublicKey(ed25519.PublicKey(make([]byte, ed25519.PublicKeySize)))
	if err != nil {
		return nil
	}
	var mismatch *knownhosts.KeyError
	if !errors.As(check(host, remote, nobody), &mismatch) {
		return nil
	}
	var algorithms []string
	for _, known := range mismatch.Want {
		switch kind := known.Key.Type(); kind {
		case ssh.KeyAlgoRSA:
			algorithms = append(algorithms, ssh.KeyAlgoRSASHA512, ssh.KeyAlgoRSASHA256)
		default:
			algorithms = append(algorithms, kind)
		}
	}
	return algorithms
}

// clientConfig puts together what a handshake with the host at remote needs; done is to be called after it.
func (t *sshTunnel) clientConfig(remote net.Addr) (config *ssh.ClientConfig, done func(), err error) {
	check, err := t.hostKeyChecker()
	if err != nil {
		return nil, nil, err
	}
	keys, done := t.loginKeys()
	return &ssh.ClientConfig{
		User:              t.config.Username,
		Auth:              []ssh.AuthMethod{ssh.PublicKeysCallback(keys)},
		HostKeyCallback:   check,
		HostKeyAlgorithms: hostKeyAlgorithms(check, t.address, remote),
		ClientVersion:     "SSH-2.0-squadron",
	}, done, nil
}
