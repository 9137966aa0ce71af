package nginx_test

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/squadronctl/squadron/integration/nginx"
)

// What has a certificate of the authority's gets to the socket, nothing else does; and after Kill nobody listens.
func TestStart(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "socket")
	listener, err := net.Listen("unix", socket)
	require.NoError(t, err)
	behind := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) }))
	behind.Listener = listener
	behind.Start()
	t.Cleanup(behind.Close)

	ca := nginx.NewAuthority(t, "ours")
	server := nginx.Start(t, ca, ca.Issue(t, nginx.ForServer("127.0.0.1")), socket)
	foreign := nginx.NewAuthority(t, "somebody's").Issue(t, nginx.ForClient())
	assert.Equal(t, http.StatusTeapot, get(t, server, ca, ca.Issue(t, nginx.ForClient())))
	assert.Equal(t, http.StatusBadRequest, get(t, server, ca, foreign))
	assert.Equal(t, http.StatusBadRequest, get(t, server, ca, tls.Certificate{}))
	assert.Eventually(t, func() bool {
		return server.Log(t) == "HTTP/1.1 418\nHTTP/1.1 400\nHTTP/1.1 400\n"
	}, time.Minute, 10*time.Millisecond, "a request is logged when its answer is out")

	server.Kill()
	server.Kill()
	assert.Eventually(t, func() bool {
		connection, err := net.Dial("tcp", "127.0.0.1:"+server.Port)
		if err == nil {
			connection.Close()
		}
		return errors.Is(err, syscall.ECONNREFUSED)
	}, time.Minute, 10*time.Millisecond, "the worker is gone as well")
}

// get gives the status of the answer to a client with a certificate, which is shown whether it suits the server or not.
func get(t *testing.T, server *nginx.Server, ca *nginx.Authority, certificate tls.Certificate) int {
	t.Helper()
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: ca.Pool(),
		GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &certificate, nil }}}
	defer transport.CloseIdleConnections()
	answer, err := (&http.Client{Transport: transport}).Get("https://127.0.0.1:" + server.Port)
	require.NoError(t, err)
	defer answer.Body.Close()
	_, err = io.Copy(io.Discard, answer.Body)
	require.NoError(t, err)
	return answer.StatusCode
}
