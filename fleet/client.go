package fleet

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/squadronctl/squadron/internal/errmask"
	"github.com/squadronctl/squadron/logging"
)

const (
	defaultSocket         = "/var/run/fleet.sock"
	defaultRequestTimeout = 30 * time.Second
	defaultMaxBodySize    = 64 << 20
	defaultRetries        = 5
	defaultRetryWait      = 100 * time.Millisecond

	dialTimeout = 10 * time.Second
	// idleConnections is more than run side by side, in reads and writes of one step, unless somebody raises Concurrency
	// beyond reason: what one request has done with serves the next, so that none is dialed anew.
	idleConnections = 256
)

// Config is what NewFleet needs. Zero fields mean their defaults.
type Config struct {
	// Client sends the requests; it is cloned, never changed. Its Transport, where set, is kept whatever the endpoint's
	// scheme, unless the tunnel is active. Redirects are not followed.
	Client *http.Client
	// Endpoint is where fleet's API is: unix:///path or file:///path of a socket, http://host:port or https://host:port,
	// with or without a path in front of fleet's own. By default file:///var/run/fleet.sock. A Transport of Client's sees
	// a unix socket's requests addressed to http://domain-sock.
	Endpoint url.URL
	// SSHTunnel, where set and active, carries all requests. The endpoint is then looked for by the tunnel; Endpoint still
	// gives scheme, host and path of the requests.
	SSHTunnel SSHTunnel
	// Logger is told, at DEBUG, of retries; nil means silence.
	Logger logging.Logger
	// TLS holds client certificates and CAs for an https endpoint; it is cloned. It goes with neither a Transport of
	// Client's nor an active tunnel.
	TLS *tls.Config
	// RequestTimeout is how long one request may take, its answer read to the end; 30 s by default. An operation may take
	// several requests, and repeat each.
	RequestTimeout time.Duration
	// MaxBodySize is how many bytes an answer may have; 64 MiB by default.
	MaxBodySize int64
	// Retries is how often a request is repeated that failed with an error of IsTemporary; 5 by default, below 0 means
	// never.
	Retries int
	// RetryWait is the longest pause before the first repeat; 100 ms by default. It doubles with each repeat up to 5 s, and
	// a random half of it is left out.
	RetryWait time.Duration
}

// DefaultConfig gives the Config for the fleet at file:///var/run/fleet.sock.
func DefaultConfig() Config {
	return Config{
		Client:         &http.Client{},
		Endpoint:       url.URL{Scheme: "file", Path: defaultSocket},
		RequestTimeout: defaultRequestTimeout,
		MaxBodySize:    defaultMaxBodySize,
		Retries:        defaultRetries,
		RetryWait:      defaultRetryWait,
	}
}

// Client keeps the Fleet contract, and all the upgrades of this package, on a fleet cluster. NewFleet makes one. It is
// safe for use by many goroutines at once.
type Client struct {
	http      *http.Client
	transport *http.Transport // made here, nil where the transport is the caller's
	endpoint  endpoint
	logger    logging.Logger

	requestTimeout time.Duration
	maxBodySize    int64
	retries        int
	retryWait      time.Duration

	// machines and cost are what the last listings have told.
	machines machineList
	cost     listingCost

	// closing ends when Close begins; requests under way hold running for reading.
	closing context.Context
	close   context.CancelFunc
	running sync.RWMutex
}

var (
	_ Fleet         = (*Client)(nil)
	_ UnitReader    = (*Client)(nil)
	_ ContentReader = (*Client)(nil)
	_ MachineReader = (*Client)(nil)
	_ Launcher      = (*Client)(nil)
	_ io.Closer     = (*Client)(nil)
)

// NewFleet gives a *Client for the fleet cluster at an endpoint, without talking to it yet. An endpoint of a wrong form
// gives an error for which IsInvalidEndpoint is true.
func NewFleet(config Config) (Fleet, error) {
	config = withDefaults(config)
	where, err := parseEndpoint(config.Endpoint)
	if err != nil {
		return nil, errmask.Maskf(err, "new fleet client")
	}
	client := &Client{
		http:           &http.Client{},
		endpoint:       where,
		logger:         config.Logger,
		requestTimeout: config.RequestTimeout,
		maxBodySize:    config.MaxBodySize,
		retries:        max(config.Retries, 0),
		retryWait:      config.RetryWait,
	}
	if config.Client != nil {
		*client.http = *config.Client
	}
	// A redirected PUT would become a GET, and fleet itself redirects nothing.
	client.http.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	tunnelled := config.SSHTunnel != nil && config.SSHTunnel.IsActive()
	if config.TLS != nil && (tunnelled || client.http.Transport != nil) {
		return nil, errmask.Mask(errors.New("new fleet client: TLS goes with neither a Transport nor an SSH tunnel"))
	}
	switch {
	case tunnelled:
		client.http.Transport = config.SSHTunnel
	case client.http.Transport == nil:
		client.transport = newTransport(where, config.TLS)
		client.http.Transport = client.transport
	}
	client.closing, client.close = context.WithCancel(context.Background())
	return client, nil
}

func withDefaults(config Config) Config {
	defaults := DefaultConfig()
	if config.Endpoint == (url.URL{}) {
		config.Endpoint = defaults.Endpoint
	}
	if config.RequestTimeout <= 0 {
		config.RequestTimeout = defaults.RequestTimeout
	}
	if config.MaxBodySize <= 0 {
		config.MaxBodySize = defaults.MaxBodySize
	}
	if config.Retries == 0 {
		config.Retries = defaults.Retries
	}
	if config.RetryWait <= 0 {
		config.RetryWait = defaults.RetryWait
	}
	return config
}

func newTransport(where endpoint, tlsConfig *tls.Config) *http.Transport {
	dialer := &net.Dialer{Timeout: dialTimeout}
	transport := &http.Transport{
		Proxy:               http.ProxyFromEnvironment,
		DialContext:         dialer.DialContext,
		TLSClientConfig:     tlsConfig.Clone(),
		TLSHandshakeTimeout: dialTimeout,
		ForceAttemptHTTP2:   true,
		MaxIdleConns:        idleConnections,
		MaxIdleConnsPerHost: idleConnections,
		IdleConnTimeout:     90 * time.Second,
	}
	if where.socket != "" {
		transport.Proxy = nil
		transport.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
			return dialer.DialContext(ctx, "unix", where.socket)
		}
	}
	return transport
}

// Close ends the requests under way, waits for them, and closes the connections that the client has opened. Those of a
// Transport or a tunnel in its Config are left to whoever made these. Calls after Close fail with an error for which
// errors.Is(err, net.ErrClosed) is true. Close may be called more than once, and always returns nil.
func (c *Client) Close() error {
	c.close()
	c.running.Lock()
	defer c.running.Unlock()
	if c.transport != nil {
		c.transport.CloseIdleConnections()
	}
	return nil
}

func (c *Client) debug(ctx context.Context, f string, v ...any) {
	if c.logger != nil {
		c.logger.Debug(ctx, f, v...)
	}
}
