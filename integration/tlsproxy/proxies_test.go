package tlsproxy_test

import (
	"context"
	"crypto/tls"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/squadronctl/squadron/integration/nginx"
)

// proxy is something that speaks TLS, wants a client certificate of the authority's, and passes requests on to a socket.
type proxy struct {
	port string
	log  func() string // a line for each request: protocol and status
	kill func()        // ends it as it stands
}

// startNginx starts nginx, which answers also to those who show no certificate or a wrong one: with a 400.
func startNginx(t *testing.T, ca *nginx.Authority, certificate tls.Certificate, socket string) proxy {
	t.Helper()
	server := nginx.Start(t, ca, certificate, socket)
	return proxy{port: server.Port, log: func() string { return server.Log(t) }, kill: server.Kill}
}

// startGo starts a server of Go's own, which lets nobody in without a certificate of the authority's.
func startGo(t *testing.T, ca *nginx.Authority, certificate tls.Certificate, socket string) proxy {
	t.Helper()
	forward := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: "fleet"})
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", socket)
	}}
	forward.Transport = transport
	forward.ErrorLog = log.New(io.Discard, "", 0)
	var lines lineLog
	server := &http.Server{
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			lines.add(r.Proto)
			forward.ServeHTTP(w, r)
		}),
		TLSConfig: &tls.Config{Certificates: []tls.Certificate{certificate}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: ca.Pool()},
		ErrorLog:  log.New(io.Discard, "", 0),
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = server.ServeTLS(listener, "", "") // until it is closed
	}()
	kill := func() {
		assert.NoError(t, server.Close())
		<-served
		transport.CloseIdleConnections()
	}
	t.Cleanup(kill)
	_, port, err := net.SplitHostPort(listener.Addr().String())
	require.NoError(t, err)
	return proxy{port: port, log: lines.text, kill: kill}
}
