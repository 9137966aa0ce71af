package tlsproxy_test

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// patience is how long a test waits for what has to come; where all is well it comes in moments.
const patience = time.Minute

// proxy is something that speaks TLS, wants a client certificate of the authority's, and passes requests on to a socket.
type proxy struct {
	port string
	log  func() string // a line for each request: protocol and status
	kill func()        // ends it as it stands
}

// startNginx starts nginx, which answers also to those who show no certificate or a wrong one: with a 400.
func startNginx(t *testing.T, ca *authority, certificate tls.Certificate, socket string) proxy {
	t.Helper()
	const program = "/usr/sbin/nginx"
	require.FileExists(t, program, "install the Debian package nginx-light")
	dir, port := t.TempDir(), freePort(t)
	ca.write(t, dir, certificate)
	config := fmt.Sprintf(`daemon off; user root; worker_processes 1; pid %[1]s/pid; error_log %[1]s/error.log info;
events {}
http {
	log_format short '$server_protocol $status';
	access_log %[1]s/access.log short;
	client_body_temp_path %[1]s/body; proxy_temp_path %[1]s/proxy; fastcgi_temp_path %[1]s/fastcgi;
	uwsgi_temp_path %[1]s/uwsgi; scgi_temp_path %[1]s/scgi;
	upstream fleet { server unix:%[3]s; keepalive 16; }
	server {
		listen 127.0.0.1:%[2]s ssl http2;
		ssl_certificate %[1]s/server.crt; ssl_certificate_key %[1]s/server.key;
		ssl_client_certificate %[1]s/ca.crt; ssl_verify_client on;
		location / {
			proxy_pass http://fleet; proxy_http_version 1.1;
			proxy_set_header Connection ""; proxy_set_header Host $http_host;
		}
	}
}
`, dir, port, socket)
	file := filepath.Join(dir, "nginx.conf")
	require.NoError(t, os.WriteFile(file, []byte(config), 0o600))
	nginx := exec.Command(program, "-c", file, "-e", filepath.Join(dir, "error.log"))
	nginx.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM, Setpgid: true}
	require.NoError(t, nginx.Start())
	kill := func() {
		if nginx.ProcessState == nil {
			_ = syscall.Kill(-nginx.Process.Pid, syscall.SIGKILL) // the worker as well
			_ = nginx.Wait()
		}
	}
	t.Cleanup(func() {
		if text, err := os.ReadFile(filepath.Join(dir, "error.log")); err == nil && t.Failed() {
			t.Logf("nginx's error.log:\n%s", text)
		}
		kill()
	})
	waitFor(t, port)
	read := func() string {
		text, err := os.ReadFile(filepath.Join(dir, "access.log"))
		require.NoError(t, err)
		return string(text)
	}
	return proxy{port: port, log: read, kill: kill}
}

// startGo starts a server of Go's own, which lets nobody in without a certificate of the authority's.
func startGo(t *testing.T, ca *authority, certificate tls.Certificate, socket string) proxy {
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
		TLSConfig: &tls.Config{Certificates: []tls.Certificate{certificate}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: ca.pool()},
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

func freePort(t *testing.T) string {
	t.Helper()
	for range 100 {
		// Below the ports that the kernel gives out, so that no listener of another test gets it before it is used.
		port := strconv.Itoa(30000 + rand.IntN(2768))
		if listener, err := net.Listen("tcp", "127.0.0.1:"+port); err == nil {
			require.NoError(t, listener.Close())
			return port
		}
	}
	require.Fail(t, "no port is free")
	return ""
}

func waitFor(t *testing.T, port string) {
	t.Helper()
	require.Eventually(t, func() bool {
		connection, err := net.Dial("tcp", "127.0.0.1:"+port)
		if err == nil {
			connection.Close()
		}
		return err == nil
	}, patience, 10*time.Millisecond)
}
