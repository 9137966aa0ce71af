package dockerhost

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

	"github.com/squadronctl/squadron/fleet"
)

// sshServer lets one user in, and forwards to unix sockets.
type sshServer struct {
	listener net.Listener
	config   *ssh.ServerConfig
	group    sync.WaitGroup
}

func startSSH(t *testing.T, host ssh.Signer, user string) *sshServer {
	t.Helper()
	s := &sshServer{config: &ssh.ServerConfig{
		PublicKeyCallback: func(login ssh.ConnMetadata, _ ssh.PublicKey) (*ssh.Permissions, error) {
			if login.User() != user {
				return nil, os.ErrPermission
			}
			return nil, nil
		},
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

// forward connects a channel to the socket that it asks for.
func (s *sshServer) forward(request ssh.NewChannel) {
	var asked struct {
		Path     string
		Reserved string
		Port     uint32
	}
	if request.ChannelType() != "direct-streamlocal@openssh.com" || ssh.Unmarshal(request.ExtraData(), &asked) != nil {
		_ = request.Reject(ssh.UnknownChannelType, "sockets only")
		return
	}
	connection, err := net.Dial("unix", asked.Path)
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

func newSigner(t *testing.T) (signer ssh.Signer, text []byte) {
	t.Helper()
	_, private, err := ed25519.GenerateKey(rand.Reader)
	require.NoError(t, err)
	signer, err = ssh.NewSignerFromKey(private)
	require.NoError(t, err)
	block, err := ssh.MarshalPrivateKey(private, "")
	require.NoError(t, err)
	return signer, pem.EncodeToMemory(block)
}

// TestSSH reaches a socket on another host, as the address's user, and refuses a host whose key is not the known one.
func TestSSH(t *testing.T) {
	host, _ := newSigner(t)
	other, _ := newSigner(t)
	_, identity := newSigner(t)
	server := startSSH(t, host, "deploy")
	address, socket := server.listener.Addr().String(), serveUnix(t)
	dir := t.TempDir()
	put(t, dir, map[string]string{
		"id":    string(identity),
		"known": knownhosts.Line([]string{knownhosts.Normalize(address)}, host.PublicKey()) + "\n",
		"wrong": knownhosts.Line([]string{knownhosts.Normalize(address)}, other.PublicKey()) + "\n",
	})
	login := fleet.SSHTunnelConfig{
		StrictHostKeyChecking: true, KnownHostsFile: filepath.Join(dir, "known"), IdentityFile: filepath.Join(dir, "id"), Username: "somebody",
	}
	version, err := ask(t, map[string]string{"DOCKER_HOST": "ssh://deploy@" + address + socket}, login)
	require.NoError(t, err)
	assert.Equal(t, "v1.41", version)

	_, err = ask(t, map[string]string{"DOCKER_HOST": "ssh://" + address + socket}, login)
	assert.ErrorContains(t, err, "log in as somebody")
	login.Username = "deploy"
	_, err = ask(t, map[string]string{"DOCKER_HOST": "ssh://" + address + socket}, login)
	require.NoError(t, err)

	put(t, dir, contextFile("far", "ssh://deploy@"+address+socket+".gone"))
	_, err = ask(t, map[string]string{"DOCKER_CONTEXT": "far", "DOCKER_CONFIG": dir}, login)
	assert.ErrorContains(t, err, "there is no such socket on "+address)

	login.KnownHostsFile = filepath.Join(dir, "wrong")
	_, err = ask(t, map[string]string{"DOCKER_HOST": "ssh://deploy@" + address + socket}, login)
	assert.ErrorContains(t, err, "is not the one known from")

	login.KnownHostsFile = filepath.Join(dir, "nowhere")
	resolved, err := Resolve(map[string]string{"DOCKER_CONTEXT": "far", "DOCKER_CONFIG": dir}, os.ReadFile)
	require.NoError(t, err)
	_, _, err = resolved.Client(login)
	assert.ErrorContains(t, err, `docker context "far" (DOCKER_CONTEXT): `)
}
