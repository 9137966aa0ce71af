package fleet

import (
	"bufio"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/pem"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
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
	channels    int // open now, sessions included
	mostOpen    int
	forwards    int // attempts
	refuse      ssh.RejectionReason
	refusals    int  // how many forwards are refused with that reason; below 0 all of them
	ignore      bool // requests for channels
	sessions    sessions

	// handler, where set, is what forwarded channels lead to, whatever they ask for.
	handler http.Handler
	// onLogin is told of each connection that was let in.
	onLogin func(*ssh.ServerConn)
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
	server := newSSH(allowed, hostKeys...)
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

// newSSH gives a server without a listener.
func newSSH(allowed ssh.PublicKey, hostKeys ...ssh.Signer) *sshServer {
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
	login, channels, requests, err := ssh.NewServerConn(connection, s.config)
	if err != nil {
		return
	}
	if s.onLogin != nil {
		s.group.Go(func() { s.onLogin(login) })
	}
	s.group.Go(func() { ssh.DiscardRequests(requests) })
	for channel := range channels {
		s.mutex.Lock()
		ignore := s.ignore
		s.mutex.Unlock()
		switch {
		case ignore:
		case channel.ChannelType() == "session":
			s.group.Go(func() { s.session(channel) })
		case s.refuses():
			channel.Reject(s.refuse, "open failed")
		default:
			s.group.Go(func() { s.forward(channel) })
		}
	}
}

func (s *sshServer) refuses() bool {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.forwards++
	if s.refusals != 0 {
		s.refusals--
		return true
	}
	return false
}

func (s *sshServer) refuseForwards(reason ssh.RejectionReason, number int) {
	s.count(func() { s.refuse, s.refusals = reason, number })
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
	if s.handler != nil {
		if channel, ok := s.open(request); ok {
			defer s.count(func() { s.channels-- })
			serveHTTP(channel, s.handler)
			channel.Close()
		}
		return
	}
	network, address := target(request)
	connection, err := net.Dial(network, address)
	if err != nil {
		request.Reject(ssh.ConnectionFailed, "open failed")
		return
	}
	defer connection.Close()
	channel, ok := s.open(request)
	if !ok {
		return
	}
	defer s.count(func() { s.channels-- })
	s.group.Go(func() {
		_, _ = io.Copy(connection, channel)
		connection.Close()
	})
	_, _ = io.Copy(channel, connection)
	channel.Close()
}

func (s *sshServer) open(request ssh.NewChannel) (ssh.Channel, bool) {
	channel, requests, err := request.Accept()
	if err != nil {
		return nil, false
	}
	s.count(func() { s.channels++; s.mostOpen = max(s.mostOpen, s.channels) })
	s.group.Go(func() { ssh.DiscardRequests(requests) })
	return channel, true
}

// serveHTTP answers requests on a stream, one after the other.
func serveHTTP(stream io.ReadWriter, handler http.Handler) {
	reader := bufio.NewReader(stream)
	for {
		request, err := http.ReadRequest(reader)
		if err != nil {
			return
		}
		recorder := httptest.NewRecorder()
		handler.ServeHTTP(recorder, request)
		_, _ = io.Copy(io.Discard, request.Body)
		response := recorder.Result()
		response.ContentLength = int64(recorder.Body.Len())
		if response.Write(stream) != nil {
			return
		}
	}
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
