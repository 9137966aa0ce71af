package fleet

import (
	"context"
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
	// Timeout is how long connecting, with its handshake, may take, and how long the opening of a channel; 10 s by default.
	Timeout time.Duration
	// Username is the user to log in as; core by default.
	Username string
	// IdentityFile is the file of a private key without passphrase, tried before the keys of the agent at SSH_AUTH_SOCK;
	// "~" as above. By default there is none.
	IdentityFile string
	// MaxChannels is how many channels, each good for one request at a time, the connection carries; 10 by default. More
	// requests wait for a free one.
	MaxChannels int
}

// DefaultSSHTunnelConfig gives the config of a tunnel that is not active until Tunnel is set.
func DefaultSSHTunnelConfig() SSHTunnelConfig {
	return SSHTunnelConfig{
		Endpoint:              url.URL{Scheme: "file", Path: defaultSocket},
		KnownHostsFile:        "~/.fleetctl/known_hosts",
		StrictHostKeyChecking: true,
		Timeout:               10 * time.Second,
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
// It reaches the endpoint by the forwarding that OpenSSH's server has itself, which a server can be told to refuse
// (AllowStreamLocalForwarding, AllowTcpForwarding); there is no other way yet.
func NewSSHTunnel(config SSHTunnelConfig) (SSHTunnel, error) {
	config = withTunnelDefaults(config)
	tunnel := &sshTunnel{config: config}
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

// IsActive reports whether there is a host to go through.
func (t *sshTunnel) IsActive() bool { return t.config.Tunnel != "" }

// RoundTrip sends one request over a channel of the connection, connecting first where there is none.
func (t *sshTunnel) RoundTrip(request *http.Request) (*http.Response, error) {
	if !t.IsActive() {
		closeBody(request)
		return nil, errors.New("SSH tunnel is not active")
	}
	if request.URL == nil {
		closeBody(request)
		return nil, errors.New("SSH tunnel: request without URL")
	}
	// One host for all requests: the bound on channels holds for each host on its own.
	sent := request.Clone(request.Context())
	sent.URL.Host = socketHost
	if sent.Host == "" {
		sent.Host = request.URL.Host
	}
	response, err := t.transport.RoundTrip(sent)
	return response, errmask.Maskf(err, "SSH tunnel to %s", t.address)
}

// closeBody keeps the promise of every RoundTripper, errors included.
func closeBody(request *http.Request) {
	if request.Body != nil {
		request.Body.Close()
	}
}

// Close ends the connection and everything on it; requests under way fail, and so do later ones, with an error for which
// errors.Is(err, net.ErrClosed) is true. It returns when the tunnel's own goroutines have ended.
func (t *sshTunnel) Close() error {
	t.close()
	if t.transport != nil {
		t.transport.CloseIdleConnections()
	}
	t.mutex.Lock()
	current := t.current
	t.mutex.Unlock()
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
