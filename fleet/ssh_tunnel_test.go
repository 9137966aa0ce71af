package fleet

import (
	"context"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"golang.org/x/crypto/ssh"
)

// socketServer serves a handler on a unix socket and gives its endpoint.
func socketServer(t *testing.T, handler http.Handler) url.URL {
	t.Helper()
	path := filepath.Join(t.TempDir(), "fleet.sock")
	listener, err := net.Listen("unix", path)
	require.NoError(t, err)
	server := &httptest.Server{Listener: listener, Config: &http.Server{Handler: handler}}
	server.Start()
	t.Cleanup(server.Close)
	return url.URL{Scheme: "unix", Path: path}
}

// tunnelled gives a client whose requests go through a server to an endpoint.
func tunnelled(t *testing.T, config SSHTunnelConfig) (*Client, SSHTunnel) {
	t.Helper()
	tunnel, err := NewSSHTunnel(config)
	require.NoError(t, err)
	t.Cleanup(func() { tunnel.(io.Closer).Close() })
	require.True(t, tunnel.IsActive())
	own := roundTrip(func(*http.Request) (*http.Response, error) { panic("the tunnel goes before a Transport") })
	client, err := NewFleet(Config{Client: &http.Client{Transport: own}, Endpoint: config.Endpoint, SSHTunnel: tunnel, RetryWait: time.Microsecond})
	require.NoError(t, err)
	return client.(*Client), tunnel
}

// bench is a server that can be logged into, and the config of a tunnel that does so.
func bench(t *testing.T, handler http.Handler) (*sshServer, SSHTunnelConfig) {
	t.Helper()
	t.Setenv(agentVariable, "")
	login, private := newKey(t)
	host, _ := newKey(t)
	server := startSSH(t, login.PublicKey(), host)
	config := DefaultSSHTunnelConfig()
	config.Endpoint = socketServer(t, handler)
	config.Tunnel = server.address()
	config.KnownHostsFile = writeKnownHosts(t, false, server.address(), host.PublicKey())
	config.IdentityFile = writeIdentity(t, private)
	return server, config
}

// R31, C22: one connection and few channels serve many requests, and Close leaves nothing.
func TestTunnelToSocket(t *testing.T) {
	fleetd := &cluster{}
	server, config := bench(t, fleetd)
	client, tunnel := tunnelled(t, config)
	before := goleak.IgnoreCurrent()
	require.NoError(t, client.Submit(t.Context(), "a.service", webContent))
	for range 100 {
		require.NoError(t, client.Start(t.Context(), "a.service"))
	}
	assert.Equal(t, "launched", fleetd.units[0].DesiredState)
	connections, channels, mostOpen := server.seen()
	assert.Equal(t, 1, connections)
	assert.Equal(t, 1, channels)
	assert.Equal(t, 1, mostOpen)
	assert.Equal(t, "core", server.users[0])

	require.NoError(t, tunnel.(io.Closer).Close())
	require.NoError(t, tunnel.(io.Closer).Close(), "again")
	assert.Eventually(t, func() bool { _, channels, _ := server.seen(); return channels == 0 }, 10*time.Second, time.Millisecond)
	assert.ErrorIs(t, client.Start(t.Context(), "a.service"), net.ErrClosed)
	server.dropConnections()
	goleak.VerifyNone(t, before)
}

func TestTunnelToTCP(t *testing.T) {
	server, config := bench(t, &cluster{})
	web := httptest.NewServer(&cluster{})
	defer web.Close()
	where, err := url.Parse(web.URL)
	require.NoError(t, err)
	config.Endpoint = *where
	client, _ := tunnelled(t, config)
	require.NoError(t, client.Submit(t.Context(), "a.service", webContent))
	connections, channels, _ := server.seen()
	assert.Equal(t, 1, connections)
	assert.Equal(t, 1, channels)
}

