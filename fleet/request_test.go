package fleet

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func body(contentType, text string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", contentType)
		_, _ = io.WriteString(w, text)
	}
}

// An endpoint that answers, but not as fleet does: a clear error that names it, for reads and writes alike.
func TestEndpointsThatAreNoFleet(t *testing.T) {
	for name, handler := range map[string]http.Handler{
		"HTML":             body("text/html", "<html><body>Welcome</body></html>"),
		"plain 404":        http.NotFoundHandler(),
		"HTML 400":         http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { http.Error(w, "<html>", 400) }),
		"other JSON 404":   http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { answer(w, 404, map[string]string{"error": "x"}) }),
		"unauthorized":     http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(401) }),
		"a JSON list":      body("application/json", "[]"),
		"null":             body("application/json", "null"),
		"wrong types":      body("application/json", `{"name":1,"units":{},"states":"x","machines":7,"options":true}`),
		"two documents":    body("application/json", `{}{}`),
		"no JSON":          body("application/json", `{"name"=1}`),
		"redirect to self": http.RedirectHandler("/fleet/v1/units/a.service", http.StatusFound),
		"redirect away":    http.RedirectHandler("http://other.example/", http.StatusPermanentRedirect),
	} {
		t.Run(name, func(t *testing.T) {
			client := clientTo(t, handler, Config{})
			ctx := t.Context()
			_, statusErr := client.GetStatus(ctx, "a.service")
			_, listErr := client.ReadUnits(ctx, Selector{})
			_, machinesErr := client.ReadMachines(ctx)
			errs := []error{statusErr, listErr, machinesErr, client.Submit(ctx, "a.service", webContent),
				client.Start(ctx, "a.service"), client.Destroy(ctx, "a.service")}
			for i, err := range errs {
				if i >= 3 && strings.HasPrefix(name, "two") {
					break
				}
				require.Error(t, err, "call %d", i)
				assert.True(t, IsInvalidEndpoint(err), "%v", err)
				assert.False(t, IsUnitNotFound(err), "%v", err)
				assert.ErrorContains(t, err, client.endpoint.text)
			}
		})
	}
}

func TestRedirectNamesItsTarget(t *testing.T) {
	client := clientTo(t, http.RedirectHandler("https://other.example/x", http.StatusMovedPermanently), Config{})
	assert.ErrorContains(t, client.Start(t.Context(), "a.service"), `"https://other.example/x"`)
}

// R18: half a document is as temporary as an answer that breaks off.
func TestTruncatedAnswers(t *testing.T) {
	for name, handler := range map[string]http.Handler{
		"half a document": body("application/json", `{"units":[{"name":"a.ser`),
		"nothing":         body("application/json", ""),
		"broken off": http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Length", "100")
			_, _ = io.WriteString(w, `{"units":`)
		}),
		"failure broken off": http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Length", "100")
			w.WriteHeader(http.StatusNotFound)
			_, _ = io.WriteString(w, `{"error":`)
		}),
		"no answer": http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { panic(http.ErrAbortHandler) }),
	} {
		t.Run(name, func(t *testing.T) {
			client := clientTo(t, handler, Config{Retries: 1})
			_, err := client.ReadMachines(t.Context())
			assert.True(t, IsTemporary(err), "%v", err)
			assert.False(t, IsInvalidEndpoint(err), "%v", err)
			assert.ErrorContains(t, err, "read machines: GET /fleet/v1/machines: ")
		})
	}
}

// R30: what a proxy says in a page of HTML is passed on by its title.
func TestPageTitles(t *testing.T) {
	for page, want := range map[string]string{
		"<html><head><title>400 No required SSL certificate was sent</title></head>": "400 No required SSL certificate was sent",
		"<TITLE lang=en>\n a &amp;\tb </TITLE>":                                      "a & b",
		"<title>" + strings.Repeat("ä", 300) + "</title>":                            strings.Repeat("ä", 200),
		"<title></title>": "", "<title>": "", "no page": "", "": "",
	} {
		assert.Equal(t, want, pageTitle([]byte(page)))
	}
	for status, temporary := range map[int]bool{http.StatusBadRequest: false, http.StatusBadGateway: true} {
		client := clientTo(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(status)
			_, _ = io.WriteString(w, "<html><title>400 The SSL certificate error</title><body>\n")
		}), Config{Retries: -1})
		err := client.Start(t.Context(), "a.service")
		assert.ErrorContains(t, err, http.StatusText(status)+`: a page of HTML, "400 The SSL certificate error"`)
		assert.Equal(t, temporary, IsTemporary(err), "%v", err)
	}
}

func FuzzPageTitle(f *testing.F) {
	f.Add([]byte("<title>a &amp; b</title>"))
	f.Fuzz(func(t *testing.T, body []byte) {
		title := pageTitle(body)
		assert.LessOrEqual(t, len([]rune(title)), maxTitle)
		assert.NotContains(t, title, "\n")
	})
}

