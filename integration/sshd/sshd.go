// Package sshd starts OpenSSH's server on this machine for tests: on a loopback port of its own, with host keys and a user
// of its own, and sees what it has open.
//
// It needs root and the Debian package openssh-server; Start says in one line what is missing. The user exists for the
// server and its processes only: they see an /etc/passwd of their own. Everything stands below one directory in os.TempDir
// and is gone after Stop. When the program that started a server dies, the server is killed.
package sshd

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/squadronctl/squadron/integration/port"
)

// User is the user that can log in, by the keys that Authorize is given. Its home is Server.Dir, its shell /bin/sh.
const User = "core"

const uid = 4242

// startTimeout is how long a server may take until it answers; it takes milliseconds where the machine has time for it.
const startTimeout = 30 * time.Second

// Config says what server to start.
type Config struct {
	// HostKeys are the kinds of its host keys as ssh-keygen -t has them; none means one of ed25519.
	HostKeys []string
	// Options are lines of sshd_config. They go before the server's own, and of most the first one counts.
	Options []string
	// Path is the PATH of commands that a client runs.
	Path string
}

// Server is a server that Start has started.
type Server struct {
	// Address is host:port of the server.
	Address string
	// Dir is its directory, which the user may enter.
	Dir string

	hostKeys []string // files
	cmd      *exec.Cmd
	output   bytes.Buffer // of cmd; to be read when it has ended
}

// Start starts a server and returns when it answers.
func Start(ctx context.Context, config Config) (*Server, error) {
	s, err := start(ctx, config)
	if err != nil {
		return nil, fmt.Errorf("start sshd: %w", err)
	}
	return s, nil
}

func start(ctx context.Context, config Config) (*Server, error) {
	if os.Geteuid() != 0 {
		return nil, errors.New("it needs root, to let in another user")
	}
	if _, err := os.Stat("/usr/sbin/sshd"); err != nil {
		return nil, errors.New("there is no /usr/sbin/sshd: install the Debian package openssh-server")
	}
	// Where sshd locks itself into before a login; systemd makes it where it starts sshd.
	if err := os.MkdirAll("/run/sshd", 0o755); err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "sshd-")
	if err != nil {
		return nil, err
	}
	s := &Server{Dir: dir}
	if err := s.prepare(ctx, config); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	if err := s.run(ctx); err != nil {
		return nil, errors.Join(err, s.Stop())
	}
	return s, nil
}

func (s *Server) path(name string) string { return filepath.Join(s.Dir, name) }

func (s *Server) prepare(ctx context.Context, config Config) error {
	if err := os.Chmod(s.Dir, 0o755); err != nil {
		return err
	}
	if len(config.HostKeys) == 0 {
		config.HostKeys = []string{"ed25519"}
	}
	for _, kind := range config.HostKeys {
		file := s.path("host_" + kind)
		if err := command(ctx, "ssh-keygen", "-q", "-t", kind, "-N", "", "-f", file); err != nil {
			return err
		}
		s.hostKeys = append(s.hostKeys, file)
	}
	free, err := port.Free()
	if err != nil {
		return err
	}
	s.Address = net.JoinHostPort("127.0.0.1", free)
	files := map[string]string{
		"sshd_config":     s.config(config, free),
		"authorized_keys": "",
		// "*": no password, yet no locked account, which sshd would refuse.
		"passwd": fmt.Sprintf("root:x:0:0:root:/root:/bin/sh\nsshd:x:102:65534::/run/sshd:/usr/sbin/nologin\n%s:x:%d:%d::%s:/bin/sh\n", User, uid, uid, s.Dir),
		"shadow": "root:*:1::::::\nsshd:*:1::::::\n" + User + ":*:1::::::\n",
		"group":  fmt.Sprintf("root:x:0:\nnogroup:x:65534:\n%s:x:%d:\n", User, uid),
	}
	for name, text := range files {
		if err := os.WriteFile(s.path(name), []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}

func (s *Server) config(config Config, port string) string {
	lines := append([]string(nil), config.Options...)
	lines = append(lines,
		"ListenAddress 127.0.0.1", "Port "+port, "PidFile none", "LogLevel VERBOSE",
		"AuthorizedKeysFile "+s.path("authorized_keys"), "StrictModes no", // below /tmp, which everybody may write to
		"PasswordAuthentication no", "KbdInteractiveAuthentication no", "UsePAM no", "PrintMotd no", "PrintLastLog no")
	for _, file := range s.hostKeys {
		lines = append(lines, "HostKey "+file)
	}
	if config.Path != "" {
		lines = append(lines, "SetEnv PATH="+config.Path)
	}
	return strings.Join(lines, "\n") + "\n"
}

// script runs in a mount namespace of its own, which ends with the server.
const script = `set -e
cd "$1"
for file in passwd shadow group; do mount --bind "$file" "/etc/$file"; done
exec /usr/sbin/sshd -D -f "$1/sshd_config" -E "$1/log"`

func (s *Server) run(ctx context.Context) error {
	s.cmd = exec.Command("unshare", "-m", "/bin/sh", "-c", script, "sshd", s.Dir)
	s.cmd.WaitDelay = 10 * time.Second // for a connection that has begun while Stop was looking for them
	s.cmd.Stdout, s.cmd.Stderr = &s.output, &s.output
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
	if err := s.cmd.Start(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	for {
		err := s.greet(ctx)
		if err == nil {
			return s.waitIdle(ctx)
		}
		if ctx.Err() != nil || syscall.Kill(s.cmd.Process.Pid, 0) != nil {
			return fmt.Errorf("it does not answer at %s: %w\n%s", s.Address, err, s.Log())
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// greet connects and waits until a process of the server's for this connection has said its first words.
func (s *Server) greet(ctx context.Context) error {
	connection, err := (&net.Dialer{}).DialContext(ctx, "tcp", s.Address)
	if err != nil {
		return err
	}
	defer connection.Close()
	defer context.AfterFunc(ctx, func() { connection.Close() })()
	_, err = connection.Read(make([]byte, 1))
	return err
}

// waitIdle waits until there is no connection, so that what comes is the caller's own.
func (s *Server) waitIdle(ctx context.Context) error {
	for len(s.Connections()) > 0 {
		if ctx.Err() != nil {
			return fmt.Errorf("a connection that was closed is still there: %w", ctx.Err())
		}
		time.Sleep(10 * time.Millisecond)
	}
	return nil
}

// Stop kills the server and what it has started, and removes its directory. It may be called more than once.
func (s *Server) Stop() error {
	if s.cmd.Process != nil && s.cmd.ProcessState == nil {
		// The listener first, so that nothing new begins; those it has begun stay, and get another parent.
		children := s.Connections()
		_ = s.cmd.Process.Kill()
		for _, child := range children { // which hold the other end of what Wait waits for
			child.Cut()
		}
		_ = s.cmd.Wait()
	}
	return os.RemoveAll(s.Dir)
}

// Log gives what the server has logged.
func (s *Server) Log() string {
	text, err := os.ReadFile(s.path("log"))
	if err != nil {
		return err.Error()
	}
	return string(text)
}

func command(ctx context.Context, name string, arguments ...string) error {
	if text, err := exec.CommandContext(ctx, name, arguments...).CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", name, err, bytes.TrimSpace(text))
	}
	return nil
}