// R31: the number of channels is bounded, and requests wait for a free one.
func TestTunnelBoundsChannels(t *testing.T) {
	// The first three requests are answered when all three have come.
	full := make(chan struct{})
	var arrivals sync.WaitGroup
	arrivals.Add(3)
	go func() { arrivals.Wait(); close(full) }()
	var mutex sync.Mutex
	requests := 0
	server, config := bench(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mutex.Lock()
		requests++
		if requests <= 3 {
			arrivals.Done()
		}
		mutex.Unlock()
		<-full
		w.WriteHeader(http.StatusNoContent)
	}))
	config.MaxChannels = 3
	client, _ := tunnelled(t, config)
	var group sync.WaitGroup
	for range 40 {
		group.Go(func() { assert.NoError(t, client.Start(t.Context(), "a.service")) })
	}
	group.Wait()
	connections, _, mostOpen := server.seen()
	assert.Equal(t, 1, connections)
	assert.Equal(t, 3, mostOpen)
}

func mustHostKey(t *testing.T) ssh.Signer {
	key, _ := newKey(t)
	return key
}

// R31: the handshake has a deadline, and so has the opening of a channel.
func TestTunnelCutsSilentPeers(t *testing.T) {
	t.Run("handshake", func(t *testing.T) {
		_, config := bench(t, &cluster{})
		silent, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		defer silent.Close()
		config.Tunnel = silent.Addr().String()
		config.Timeout = 50 * time.Millisecond
		client, _ := tunnelled(t, config)
		client.retries = 0
		err = client.Start(t.Context(), "a.service")
		assert.True(t, IsTemporary(err), "%v", err)
		assert.ErrorContains(t, err, "no SSH handshake in time")
	})
	t.Run("channel", func(t *testing.T) {
		server, config := bench(t, &cluster{})
		server.count(func() { server.ignore = true })
		config.Timeout = 250 * time.Millisecond
		client, _ := tunnelled(t, config)
		client.retries = 0
		err := client.Start(t.Context(), "a.service")
		assert.True(t, IsTemporary(err), "%v", err)
		assert.ErrorContains(t, err, "gave no answer in")
		server.count(func() { server.ignore = false })
		assert.NoError(t, client.Submit(t.Context(), "a.service", webContent), "over a new connection")
	})
}

// R31: a connection that has died is made anew by the next request.
func TestTunnelReconnects(t *testing.T) {
	server, config := bench(t, &cluster{})
	client, _ := tunnelled(t, config)
	require.NoError(t, client.Submit(t.Context(), "a.service", webContent))
	server.dropConnections()
	require.NoError(t, client.Start(t.Context(), "a.service"))
	connections, _, _ := server.seen()
	assert.Equal(t, 2, connections)
}

// R31: a connection that could not be made is tried anew, with the known hosts as they are by then.
func TestTunnelAfterAFailure(t *testing.T) {
	_, config := bench(t, &cluster{})
	right, err := os.ReadFile(config.KnownHostsFile)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(config.KnownHostsFile, nil, 0o600))
	client, _ := tunnelled(t, config)
	require.Error(t, client.Submit(t.Context(), "a.service", webContent))
	require.NoError(t, os.WriteFile(config.KnownHostsFile, right, 0o600))
	require.NoError(t, client.Submit(t.Context(), "a.service", webContent))
}

// R31: whatever host a request names, it goes over the channels that there are.
func TestTunnelSharesChannels(t *testing.T) {
	server, config := bench(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, r.Host) }))
	_, tunnel := tunnelled(t, config)
	for _, host := range []string{"a.example", "b.example"} {
		request, err := http.NewRequestWithContext(t.Context(), "GET", "http://"+host+"/", nil)
		require.NoError(t, err)
		response, err := tunnel.RoundTrip(request)
		require.NoError(t, err)
		text, err := io.ReadAll(response.Body)
		require.NoError(t, err)
		require.NoError(t, response.Body.Close())
		assert.Equal(t, host, string(text))
		assert.Equal(t, host, request.URL.Host, "the caller's request stays as it is")
	}
	_, _, mostOpen := server.seen()
	assert.Equal(t, 1, mostOpen)
}

func TestTunnelRequestsHeedContexts(t *testing.T) {
	server, config := bench(t, &cluster{})
	server.count(func() { server.ignore = true })
	client, tunnel := tunnelled(t, config)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	assert.ErrorIs(t, client.Start(ctx, "a.service"), context.DeadlineExceeded)
	require.NoError(t, tunnel.(io.Closer).Close(), "ends the opening that is under way")
}