// R28.
func TestEndlessBodies(t *testing.T) {
	endless := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodDelete {
			w.WriteHeader(http.StatusBadRequest)
		}
		for {
			if _, err := w.Write([]byte(strings.Repeat(" ", 4096))); err != nil {
				return
			}
		}
	})
	client := clientTo(t, endless, Config{MaxBodySize: 1 << 16})
	_, err := client.ReadMachines(t.Context())
	assert.ErrorContains(t, err, "more than 65536 bytes")
	assert.False(t, IsTemporary(err))
	assert.Error(t, client.Destroy(t.Context(), "a.service"), "of a failure too")

	exact := clientTo(t, body("application/json", "{}"), Config{MaxBodySize: 2})
	_, err = exact.ReadMachines(t.Context())
	assert.NoError(t, err)
}

func TestBoundOfAGzippedBodyIsOnItsContent(t *testing.T) {
	client := clientTo(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		assert.Equal(t, "application/json", r.Header.Get("Accept"))
		answer(w, http.StatusOK, map[string]any{"machines": []wireMachine{{ID: strings.Repeat("x", 100)}}})
	}), Config{MaxBodySize: 50})
	_, err := client.ReadMachines(t.Context())
	assert.ErrorContains(t, err, "more than 50 bytes")
}

func TestContextsThatHaveEnded(t *testing.T) {
	client := clientTo(t, &cluster{}, Config{})
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	late, cancelLate := context.WithDeadline(t.Context(), time.Now().Add(-time.Second))
	defer cancelLate()
	for want, ctx := range map[error]context.Context{context.Canceled: cancelled, context.DeadlineExceeded: late} {
		_, statusErr := client.GetStatus(ctx, "a.service")
		_, readErr := client.ReadUnits(ctx, Selector{})
		for _, err := range []error{client.Submit(ctx, "a.service", webContent), client.Destroy(ctx, "a.service"), statusErr, readErr} {
			assert.ErrorIs(t, err, want)
			assert.False(t, IsTemporary(err), "%v", err)
		}
	}
}

// R28: what is sent, seen from the other side, over TCP.
func TestNamesArriveAsTheyAre(t *testing.T) {
	fleetd := &cluster{}
	client := clientTo(t, fleetd, Config{})
	for _, name := range []string{"web@1.service", `srv-a\x2db@1.service`, "a:b.service", "50%41.service", "ä ?#.timer"} {
		require.NoError(t, client.Submit(t.Context(), name, webContent))
		assert.Equal(t, name, fleetd.units[len(fleetd.units)-1].Name)
		status, err := client.GetStatus(t.Context(), name)
		require.NoError(t, err)
		assert.Equal(t, name, status.Name)
		require.NoError(t, client.Destroy(t.Context(), name))
	}
	assert.Empty(t, fleetd.units)
}

func TestAnswerAboutAnotherUnit(t *testing.T) {
	client := clientOn(t, inProcess(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer(w, http.StatusOK, map[string]string{"name": "b.service"})
	})), Config{})
	_, err := client.GetStatus(t.Context(), "a.service")
	assert.True(t, IsInvalidUnitStatus(err))
	assert.EqualError(t, err, "get status of a.service: GET /fleet/v1/units/a.service: the answer is about unit b.service")
}

// R42.
func TestClientOfTheCallerIsNotChanged(t *testing.T) {
	transport := inProcess(&cluster{})
	own := &http.Client{Transport: transport, Timeout: time.Hour}
	made, err := NewFleet(Config{Client: own, Endpoint: url.URL{Scheme: "unix", Path: "/nowhere"}})
	require.NoError(t, err)
	_, err = made.(*Client).ReadMachines(t.Context())
	require.NoError(t, err, "the Transport is kept for a socket too")
	assert.Nil(t, own.CheckRedirect)
	assert.Equal(t, time.Hour, made.(*Client).http.Timeout)

	bare := &http.Client{}
	_, err = NewFleet(Config{Client: bare})
	require.NoError(t, err)
	assert.Nil(t, bare.Transport)
	_, err = NewFleet(Config{Client: own, TLS: &tls.Config{}})
	assert.ErrorContains(t, err, "TLS")
}

// R42: the zero Config is the default one.
func TestZeroConfig(t *testing.T) {
	zero, err := NewFleet(Config{})
	require.NoError(t, err)
	def, err := NewFleet(DefaultConfig())
	require.NoError(t, err)
	assert.Equal(t, "/var/run/fleet.sock", zero.(*Client).endpoint.socket)
	assert.Equal(t, "file:///var/run/fleet.sock", zero.(*Client).endpoint.text)
	assert.Equal(t, def.(*Client).endpoint, zero.(*Client).endpoint)
	assert.Equal(t, def.(*Client).requestTimeout, zero.(*Client).requestTimeout)
	assert.Equal(t, def.(*Client).maxBodySize, zero.(*Client).maxBodySize)
	assert.Equal(t, def.(*Client).retries, zero.(*Client).retries)
	assert.Equal(t, def.(*Client).retryWait, zero.(*Client).retryWait)
}

