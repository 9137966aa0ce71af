package fleet

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/crypto/ssh"

	"github.com/squadronctl/squadron/internal/errmask"
	"github.com/squadronctl/squadron/logging"
)

// SSHTunnel carries requests to an endpoint that only a host reachable by SSH can reach.
type SSHTunnel interface {
	http.RoundTripper
	// IsActive reports whether there is a host to go through. Requests of a tunnel that is not active fail.
	IsActive() bool
}

// SSHTunnelConfig is what NewSSHTunnel needs. Zero fields mean their defaults, but for StrictHostKeyChecking, whose
// default DefaultSSHTunnelConfig gives.
type SSHTunnelConfig struct {
	// Endpoint is where fleet's API is as seen from the host that the tunnel ends at: unix:///path, file:///path,
	// http://host:port or https://host:port; by default file:///var/run/fleet.sock. All requests go there.
	Endpoint url.URL
	// TLS holds client certificates and CAs for an https Endpoint; it is cloned. The server's name is by default that of
	// Endpoint's host.
	TLS *tls.Config
	// KnownHostsFile is where host keys are looked up; "~" at its beginning is the user's home. By default
	// ~/.fleetctl/known_hosts.
	KnownHostsFile string
	// Logger is told, at DEBUG, of connections; nil means silence.
	Logger logging.Logger
	// StrictHostKeyChecking refuses a host whose key does not stand in KnownHostsFile. Without it any key is taken, and so
	// anybody's machine on the way.
	StrictHostKeyChecking bool
	// Tunnel is the host to connect to, host or host:port, port 22 by default. Where it is empty, the tunnel is not active.
	Tunnel string
	// Timeout is how long connecting, with its handshake, may take, and how long any other answer of the SSH server; 10 s by
	// default. A server that is silent for longer is taken for dead, and the connection ended.
	Timeout time.Duration
	// KeepAlive is the pause between two looks at whether the server is still there; 15 s by default. A connection to a
	// server that has gone silent ends at the latest after KeepAlive and Timeout.
	KeepAlive time.Duration
	// Username is the user to log in as; core by default.
	Username string
	// IdentityFile is the file of a private key without passphrase, tried before the keys of the agent at SSH_AUTH_SOCK;
	// "~" as above. By default there is none.
	IdentityFile string
	// MaxChannels is how many channels, each good for one request at a time, the connection carries; 10 by default. More
	// requests wait for a free one. A server may grant less (MaxSessions, where sessions are needed); then they wait, too.
	MaxChannels int
}

// DefaultSSHTunnelConfig gives the config of a tunnel that is not active until Tunnel is set.
func DefaultSSHTunnelConfig() SSHTunnelConfig {
	return SSHTunnelConfig{
		Endpoint:              url.URL{Scheme: "file", Path: defaultSocket},
		KnownHostsFile:        "~/.fleetctl/known_hosts",
		StrictHostKeyChecking: true,
		Timeout:               10 * time.Second,
		KeepAlive:             15 * time.Second,
		Username:              "core",
		MaxChannels:           10,
	}
}

// sshTunnel sends HTTP over channels of one SSH connection, which is made when the first request needs it and again when
// it has died.
type sshTunnel struct {
	config    SSHTunnelConfig
	address   string // host:port of the SSH server
	network   string // unix or tcp
	target    string // what to dial from there
	identity  ssh.Signer
	transport *http.Transport
	dial      func(ctx context.Context, network, address string) (net.Conn, error)

	closing context.Context
	close   context.CancelFunc
	workers sync.WaitGroup

	mutex   sync.Mutex
	current *sshConnection // nil where a connection has yet to be made
}

var _ io.Closer = (*sshTunnel)(nil)

