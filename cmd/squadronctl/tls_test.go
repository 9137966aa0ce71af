package main

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/squadronctl/squadron/fleet/fleettest"
)

// TestTLS reaches a cluster that is known by its CA, and that wants a client certificate.
func TestTLS(t *testing.T) {
	server := httptest.NewUnstartedServer(fleettest.NewCluster(fleettest.Config{}))
	server.TLS = &tls.Config{ClientAuth: tls.RequireAnyClientCert}
	server.StartTLS()
	defer server.Close()
	key, err := x509.MarshalPKCS8PrivateKey(server.TLS.Certificates[0].PrivateKey)
	require.NoError(t, err)
	certificate := write(t, "cert.pem", pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}))
	keyFile := write(t, "key.pem", pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key}))
	env := []string{"FLEETCTL_ENDPOINT=" + server.URL, "SQUADRON_TIMEOUT=30s"}

	code, out, errs := runHere(append(env, "FLEETCTL_CA_FILE="+certificate, "FLEETCTL_CERT_FILE="+certificate, "FLEETCTL_KEY_FILE="+keyFile), "machines", "-o", "name")
	assert.Equal(t, exitDone, code, errs)
	assert.Len(t, out, 3*33)
	code, _, errs = runHere(env, "machines", "--ca-file", certificate)
	assert.Equal(t, exitFailed, code, errs)
	code, _, errs = runHere(env, "machines")
	assert.Equal(t, exitFailed, code)
	assert.Regexp(t, `^squadronctl: [^\n]*certificate[^\n]*\n$`, errs)
}
