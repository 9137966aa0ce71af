// Package tlsproxy_test takes the fleet client to proxies that speak TLS and want client certificates: Debian's nginx, and
// a server of Go's own. Behind them is the simulated cluster, on a unix socket.
package tlsproxy_test

import (
	"crypto/tls"
	"crypto/x509"
	"io"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/squadronctl/squadron/fleet"
	"github.com/squadronctl/squadron/fleet/fleettest"
	"github.com/squadronctl/squadron/integration/nginx"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience is how long a test waits for what has to come; where all is well it comes in moments.
const patience = time.Minute

const content = "[Service]\nExecStart=/bin/sleep 1000\n"

type starter func(*testing.T, *nginx.Authority, tls.Certificate, string) proxy

var proxies = map[string]starter{"nginx": startNginx, "Go": startGo}

// lineLog is a log in memory.
type lineLog struct {
	mutex sync.Mutex
	lines []string
}

func (l *lineLog) add(line string) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.lines = append(l.lines, line)
}

func (l *lineLog) text() string {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return strings.Join(l.lines, "\n")
}

func newFleetServer(t *testing.T) *fleettest.Server {
	t.Helper()
	server := fleettest.NewUnstartedServer(fleettest.Config{})
	require.NoError(t, server.StartUnix(filepath.Join(t.TempDir(), "fleet.sock")))
	t.Cleanup(server.Close)
	return server
}

// newClient gives a client that has its TLS config by a Transport of the caller's, with HTTP/2 or without.
func newClient(t *testing.T, host, port string, config *tls.Config, http2 bool) fleet.Fleet {
	t.Helper()
	transport := &http.Transport{TLSClientConfig: config, ForceAttemptHTTP2: http2}
	t.Cleanup(transport.CloseIdleConnections)
	return closing(t, fleet.Config{
		Endpoint: url.URL{Scheme: "https", Host: host + ":" + port}, Client: &http.Client{Transport: transport}, Retries: -1,
	})
}

func closing(t *testing.T, config fleet.Config) fleet.Fleet {
	t.Helper()
	made, err := fleet.NewFleet(config)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, made.(io.Closer).Close()) })
	return made
}

// R30, R42: with the right certificates, requests go through over HTTP/1.1 and HTTP/2, whether the TLS config is given by
// itself or in a Transport.
func TestRightCertificates(t *testing.T) {
	ca := nginx.NewAuthority(t, "ours")
	for name, start := range proxies {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := newFleetServer(t)
			p := start(t, ca, ca.Issue(t, nginx.ForServer("127.0.0.1", "localhost")), server.Endpoint().Path)
			config := &tls.Config{RootCAs: ca.Pool(), Certificates: []tls.Certificate{ca.Issue(t, nginx.ForClient())}}
			for i, c := range []struct {
				client   fleet.Fleet
				protocol string
			}{
				{newClient(t, "127.0.0.1", p.port, config.Clone(), false), "HTTP/1.1"},
				{newClient(t, "127.0.0.1", p.port, config.Clone(), true), "HTTP/2.0"},
				{newClient(t, "localhost", p.port, config.Clone(), true), "HTTP/2.0"},
				{closing(t, fleet.Config{Endpoint: url.URL{Scheme: "https", Host: "127.0.0.1:" + p.port}, TLS: config}), "HTTP/2.0"},
			} {
				unit := string(rune('a'+i)) + `\x2db@1.service`
				before := p.log()
				require.NoError(t, c.client.Submit(t.Context(), unit, content))
				require.NoError(t, c.client.Start(t.Context(), unit))
				status, err := c.client.GetStatus(t.Context(), unit)
				require.NoError(t, err)
				assert.Equal(t, unit, status.Name)
				require.NoError(t, c.client.Destroy(t.Context(), unit))
				_, err = c.client.GetStatus(t.Context(), unit)
				assert.True(t, fleet.IsUnitNotFound(err), "%v", err)
				require.Eventually(t, func() bool { return len(p.log()) > len(before) }, patience, 10*time.Millisecond)
				for _, line := range strings.Fields(strings.TrimPrefix(p.log(), before)) {
					if strings.HasPrefix(line, "HTTP") {
						assert.Equal(t, c.protocol, line)
					}
				}
			}
			assert.Positive(t, server.Cluster.Counts().Puts)
		})
	}
}

