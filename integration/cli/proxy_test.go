package cli_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	mathrand "math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// proxy is an nginx before machine 2, and the files by which to get through.
type proxy struct {
	url, ca string // ca is the file of the authority's certificate
	client  pair
}

// pair is the files of a certificate and of its key.
type pair struct{ certificate, key string }

func startProxy(t *testing.T) *proxy {
	t.Helper()
	site.Start(t)
	const program = "/usr/sbin/nginx"
	require.FileExists(t, program, "install the Debian package nginx-light")
	ours := newAuthority(t)
	server := ours.issue(t, x509.ExtKeyUsageServerAuth)
	dir, port := t.TempDir(), freePort(t)
	config := fmt.Sprintf(`daemon off; user root; worker_processes 1; pid %[1]s/pid; error_log %[1]s/error.log info;
events {}
http {
	access_log off;
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
`, dir, port, site.Cluster.Machines()[1].Socket().Path, server.certificate, server.key, ours.file)
	nginx := exec.Command(program, "-c", writeFile(t, dir, "nginx.conf", config), "-e", filepath.Join(dir, "error.log"))
	nginx.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM, Setpgid: true}
	require.NoError(t, nginx.Start())
	t.Cleanup(func() {
		if text, err := os.ReadFile(filepath.Join(dir, "error.log")); err == nil && t.Failed() {
			t.Logf("the end of nginx's error.log:\n%s", text[max(0, len(text)-4000):])
		}
		_ = syscall.Kill(-nginx.Process.Pid, syscall.SIGKILL) // the worker as well
		_ = nginx.Wait()
	})
	address := "127.0.0.1:" + port
	require.Eventually(t, func() bool {
		connection, err := net.Dial("tcp", address)
		if err == nil {
			connection.Close()
		}
		return err == nil
	}, patience, 10*time.Millisecond)
	return &proxy{url: "https://" + address, ca: ours.file, client: ours.issue(t, x509.ExtKeyUsageClientAuth)}
}

func (p *proxy) way() way {
	return way{flags: []string{"--fleet-endpoint", p.url, "--ca-file", p.ca, "--cert-file", p.client.certificate, "--key-file", p.client.key}}
}

func freePort(t *testing.T) string {
	t.Helper()
	for range 100 {
		// Below the ports that the kernel gives out, so that no listener of another test gets it before it is used.
		port := strconv.Itoa(30000 + mathrand.IntN(2768))
		if listener, err := net.Listen("tcp", "127.0.0.1:"+port); err == nil {
			require.NoError(t, listener.Close())
			return port
		}
	}
	require.Fail(t, "no port is free")
	return ""
}

// authority is a certificate authority that exists for a test.
type authority struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
	file        string // of the certificate
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	a := &authority{}
	template := &x509.Certificate{Subject: pkix.Name{CommonName: "authority"}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}
	der, key := a.sign(t, template)
	var err error
	a.certificate, err = x509.ParseCertificate(der)
	require.NoError(t, err)
	a.key = key
	a.file = writePEM(t, t.TempDir(), "ca.crt", "CERTIFICATE", der)
	return a
}

// issue gives a certificate for 127.0.0.1 of one usage.
func (a *authority) issue(t *testing.T, usage x509.ExtKeyUsage) pair {
	t.Helper()
	der, key := a.sign(t, &x509.Certificate{Subject: pkix.Name{CommonName: "test"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		ExtKeyUsage: []x509.ExtKeyUsage{usage}})
	text, err := x509.MarshalPKCS8PrivateKey(key)
	require.NoError(t, err)
	dir := t.TempDir()
	return pair{writePEM(t, dir, "certificate", "CERTIFICATE", der), writePEM(t, dir, "key", "PRIVATE KEY", text)}
}

// sign makes a certificate and its key. An authority that has none yet signs its own.
func (a *authority) sign(t *testing.T, template *x509.Certificate) ([]byte, *ecdsa.PrivateKey) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template.SerialNumber, err = rand.Int(rand.Reader, big.NewInt(1<<62))
	require.NoError(t, err)
	template.NotBefore, template.NotAfter = time.Now().Add(-time.Hour), time.Now().Add(2*time.Hour)
	parent, by := a.certificate, a.key
	if parent == nil {
		parent, by = template, key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, key.Public(), by)
	require.NoError(t, err)
	return der, key
}

func writePEM(t *testing.T, dir, name, kind string, der []byte) string {
	t.Helper()
	return writeFile(t, dir, name, string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})))
}