// NewSSHTunnel gives a tunnel, which also implements io.Closer; it connects when the first request comes. Tunnel or
// Endpoint of a wrong form give an error for which IsInvalidEndpoint is true; files that can't be read or understood, and
// having neither key nor agent, give other errors. A tunnel that is not active is made without a look at these.
//
// It reaches the endpoint by the forwarding that OpenSSH's server has itself. Where the server refuses that
// (AllowStreamLocalForwarding, AllowTcpForwarding), it reaches a unix socket through sessions of
// "fleetctl fd-forward SOCKET" instead, for which fleetctl has to be in the user's PATH there. For a TCP address there is
// no other way, since fd-forward knows sockets only. What worked once is kept to until the connection ends.
//
// Requests fail with errors for which IsTemporary is true where another attempt may help: the connection broke or was
// ended because its server was silent, the server dropped it during the handshake, nobody listens at the endpoint. What
// the server refuses (host key, login, forwarding and sessions both) is not temporary, and the error says what to do.
func NewSSHTunnel(config SSHTunnelConfig) (SSHTunnel, error) {
	config = withTunnelDefaults(config)
	tunnel := &sshTunnel{config: config, dial: (&net.Dialer{}).DialContext}
	tunnel.closing, tunnel.close = context.WithCancel(context.Background())
	if !tunnel.IsActive() {
		return tunnel, nil
	}
	if err := tunnel.prepare(); err != nil {
		return nil, errmask.Maskf(err, "new SSH tunnel to %q", config.Tunnel)
	}
	return tunnel, nil
}

func withTunnelDefaults(config SSHTunnelConfig) SSHTunnelConfig {
	defaults := DefaultSSHTunnelConfig()
	if config.Endpoint == (url.URL{}) {
		config.Endpoint = defaults.Endpoint
	}
	if config.KnownHostsFile == "" {
		config.KnownHostsFile = defaults.KnownHostsFile
	}
	if config.Timeout <= 0 {
		config.Timeout = defaults.Timeout
	}
	if config.KeepAlive <= 0 {
		config.KeepAlive = defaults.KeepAlive
	}
	if config.Username == "" {
		config.Username = defaults.Username
	}
	if config.MaxChannels <= 0 {
		config.MaxChannels = defaults.MaxChannels
	}
	return config
}

// prepare finds out all that can be known before connecting.
func (t *sshTunnel) prepare() (err error) {
	if t.address, err = sshAddress(t.config.Tunnel); err != nil {
		return withClass(errInvalidEndpoint, err)
	}
	where, err := parseEndpoint(t.config.Endpoint)
	if err != nil {
		return err
	}
	t.network, t.target = dialTarget(where)
	if err = checkRemoteSocket(where.socket); err != nil {
		return withClass(errInvalidEndpoint, errmask.Maskf(err, "endpoint %q", where.text))
	}
	if t.config.IdentityFile != "" {
		if t.identity, err = readIdentity(t.config.IdentityFile); err != nil {
			return err
		}
	} else if os.Getenv(agentVariable) == "" {
		return errors.New("nothing to log in with: neither an IdentityFile nor an agent (" + agentVariable + ")")
	}
	if _, err = t.hostKeyChecker(); err != nil {
		return err
	}
	t.transport = &http.Transport{
		DialContext:         t.dialChannel,
		TLSClientConfig:     tunnelTLS(t.config.TLS, where),
		TLSHandshakeTimeout: t.config.Timeout,
		MaxConnsPerHost:     t.config.MaxChannels,
		MaxIdleConnsPerHost: t.config.MaxChannels,
		IdleConnTimeout:     90 * time.Second,
	}
	return nil
}

// sshAddress gives host and port to connect to.
func sshAddress(tunnel string) (string, error) {
	host, port, err := net.SplitHostPort(tunnel)
	if err != nil {
		// No port: a name, or an IPv6 address with or without brackets.
		host, port = strings.TrimSuffix(strings.TrimPrefix(tunnel, "["), "]"), "22"
	}
	if host == "" || strings.ContainsAny(host, "@/[] \t\r\n\x00") || strings.Contains(host, ":") && net.ParseIP(host) == nil {
		return "", fmt.Errorf("host %q is neither a host's name nor an address", host)
	}
	if number, err := strconv.ParseUint(port, 10, 16); err != nil || number == 0 {
		return "", fmt.Errorf("port %q is no port number", port)
	}
	return net.JoinHostPort(host, port), nil
}

