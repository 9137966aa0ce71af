// Package nginx starts Debian's nginx on this machine for tests: before a unix socket, on a loopback port of its own, with
// TLS. It lets in who has a certificate of an authority's; the authority (Authority) is made for the test as well.
//
// It needs root, as the sockets behind it do, and the Debian package nginx-light. What fails ends the test. All ends with the
// test, and nginx when the program dies that started it.
package nginx

import (
	"crypto/tls"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/squadronctl/squadron/integration/port"
)

const program = "/usr/sbin/nginx"

// startTimeout is how long nginx may take until it listens; it takes milliseconds where the machine has time for it.
const startTimeout = time.Minute

// Server is an nginx that Start has started.
type Server struct {
	// Port is where it listens, on 127.0.0.1.
	Port string

	dir string
	cmd *exec.Cmd
}

// configuration is nginx's, for a directory, a port, a socket, the files of a certificate, and an authority's.
const configuration = `daemon off; user root; worker_processes 1; pid %[1]s/pid; error_log %[1]s/error.log info;
events {}
http {
	log_format short '$server_protocol $status';
	access_log %[1]s/access.log short;
	client_body_temp_path %[1]s/body; proxy_temp_path %[1]s/proxy; fastcgi_temp_path %[1]s/fastcgi;
	uwsgi_temp_path %[1]s/uwsgi; scgi_temp_path %[1]s/scgi;
	upstream fleet { server unix:%[3]s; keepalive 16; }
	server {
		listen 127.0.0.1:%[2]s ssl http2;
		ssl_certificate %[4]s; ssl_certificate_key %[5]s;
		ssl_client_certificate %[6]s; ssl_verify_client on;
		location / {
			proxy_pass http://fleet; proxy_http_version 1.1;
			proxy_set_header Connection ""; proxy_set_header Host $http_host;
		}
	}
}
`

// Start starts nginx with a certificate and returns when it listens. It answers also to those who show no certificate of the
// authority's or a wrong one: with a 400. Its log of errors is shown when the test has failed.
func Start(t testing.TB, ca *Authority, certificate tls.Certificate, socket string) *Server {
	t.Helper()
	require.FileExists(t, program, "install the Debian package nginx-light")
	free, err := port.Free()
	require.NoError(t, err)
	s := &Server{Port: free, dir: t.TempDir()}
	files := Write(t, certificate)
	config := fmt.Sprintf(configuration, s.dir, s.Port, socket, files.Certificate, files.Key, ca.File(t))
	require.NoError(t, os.WriteFile(s.path("nginx.conf"), []byte(config), 0o600))
	s.cmd = exec.Command(program, "-c", s.path("nginx.conf"), "-e", s.path("error.log"))
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM, Setpgid: true}
	require.NoError(t, s.cmd.Start())
	t.Cleanup(func() {
		if text, err := os.ReadFile(s.path("error.log")); err == nil && t.Failed() {
			t.Logf("the end of nginx's error.log:\n%s", text[max(0, len(text)-4000):])
		}
		s.Kill()
	})
	require.Eventually(t, s.listens, startTimeout, 10*time.Millisecond, "nginx does not listen")
	return s
}

func (s *Server) path(name string) string { return filepath.Join(s.dir, name) }

func (s *Server) listens() bool {
	connection, err := net.Dial("tcp", net.JoinHostPort("127.0.0.1", s.Port))
	if err == nil {
		connection.Close()
	}
	return err == nil
}

// Log gives a line for each request so far: its protocol and the answer's status.
func (s *Server) Log(t testing.TB) string {
	t.Helper()
	text, err := os.ReadFile(s.path("access.log"))
	require.NoError(t, err)
	return string(text)
}

// Kill ends nginx as it stands, though its worker, which dies by itself, may hold the port for a moment more. It may be called
// more than once, but not side by side.
func (s *Server) Kill() {
	if s.cmd.ProcessState == nil {
		_ = syscall.Kill(-s.cmd.Process.Pid, syscall.SIGKILL) // the worker as well
		_ = s.cmd.Wait()
	}
}
