package main

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/pem"
	"io"
	"net"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/knownhosts"

	"github.com/squadronctl/squadron/fleet/fleettest"
)

// sshServer lets one key in, and forwards to a TCP address.
type sshServer struct {
	listener net.Listener
	config   *ssh.ServerConfig
	target   string
	group    sync.WaitGroup
}

func startSSH(t *testing.T, host ssh.Signer, target string) *sshServer {
	t.Helper()
	s := &sshServer{target: target, config: &ssh.ServerConfig{
		PublicKeyCallback: func(ssh.ConnMetadata, ssh.PublicKey) (*ssh.Permissions, error) { return nil, nil },
	}}
	s.config.AddHostKey(host)
	var err error
	s.listener, err = net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	s.group.Go(s.accept)
	t.Cleanup(func() { s.listener.Close(); s.group.Wait() })
	return s
}

func (s *sshServer) accept() {
	for {
		connection, err := s.listener.Accept()
		if err != nil {
			return
		}
		s.group.Go(func() { s.serve(connection) })
	}
}

func (s *sshServer) serve(connection net.Conn) {
	defer connection.Close()
	_, channels, requests, err := ssh.NewServerConn(connection, s.config)
	if err != nil {
		return
	}
	s.group.Go(func() { ssh.DiscardRequests(requests) })
	for request := range channels {
		s.group.Go(func() { s.forward(request) })
	}
}

func (s *sshServer) forward(request ssh.NewChannel) {
	connection, err := net.Dial("tcp", s.target)
	if err != nil {
		_ = request.Reject(ssh.ConnectionFailed, "open failed")
		return
	}
	defer connection.Close()
	channel, requests, err := request.Accept()
	if err != nil {
		return
	}
	s.group.Go(func() { ssh.DiscardRequests(requests) })
	s.group.Go(func() {
		_, _ = io.Copy(connection, channel)
		connection.Close()
	})
	_, _ = io.Copy(channel, connection)
	channel.Close()
}

func hostKey(t *testing.T) ssh.Signer {
	t.Helper()
	_, private, err := ed25519.GenerateKey(rand.Reader)
	require.NoError(t, err)
	signer, err := ssh.NewSignerFromKey(private)
	require.NoError(t, err)
	return signer
}

func write(t *testing.T, name string, text []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(path, text, 0o600))
	return path
}

// TestTunnel reaches a cluster by SSH, and refuses a host whose key is not the known one.
func TestTunnel(t *testing.T) {
	server := cluster(t, fleettest.Fast(), "a")
	endpoint := server.Endpoint()
	host := hostKey(t)
	tunnel := startSSH(t, host, endpoint.Host)
	address := tunnel.listener.Addr().String()
	_, private, err := ed25519.GenerateKey(rand.Reader)
	require.NoError(t, err)
	block, err := ssh.MarshalPrivateKey(private, "")
	require.NoError(t, err)
	identity := write(t, "id", pem.EncodeToMemory(block))
	knownHosts := func(key ssh.PublicKey) string {
		return write(t, "known_hosts", []byte(knownhosts.Line([]string{knownhosts.Normalize(address)}, key)+"\n"))
	}
	env := []string{"SQUADRON_ENDPOINT=" + server.URL, "FLEETCTL_TUNNEL=" + address, "SQUADRON_SSH_IDENTITY=" + identity}

	code, out, errs := runHere(append(env, "FLEETCTL_KNOWN_HOSTS_FILE="+knownHosts(host.PublicKey())), "status", "web", "-o", "name")
	assert.Equal(t, exitDone, code, errs)
	assert.Equal(t, "web@a\n", out)

	code, out, errs = runHere(env, "status", "web", "--ssh-known-hosts-file", knownHosts(hostKey(t).PublicKey()))
	assert.Equal(t, exitFailed, code)
	assert.Empty(t, out)
	assert.Regexp(t, `^squadronctl: [^\n]*host key[^\n]*\n$`, errs)

	code, _, errs = runHere(env, "status", "web", "--ssh-known-hosts-file", knownHosts(hostKey(t).PublicKey()), "--ssh-strict-host-key-checking=false")
	assert.Equal(t, exitDone, code, errs)

	code, _, errs = runHere(env, "status", "web", "--ssh-known-hosts-file", "/nowhere/known_hosts")
	assert.Equal(t, exitUsage, code, errs)
}
