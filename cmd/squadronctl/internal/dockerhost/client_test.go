package dockerhost

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/moby/moby/client"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/squadronctl/squadron/fleet"
)

// anyLogin checks no host key, for hosts that nobody connects to.
var anyLogin = fleet.SSHTunnelConfig{StrictHostKeyChecking: false}

// engine answers as far as telling its ID.
func engine() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/_ping", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Api-Version", "1.41")
		_, _ = io.WriteString(w, "OK")
	})
	mux.HandleFunc("/{version}/info", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"ID": "engine", "Name": "`+r.PathValue("version")+`"}`)
	})
	return mux
}

// ask resolves a host, and asks it which version of the API it was spoken to in.
func ask(t *testing.T, env map[string]string, login fleet.SSHTunnelConfig) (string, error) {
	t.Helper()
	host, err := Resolve(env, os.ReadFile)
	require.NoError(t, err)
	made, closer, err := host.Client(login)
	require.NoError(t, err)
	defer func() { require.NoError(t, closer.Close()) }()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	info, err := made.Info(ctx, client.InfoOptions{})
	return info.Info.Name, err
}

// serveUnix has the engine listen at a socket.
func serveUnix(t *testing.T) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "docker.sock")
	listener, err := net.Listen("unix", path)
	require.NoError(t, err)
	server := &httptest.Server{Listener: listener, Config: &http.Server{Handler: engine()}}
	server.Start()
	t.Cleanup(server.Close)
	return path
}

func TestUnix(t *testing.T) {
	path := serveUnix(t)
	version, err := ask(t, map[string]string{"DOCKER_HOST": "unix://" + path, "DOCKER_TLS_VERIFY": "1"}, anyLogin)
	require.NoError(t, err)
	assert.Equal(t, "v1.41", version)
	version, err = ask(t, map[string]string{"DOCKER_HOST": "unix://" + path, "DOCKER_API_VERSION": "v1.40"}, anyLogin)
	require.NoError(t, err)
	assert.Equal(t, "v1.40", version)
	_, err = ask(t, map[string]string{"DOCKER_HOST": "unix://" + path + ".gone"}, anyLogin)
	assert.ErrorContains(t, err, path+".gone")
	assert.True(t, client.IsErrConnectionFailed(err))
}

func TestPlain(t *testing.T) {
	server := httptest.NewServer(engine())
	defer server.Close()
	version, err := ask(t, map[string]string{"DOCKER_HOST": server.Listener.Addr().String()}, anyLogin)
	require.NoError(t, err)
	assert.Equal(t, "v1.41", version)
}

// authority signs certificates.
type authority struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
}

func newAuthority(t *testing.T) authority {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	raw, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	require.NoError(t, err)
	certificate, err := x509.ParseCertificate(raw)
	require.NoError(t, err)
	return authority{certificate: certificate, key: key}
}

// sign gives a certificate and its key, as PEM.
func (a authority) sign(t *testing.T, usage x509.ExtKeyUsage) (certificate, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(2), NotAfter: time.Now().Add(time.Hour), ExtKeyUsage: []x509.ExtKeyUsage{usage}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	raw, err := x509.CreateCertificate(rand.Reader, template, a.certificate, private.Public(), a.key)
	require.NoError(t, err)
	encoded, err := x509.MarshalPKCS8PrivateKey(private)
	require.NoError(t, err)
	return asPEM("CERTIFICATE", raw), asPEM("PRIVATE KEY", encoded)
}

func asPEM(kind string, raw []byte) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: raw}))
}

// serveTLS has the engine listen for clients with a certificate of the authority's.
func serveTLS(t *testing.T, a authority) (address string) {
	t.Helper()
	certificate, key := a.sign(t, x509.ExtKeyUsageServerAuth)
	pair, err := tls.X509KeyPair([]byte(certificate), []byte(key))
	require.NoError(t, err)
	server := httptest.NewUnstartedServer(engine())
	server.TLS = &tls.Config{Certificates: []tls.Certificate{pair}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: x509.NewCertPool()}
	server.TLS.ClientCAs.AddCert(a.certificate)
	server.Config.ErrorLog = log.New(io.Discard, "", 0) // clients are refused
	server.StartTLS()
	t.Cleanup(server.Close)
	return server.Listener.Addr().String()
}

// TestTLS speaks to an engine that is known by its authority and wants a certificate, by variables and by a context.
func TestTLS(t *testing.T) {
	a, other := newAuthority(t), newAuthority(t)
	address := serveTLS(t, a)
	certificate, key := a.sign(t, x509.ExtKeyUsageClientAuth)
	mine := map[string]string{"ca.pem": asPEM("CERTIFICATE", a.certificate.Raw), "cert.pem": certificate, "key.pem": key}
	foreign := map[string]string{"ca.pem": asPEM("CERTIFICATE", other.certificate.Raw), "cert.pem": certificate, "key.pem": key}

	variables := func(files map[string]string) map[string]string {
		dir := t.TempDir()
		put(t, dir, files)
		return map[string]string{"DOCKER_HOST": "tcp://" + address, "DOCKER_TLS_VERIFY": "1", "DOCKER_CERT_PATH": dir}
	}
	version, err := ask(t, variables(mine), anyLogin)
	require.NoError(t, err)
	assert.Equal(t, "v1.41", version)
	_, err = ask(t, variables(foreign), anyLogin)
	assert.ErrorContains(t, err, "unknown authority")
	_, err = ask(t, variables(map[string]string{"ca.pem": mine["ca.pem"]}), anyLogin)
	assert.ErrorContains(t, err, "certificate")

	inContext := func(files map[string]string, skip string) map[string]string {
		dir := t.TempDir()
		for name, text := range files {
			put(t, dir, map[string]string{"contexts/tls/" + id("prod") + "/docker/" + name: text})
		}
		put(t, dir, map[string]string{
			"config.json": `{"currentContext": "prod"}`,
			"contexts/meta/" + id("prod") + "/meta.json": `{"Name":"prod","Endpoints":{"docker":{"Host":"tcp://` + address + `","SkipTLSVerify":` + skip + `}}}`,
		})
		return map[string]string{"DOCKER_CONFIG": dir}
	}
	_, err = ask(t, inContext(mine, "false"), anyLogin)
	require.NoError(t, err)
	_, err = ask(t, inContext(foreign, "false"), anyLogin)
	assert.ErrorContains(t, err, "unknown authority")
	_, err = ask(t, inContext(foreign, "true"), anyLogin)
	require.NoError(t, err, "the context asks for no check")

	host, err := Resolve(inContext(mine, "false"), os.ReadFile)
	require.NoError(t, err)
	only := x509.NewCertPool()
	only.AddCert(a.certificate)
	assert.True(t, only.Equal(host.TLS.RootCAs), "no other authority counts")

	// Without files, a context may still ask for TLS.
	host, err = Resolve(inContext(nil, "true"), os.ReadFile)
	require.NoError(t, err)
	require.NotNil(t, host.TLS)
	host, err = Resolve(inContext(nil, "false"), os.ReadFile)
	require.NoError(t, err)
	assert.Nil(t, host.TLS)
}
