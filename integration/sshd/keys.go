package sshd

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/knownhosts"
)

// Key is a user's key.
type Key struct {
	// File is the private key's file, in OpenSSH's form.
	File string
	// Public is a line of authorized_keys.
	Public string
}

// NewKey makes a key in a file of the given path.
func NewKey(file string) (Key, error) {
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return Key{}, err
	}
	block, err := ssh.MarshalPrivateKey(private, "")
	if err != nil {
		return Key{}, err
	}
	shown, err := ssh.NewPublicKey(public)
	if err != nil {
		return Key{}, err
	}
	return Key{File: file, Public: string(ssh.MarshalAuthorizedKey(shown))}, os.WriteFile(file, pem.EncodeToMemory(block), 0o600)
}

// Authorize lets the user in by the key, from now on and by no other. The options are those that stand before a key in
// authorized_keys, and may be empty.
func (s *Server) Authorize(key Key, options string) error {
	return os.WriteFile(s.path("authorized_keys"), []byte(strings.TrimSpace(options+" "+key.Public)+"\n"), 0o644)
}

// HostKey gives the public host key of a kind, as "ssh-ed25519 AAAA…".
func (s *Server) HostKey(kind string) (string, error) {
	text, err := os.ReadFile(s.path("host_" + kind + ".pub"))
	if err != nil {
		return "", err
	}
	fields := strings.Fields(string(text))
	if len(fields) < 2 {
		return "", fmt.Errorf("host key of kind %s: %q", kind, text)
	}
	return fields[0] + " " + fields[1], nil
}

// KnownHosts gives the lines of a file of known hosts that knows the server's keys of some kinds, by default all.
func (s *Server) KnownHosts(kinds ...string) (string, error) {
	if len(kinds) == 0 {
		for _, file := range s.hostKeys {
			kinds = append(kinds, strings.TrimPrefix(file, s.path("host_")))
		}
	}
	var text strings.Builder
	for _, kind := range kinds {
		key, err := s.HostKey(kind)
		if err != nil {
			return "", err
		}
		text.WriteString(knownhosts.Normalize(s.Address) + " " + key + "\n")
	}
	return text.String(), nil
}

// Agent is OpenSSH's ssh-agent.
type Agent struct {
	// Socket is what SSH_AUTH_SOCK is to say.
	Socket string

	cmd *exec.Cmd
}

// StartAgent starts an agent at a socket and returns when it answers.
func StartAgent(ctx context.Context, socket string) (*Agent, error) {
	a := &Agent{Socket: socket, cmd: exec.Command("ssh-agent", "-D", "-a", socket)}
	a.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := a.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start ssh-agent: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	for {
		connection, err := net.Dial("unix", socket)
		if err == nil {
			return a, connection.Close()
		}
		if ctx.Err() != nil {
			return nil, errors.Join(fmt.Errorf("start ssh-agent: %w", err), a.Stop())
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// Add gives a key to the agent.
func (a *Agent) Add(ctx context.Context, key Key) error {
	cmd := exec.CommandContext(ctx, "ssh-add", "-q", key.File)
	cmd.Env = append(os.Environ(), "SSH_AUTH_SOCK="+a.Socket)
	if text, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("ssh-add: %w: %s", err, text)
	}
	return nil
}

// Stop kills the agent.
func (a *Agent) Stop() error {
	_ = a.cmd.Process.Kill()
	_ = a.cmd.Wait()
	if err := os.Remove(a.Socket); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}