// dialTarget gives what stands behind the tunnel.
func dialTarget(where endpoint) (network, address string) {
	if where.socket != "" {
		return "unix", where.socket
	}
	port := where.base.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[where.base.Scheme]
	}
	return "tcp", net.JoinHostPort(where.base.Hostname(), port)
}

// maxSocketPath is how long the path of a unix socket can be on Linux.
const maxSocketPath = 107

// checkRemoteSocket refuses paths that no server can open: some of OpenSSH's would end the connection, or say no more than
// that it failed. It also keeps control characters away from the remote shell.
func checkRemoteSocket(path string) error {
	switch {
	case strings.ContainsFunc(path, func(r rune) bool { return r < ' ' || r == 0x7f }):
		return errors.New("has a control character in its path")
	case len(path) > maxSocketPath:
		return fmt.Errorf("has a path of more than %d bytes, which no socket has", maxSocketPath)
	}
	return nil
}

// tunnelTLS gives what an https endpoint is spoken to with. All requests name the same host (see RoundTrip), so that the
// one whose certificate is wanted has to be said here.
func tunnelTLS(given *tls.Config, where endpoint) *tls.Config {
	config := given.Clone()
	if config == nil {
		config = &tls.Config{}
	}
	if config.ServerName == "" {
		config.ServerName = where.base.Hostname()
	}
	return config
}

// IsActive reports whether there is a host to go through.
func (t *sshTunnel) IsActive() bool { return t.config.Tunnel != "" }

// wantedKey is the context key of the context that ends when a request has its answer. The transport lets go on what was
// begun for a request that has ended; waiting for a free channel must not.
type wantedKey struct{}

// RoundTrip sends one request over a channel of the connection, connecting first where there is none. A request for which
// there is no free channel waits for one until its context ends.
func (t *sshTunnel) RoundTrip(request *http.Request) (*http.Response, error) {
	if !t.IsActive() {
		closeBody(request)
		return nil, errors.New("SSH tunnel is not active")
	}
	if request.URL == nil {
		closeBody(request)
		return nil, errors.New("SSH tunnel: request without URL")
	}
	wanted, done := context.WithCancel(request.Context())
	defer done()
	// One host for all requests: the bound on channels holds for each host on its own.
	sent := request.Clone(context.WithValue(request.Context(), wantedKey{}, wanted))
	sent.URL.Host = socketHost
	if sent.Host == "" {
		sent.Host = request.URL.Host
	}
	response, err := t.transport.RoundTrip(sent)
	if err != nil && t.closing.Err() != nil {
		err = errTunnelClosed()
	}
	return response, errmask.Maskf(err, "SSH tunnel to %s", t.address)
}

func errTunnelClosed() error { return errmask.Maskf(net.ErrClosed, "tunnel is closed") }

// closeBody keeps the promise of every RoundTripper, errors included.
func closeBody(request *http.Request) {
	if request.Body != nil {
		request.Body.Close()
	}
}

// Close ends the connection and everything on it; requests under way fail, and so do later ones, with an error for which
// errors.Is(err, net.ErrClosed) is true. It returns when the tunnel's own goroutines have ended.
func (t *sshTunnel) Close() error {
	t.mutex.Lock()
	t.close()
	current := t.current
	t.mutex.Unlock()
	if t.transport != nil {
		t.transport.CloseIdleConnections()
	}
	if current != nil {
		current.end()
	}
	t.workers.Wait()
	return nil
}

func (t *sshTunnel) debug(f string, v ...any) {
	if t.config.Logger != nil {
		t.config.Logger.Debug(t.closing, f, v...)
	}
}