// R30: whatever is wrong with a certificate, nothing reaches fleet, the error says what is wrong, and nobody tries again.
func TestWrongCertificates(t *testing.T) {
	ca, other := nginx.NewAuthority(t, "ours"), nginx.NewAuthority(t, "somebody's")
	right := ca.Issue(t, nginx.ForClient())
	for name, c := range map[string]struct {
		server tls.Certificate
		client []tls.Certificate
		trust  *nginx.Authority
		nginx  []string // what the error says
		alert  []string // the same of Go's server; nil where the client itself refuses, with the same words
	}{
		"expired server certificate": {ca.Issue(t, expired(nginx.ForServer("127.0.0.1"))), []tls.Certificate{right}, ca, []string{"certificate has expired"}, nil},
		"wrong host":                 {ca.Issue(t, nginx.ForServer("10.0.0.1", "fleet.example")), []tls.Certificate{right}, ca, []string{"valid for 10.0.0.1, not 127.0.0.1"}, nil},
		"unknown CA":                 {other.Issue(t, nginx.ForServer("127.0.0.1")), []tls.Certificate{right}, ca, []string{"unknown authority"}, nil},
		"no client certificate": {ca.Issue(t, nginx.ForServer("127.0.0.1")), nil, ca, []string{"400 No required SSL certificate was sent"},
			[]string{"certificate required", "bad certificate", "handshake failure"}},
		"expired client certificate": {ca.Issue(t, nginx.ForServer("127.0.0.1")), []tls.Certificate{ca.Issue(t, expired(nginx.ForClient()))}, ca,
			[]string{"400 The SSL certificate error"}, []string{"expired certificate", "bad certificate"}},
		"client certificate of another CA": {ca.Issue(t, nginx.ForServer("127.0.0.1")), []tls.Certificate{other.Issue(t, nginx.ForClient())}, ca,
			[]string{"400 "}, []string{"certificate required", "bad certificate", "unknown certificate authority"}},
	} {
		for kind, start := range proxies {
			for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
				t.Run(name+", "+kind+", "+tls.VersionName(version), func(t *testing.T) {
					t.Parallel()
					server := newFleetServer(t)
					p := start(t, ca, c.server, server.Endpoint().Path)
					for _, http2 := range []bool{false, true} {
						config := &tls.Config{RootCAs: c.trust.Pool(), MaxVersion: version, GetClientCertificate: always(c.client)}
						err := newClient(t, "127.0.0.1", p.port, config, http2).Submit(t.Context(), "a.service", content)
						require.Error(t, err)
						if kind == "Go" && c.alert != nil && version == tls.VersionTLS13 && fleet.IsTemporary(err) {
							// The server closes the connection on a request that is on its way, which may come over the alert.
							continue
						}
						words := c.nginx
						if kind == "Go" && c.alert != nil {
							words = c.alert
						}
						assert.True(t, containsAny(err.Error(), words), "%v", err)
						assert.False(t, fleet.IsTemporary(err), "%v", err)
						assert.Less(t, len(err.Error()), 600)
						assert.NotContains(t, err.Error(), "<")
					}
					assert.Zero(t, server.Cluster.Counts())
				})
			}
		}
	}
}

// expired makes of a template one that is no longer valid.
func expired(c *x509.Certificate) *x509.Certificate {
	c.NotBefore, c.NotAfter = time.Now().Add(-48*time.Hour), time.Now().Add(-24*time.Hour)
	return c
}

// always shows a certificate whether it suits the server or not, as a careless config would; none where there is none.
func always(certificates []tls.Certificate) func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
	return func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
		if len(certificates) == 0 {
			return &tls.Certificate{}, nil
		}
		return &certificates[0], nil
	}
}

func containsAny(text string, words []string) bool {
	for _, word := range words {
		if strings.Contains(text, word) {
			return true
		}
	}
	return false
}

// R18, R30: a proxy whose fleet is away, and a proxy that is away itself, may be back the next time.
func TestGoneIsTemporary(t *testing.T) {
	ca := nginx.NewAuthority(t, "ours")
	for name, start := range proxies {
		for _, http2 := range []bool{false, true} {
			t.Run(name+map[bool]string{false: ", HTTP/1.1", true: ", HTTP/2"}[http2], func(t *testing.T) {
				t.Parallel()
				server := newFleetServer(t)
				p := start(t, ca, ca.Issue(t, nginx.ForServer("127.0.0.1")), server.Endpoint().Path)
				config := &tls.Config{RootCAs: ca.Pool(), Certificates: []tls.Certificate{ca.Issue(t, nginx.ForClient())}}
				client := newClient(t, "127.0.0.1", p.port, config, http2)
				require.NoError(t, client.Submit(t.Context(), "a.service", content))

				arrived := make(chan struct{})
				server.Faults.Set(func(*http.Request) fleettest.Action {
					return func(_ http.ResponseWriter, r *http.Request, _ http.Handler) {
						close(arrived)
						<-r.Context().Done()
					}
				})
				failed := make(chan error, 1)
				go func() { failed <- client.Start(t.Context(), "a.service") }()
				<-arrived
				p.kill()
				err := <-failed
				assert.True(t, fleet.IsTemporary(err), "killed in a request: %v", err)
				err = client.Start(t.Context(), "a.service")
				assert.True(t, fleet.IsTemporary(err), "not there: %v", err)

				away := start(t, ca, ca.Issue(t, nginx.ForServer("127.0.0.1")), "/nowhere/fleet.sock")
				err = newClient(t, "127.0.0.1", away.port, config, http2).Start(t.Context(), "a.service")
				assert.True(t, fleet.IsTemporary(err), "no fleet behind it: %v", err)
				assert.ErrorContains(t, err, "502 Bad Gateway")
				assert.NotContains(t, err.Error(), "<")
			})
		}
	}
}

// R28, R30: idle connections are used again.
func TestConnectionsAreReused(t *testing.T) {
	ca := nginx.NewAuthority(t, "ours")
	server := newFleetServer(t)
	p := startGo(t, ca, ca.Issue(t, nginx.ForServer("127.0.0.1")), server.Endpoint().Path)
	handshakes := 0
	config := &tls.Config{RootCAs: ca.Pool(), GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
		handshakes++
		certificate := ca.Issue(t, nginx.ForClient())
		return &certificate, nil
	}}
	client := newClient(t, "127.0.0.1", p.port, config, false)
	require.NoError(t, client.Submit(t.Context(), "a.service", content))
	for range 50 {
		require.NoError(t, client.Start(t.Context(), "a.service"))
	}
	assert.Equal(t, 1, handshakes)
}
