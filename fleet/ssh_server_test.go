package fleet

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/pem"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/knownhosts"
)

// sshServer is an SSH server that forwards, as OpenSSH's does, and counts what it is asked for.
type sshServer struct {
	listener net.Listener
	config   *ssh.ServerConfig
	group    sync.WaitGroup

	mutex       sync.Mutex
	connections []net.Conn
	logins      int // attempts, whether they come through or not
	users       []string
	channels    int // open now
	mostOpen    int
	refuse      bool // forwarding
	ignore      bool // requests for channels
}

func newKey(t *testing.T) (ssh.Signer, ed25519.PrivateKey) {
	t.Helper()
	_, private, err := ed25519.GenerateKey(rand.Reader)
	require.NoError(t, err)
	signer, err := ssh.NewSignerFromKey(private)
	require.NoError(t, err)
	return signer, private
}

// startSSH starts a server with the given host keys that lets the given key in.
func startSSH(t *testing.T, allowed ssh.PublicKey, hostKeys ...ssh.Signer) *sshServer {
	t.Helper()
	server := &sshServer{}
	server.config = &ssh.ServerConfig{PublicKeyCallback: func(meta ssh.ConnMetadata, key ssh.PublicKey) (*ssh.Permissions, error) {
		server.count(func() { server.logins++; server.users = append(server.users, meta.User()) })
		if string(key.Marshal()) != string(allowed.Marshal()) {
			return nil, errors.New("unknown key")
		}
		return nil, nil
	}}
	for _, key := range hostKeys {
		server.config.AddHostKey(key)
	}
	var err error
	server.listener, err = net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	server.group.Go(server.accept)
	t.Cleanup(func() {
		server.listener.Close()
		server.dropConnections()
		server.group.Wait()
	})
	return server
}

func (s *sshServer) count(change func()) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	change()
}

func (s *sshServer) address() string { return s.listener.Addr().String() }

// seen gives the number of connections and of open channels, and the highest number of the latter.
func (s *sshServer) seen() (connections, channels, mostOpen int) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return len(s.connections), s.channels, s.mostOpen
}

func (s *sshServer) dropConnections() {
	s.count(func() {
		for _, connection := range s.connections {
			connection.Close()
		}
	})
}

func (s *sshServer) accept() {
	for {
		connection, err := s.listener.Accept()
		if err != nil {
			return
		}
		s.count(func() { s.connections = append(s.connections, connection) })
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
	for channel := range channels {
		s.mutex.Lock()
		ignore, refuse := s.ignore, s.refuse
		s.mutex.Unlock()
		switch {
		case ignore:
		case refuse:
			channel.Reject(ssh.Prohibited, "open failed")
		default:
			s.group.Go(func() { s.forward(channel) })
		}
	}
}

func target(channel ssh.NewChannel) (network, address string) {
	switch channel.ChannelType() {
	case "direct-streamlocal@openssh.com":
		var open struct {
			Path, Reserved string
			Number         uint32
		}
		if ssh.Unmarshal(channel.ExtraData(), &open) == nil {
			return "unix", open.Path
		}
	case "direct-tcpip":
		var open struct {
			Host       string
			Port       uint32
			Originator string
			OrigPort   uint32
		}
		if ssh.Unmarshal(channel.ExtraData(), &open) == nil {
			return "tcp", net.JoinHostPort(open.Host, strconv.Itoa(int(open.Port)))
		}
	}
	return "", ""
}

func (s *sshServer) forward(request ssh.NewChannel) {
	network, address := target(request)
	connection, err := net.Dial(network, address)
	if err != nil {
		request.Reject(ssh.ConnectionFailed, "open failed")
		return
	}
	defer connection.Close()
	channel, requests, err := request.Accept()
	if err != nil {
		return
	}
	s.count(func() { s.channels++; s.mostOpen = max(s.mostOpen, s.channels) })
	defer s.count(func() { s.channels-- })
	s.group.Go(func() { ssh.DiscardRequests(requests) })
	s.group.Go(func() {
		_, _ = io.Copy(connection, channel)
		connection.Close()
	})
	_, _ = io.Copy(channel, connection)
	channel.Close()
}

// writeIdentity writes a private key to a file.
func writeIdentity(t *testing.T, key ed25519.PrivateKey) string {
	t.Helper()
	block, err := ssh.MarshalPrivateKey(key, "")
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "id")
	require.NoError(t, os.WriteFile(path, pem.EncodeToMemory(block), 0o600))
	return path
}

// writeKnownHosts writes a file that knows the keys for an address.
func writeKnownHosts(t *testing.T, hashed bool, address string, keys ...ssh.PublicKey) string {
	t.Helper()
	text := ""
	for _, key := range keys {
		host := knownhosts.Normalize(address)
		if hashed {
			host = knownhosts.HashHostname(host)
		}
		text += host + " " + string(ssh.MarshalAuthorizedKey(key))
	}
	path := filepath.Join(t.TempDir(), "known_hosts")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}