// R30.
func TestUnixSocket(t *testing.T) {
	path := filepath.Join(t.TempDir(), "fleet.sock")
	listener, err := net.Listen("unix", path)
	require.NoError(t, err)
	server := &httptest.Server{Listener: listener, Config: &http.Server{Handler: &cluster{}}}
	server.Start()
	defer server.Close()
	for _, scheme := range []string{"unix", "file"} {
		made, err := NewFleet(Config{Endpoint: url.URL{Scheme: scheme, Path: path}})
		require.NoError(t, err)
		require.NoError(t, made.Submit(t.Context(), "a.service", webContent))
		require.NoError(t, made.(io.Closer).Close())
	}
}

// R30.
func TestClientCertificateAndOwnCA(t *testing.T) {
	server := httptest.NewUnstartedServer(&cluster{})
	server.TLS = &tls.Config{ClientAuth: tls.RequireAnyClientCert}
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.EnableHTTP2 = true
	server.StartTLS()
	defer server.Close()
	where, err := url.Parse(server.URL)
	require.NoError(t, err)
	roots := x509.NewCertPool()
	roots.AddCert(server.Certificate())

	for name, config := range map[string]*tls.Config{"no CA": nil, "no certificate": {RootCAs: roots}} {
		made, err := NewFleet(Config{Endpoint: *where, TLS: config})
		require.NoError(t, err)
		assert.Error(t, made.Submit(t.Context(), "a.service", webContent), name)
		require.NoError(t, made.(io.Closer).Close())
	}
	made, err := NewFleet(Config{Endpoint: *where, TLS: &tls.Config{RootCAs: roots, Certificates: server.TLS.Certificates}})
	require.NoError(t, err)
	require.NoError(t, made.Submit(t.Context(), "a.service", webContent))
	require.NoError(t, made.(io.Closer).Close())
}

func TestServerThatIsGone(t *testing.T) {
	client := clientTo(t, &cluster{}, Config{})
	server := httptest.NewServer(&cluster{})
	where, err := url.Parse(server.URL)
	require.NoError(t, err)
	server.Close()
	client.endpoint, err = parseEndpoint(*where)
	require.NoError(t, err)
	err = client.Start(t.Context(), "a.service")
	assert.True(t, IsTemporary(err), "%v", err)
	assert.Regexp(t, `^start a.service: PUT /fleet/v1/units/a.service: dial tcp .*: connection refused$`, err.Error())

	missing, err := NewFleet(Config{Endpoint: url.URL{Scheme: "unix", Path: filepath.Join(t.TempDir(), "none")}})
	require.NoError(t, err)
	err = missing.Start(t.Context(), "a.service")
	assert.False(t, IsTemporary(err), "%v", err)
	assert.ErrorContains(t, err, "no such file")
}

// R44.
func TestClosedClient(t *testing.T) {
	entered := make(chan struct{})
	client := clientTo(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // or the server does not notice that the client has gone
		close(entered)
		<-r.Context().Done()
	}), Config{})
	failed := make(chan error, 1)
	go func() { failed <- client.Start(context.Background(), "a.service") }()
	<-entered
	require.NoError(t, client.Close())
	assert.ErrorIs(t, <-failed, net.ErrClosed, "under way")
	require.NoError(t, client.Close(), "again")
	err := client.Start(t.Context(), "a.service")
	assert.ErrorIs(t, err, net.ErrClosed, "later")
	assert.False(t, IsTemporary(err))
	assert.False(t, errors.Is(err, context.Canceled))
}

// endingConn is a connection whose far end ends it at once.
type endingConn struct {
	net.Conn
	closed chan struct{}
}

func (endingConn) Read([]byte) (int, error) { return 0, io.EOF }

func (c endingConn) Close() error {
	defer close(c.closed)
	return c.Conn.Close()
}

// R18, R29: a connection that the server has ended before a request went over it costs a repeat, also for a PUT.
func TestServerClosesConnectionBeforeUse(t *testing.T) {
	dials := 0
	server := httptest.NewServer(&cluster{})
	defer server.Close()
	ended := make(chan struct{})
	transport := &http.Transport{DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
		connection, err := (&net.Dialer{}).DialContext(ctx, network, address)
		if dials++; dials == 1 && err == nil {
			return endingConn{connection, ended}, nil
		}
		return connection, err
	}}
	defer transport.CloseIdleConnections()
	where, err := url.Parse(server.URL)
	require.NoError(t, err)
	client, err := NewFleet(Config{Endpoint: *where, Client: &http.Client{Transport: transport}, RetryWait: time.Microsecond})
	require.NoError(t, err)
	defer client.(io.Closer).Close()
	// The request goes on when the transport has noticed.
	ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { <-ended }})
	require.NoError(t, client.Submit(ctx, "a.service", webContent))
	assert.Equal(t, 2, dials)
}
