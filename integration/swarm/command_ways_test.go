package swarm

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/squadronctl/squadron/integration/sshd"
)

// context has docker's own command write a context, and gives the command that uses it.
func (c command) context(t *testing.T, name, endpoint string) command {
	t.Helper()
	create := exec.CommandContext(t.Context(), debianDocker, "context", "create", name, "--docker", endpoint)
	create.Env = c.env
	text, err := create.CombinedOutput()
	require.NoError(t, err, string(text))
	c.t = t
	return c.with("DOCKER_CONTEXT=" + name)
}

// overSSH finds nothing to be done, through a server of OpenSSH's.
func (c command) overSSH(t *testing.T, diff []string) {
	server, err := sshd.Start(t.Context(), sshd.Config{})
	require.NoError(t, err)
	defer func() { assert.NoError(t, server.Stop()) }()
	socket := filepath.Join(server.Dir, "docker.sock")
	listener, err := net.Listen("unix", socket)
	require.NoError(t, err)
	require.NoError(t, os.Chmod(socket, 0o777)) // the user is no member of any group
	defer forward(listener)()
	dir := t.TempDir()
	key, err := sshd.NewKey(filepath.Join(dir, "id"))
	require.NoError(t, err)
	require.NoError(t, server.Authorize(key, ""))
	known, err := server.KnownHosts()
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "known_hosts"), []byte(known), 0o600))

	c.t = t
	// A context of this version of docker's can't name the socket.
	far := c.with("DOCKER_HOST=ssh://" + sshd.User + "@" + server.Address + socket)
	out, _ := far.run(0, append(diff, "--ssh-identity", key.File, "--ssh-known-hosts-file", filepath.Join(dir, "known_hosts"))...)
	assert.Empty(t, out)
	_, errs := far.run(2, append(diff, "--ssh-identity", key.File)...)
	assert.Contains(t, errs, "DOCKER_HOST: ")
}

// overTLS finds nothing to be done, where the engine wants a certificate.
func (c command) overTLS(t *testing.T, diff []string) {
	dir := t.TempDir()
	config := certificates(t, dir)
	listener, err := tls.Listen("tcp", "127.0.0.1:0", config)
	require.NoError(t, err)
	defer forward(listener)()
	in := func(name string) string { return filepath.Join(dir, name) }
	address := "host=tcp://" + listener.Addr().String()

	secure := c.context(t, "secure", address+",ca="+in("ca.pem")+",cert="+in("cert.pem")+",key="+in("key.pem"))
	out, _ := secure.run(0, diff...)
	assert.Empty(t, out)
	_, errs := c.context(t, "anonymous", address+",ca="+in("ca.pem")).run(1, diff...)
	assert.Contains(t, errs, "certificate")
	c.t = t
	out, _ = c.with("DOCKER_HOST=tcp://"+listener.Addr().String(), "DOCKER_TLS_VERIFY=1", "DOCKER_CERT_PATH="+dir).run(0, diff...)
	assert.Empty(t, out)
}

// forward takes connections to the manager's socket, until stop is called.
func forward(listener net.Listener) (stop func()) {
	var group sync.WaitGroup
	var mutex sync.Mutex
	var open []net.Conn
	keep := func(conn net.Conn) {
		mutex.Lock()
		defer mutex.Unlock()
		open = append(open, conn)
	}
	group.Go(func() {
		for {
			from, err := listener.Accept()
			if err != nil {
				return
			}
			keep(from)
			to, err := net.Dial("unix", real.Manager().Socket())
			if err != nil {
				from.Close()
				continue
			}
			keep(to)
			for _, pair := range [][2]net.Conn{{from, to}, {to, from}} {
				group.Go(func() {
					_, _ = io.Copy(pair[0], pair[1])
					pair[0].Close()
				})
			}
		}
	})
	return func() {
		listener.Close()
		mutex.Lock()
		for _, conn := range open {
			conn.Close()
		}
		mutex.Unlock()
		group.Wait()
	}
}

// certificates makes an authority, and certificates of it for a server, which it gives, and for a client: ca.pem, cert.pem, key.pem.
func certificates(t *testing.T, dir string) *tls.Config {
	t.Helper()
	authority := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	raw, err := x509.CreateCertificate(rand.Reader, authority, authority, key.Public(), key)
	require.NoError(t, err)
	authority, err = x509.ParseCertificate(raw)
	require.NoError(t, err)
	sign := func(usage x509.ExtKeyUsage) (certificate, private []byte) {
		mine, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		require.NoError(t, err)
		template := &x509.Certificate{
			SerialNumber: big.NewInt(2), NotAfter: time.Now().Add(time.Hour), ExtKeyUsage: []x509.ExtKeyUsage{usage}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		}
		made, err := x509.CreateCertificate(rand.Reader, template, authority, mine.Public(), key)
		require.NoError(t, err)
		encoded, err := x509.MarshalPKCS8PrivateKey(mine)
		require.NoError(t, err)
		return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: made}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: encoded})
	}
	certificate, private := sign(x509.ExtKeyUsageClientAuth)
	for name, text := range map[string][]byte{
		"ca.pem": pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: raw}), "cert.pem": certificate, "key.pem": private,
	} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), text, 0o600))
	}
	pair, err := tls.X509KeyPair(sign(x509.ExtKeyUsageServerAuth))
	require.NoError(t, err)
	config := &tls.Config{Certificates: []tls.Certificate{pair}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: x509.NewCertPool()}
	config.ClientCAs.AddCert(authority)
	return config
}