func TestTunnelThatIsNotActive(t *testing.T) {
	for _, config := range []SSHTunnelConfig{{}, DefaultSSHTunnelConfig()} {
		tunnel, err := NewSSHTunnel(config)
		require.NoError(t, err)
		assert.False(t, tunnel.IsActive())
		client, err := NewFleet(Config{Client: &http.Client{Transport: inProcess(&cluster{})}, SSHTunnel: tunnel})
		require.NoError(t, err)
		require.NoError(t, client.Submit(t.Context(), "a.service", webContent), "goes another way")
		request, err := http.NewRequestWithContext(t.Context(), "GET", "http://x", nil)
		require.NoError(t, err)
		_, err = tunnel.RoundTrip(request)
		assert.ErrorContains(t, err, "not active")
		assert.NoError(t, tunnel.(io.Closer).Close())
	}
}

func TestTunnelConfigsRefused(t *testing.T) {
	_, good := bench(t, &cluster{})
	for name, c := range map[string]struct {
		change   func(*SSHTunnelConfig)
		says     string
		endpoint bool
	}{
		"user in host":     {func(c *SSHTunnelConfig) { c.Tunnel = "core@host" }, "core@host", true},
		"no host":          {func(c *SSHTunnelConfig) { c.Tunnel = ":22" }, "host", true},
		"port":             {func(c *SSHTunnelConfig) { c.Tunnel = "host:0" }, "port", true},
		"named port":       {func(c *SSHTunnelConfig) { c.Tunnel = "host:ssh" }, "port", true},
		"endpoint":         {func(c *SSHTunnelConfig) { c.Endpoint = url.URL{Scheme: "unix", Host: "x", Path: "/y"} }, "unix:///path", true},
		"control":          {func(c *SSHTunnelConfig) { c.Endpoint.Path = "/run/a\nb" }, "control character", true},
		"long path":        {func(c *SSHTunnelConfig) { c.Endpoint.Path = "/" + strings.Repeat("x", 107) }, "more than 107 bytes", true},
		"no identity file": {func(c *SSHTunnelConfig) { c.IdentityFile = "/nowhere/id" }, "/nowhere/id", false},
		"no identity":      {func(c *SSHTunnelConfig) { c.IdentityFile = c.KnownHostsFile }, "known_hosts", false},
		"nothing":          {func(c *SSHTunnelConfig) { c.IdentityFile = "" }, "nothing to log in with", false},
		"no known hosts":   {func(c *SSHTunnelConfig) { c.KnownHostsFile = "/nowhere/hosts" }, "/nowhere/hosts", false},
	} {
		config := good
		c.change(&config)
		_, err := NewSSHTunnel(config)
		assert.ErrorContains(t, err, c.says, name)
		assert.Equal(t, c.endpoint, IsInvalidEndpoint(err), name)
	}
}

func TestSSHAddress(t *testing.T) {
	for tunnel, want := range map[string]string{"host": "host:22", "host:2222": "host:2222", "10.0.0.1": "10.0.0.1:22", "::1": "[::1]:22",
		"[::1]": "[::1]:22", "[::1]:2222": "[::1]:2222"} {
		got, err := sshAddress(tunnel)
		require.NoError(t, err)
		assert.Equal(t, want, got)
	}
}

// R30, R31: an https endpoint behind the tunnel is spoken to with the TLS config given, under its own name.
func TestTunnelToHTTPS(t *testing.T) {
	server, config := bench(t, &cluster{})
	web := httptest.NewUnstartedServer(&cluster{})
	web.Config.ErrorLog = log.New(io.Discard, "", 0)
	web.StartTLS()
	defer web.Close()
	where, err := url.Parse(web.URL)
	require.NoError(t, err)
	config.Endpoint = *where
	client, _ := tunnelled(t, config)
	err = client.Submit(t.Context(), "a.service", webContent)
	assert.ErrorContains(t, err, "certificate signed by unknown authority")
	assert.False(t, IsTemporary(err))

	config.TLS = web.Client().Transport.(*http.Transport).TLSClientConfig
	client, _ = tunnelled(t, config)
	require.NoError(t, client.Submit(t.Context(), "a.service", webContent))
	assert.Empty(t, config.TLS.ServerName, "what the caller passes stays as it is")
	_, _, mostOpen := server.seen()
	assert.Positive(t, mostOpen)
}
