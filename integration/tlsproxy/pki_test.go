package tlsproxy_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// authority is a certificate authority that exists for a test.
type authority struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
}

func newAuthority(t *testing.T, name string) *authority {
	t.Helper()
	a := &authority{}
	template := &x509.Certificate{
		Subject: pkix.Name{CommonName: name}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der, key := sign(t, template, template, nil)
	var err error
	a.certificate, err = x509.ParseCertificate(der)
	require.NoError(t, err)
	a.key = key
	return a
}

// sign makes a certificate, valid from an hour ago for two hours where the template does not say otherwise.
func sign(t *testing.T, template, parent *x509.Certificate, by *ecdsa.PrivateKey) ([]byte, *ecdsa.PrivateKey) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	if by == nil {
		by = key
	}
	template.SerialNumber, err = rand.Int(rand.Reader, big.NewInt(1<<62))
	require.NoError(t, err)
	if template.NotAfter.IsZero() {
		template.NotBefore, template.NotAfter = time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, key.Public(), by)
	require.NoError(t, err)
	return der, key
}

func (a *authority) issue(t *testing.T, template *x509.Certificate) tls.Certificate {
	t.Helper()
	der, key := sign(t, template, a.certificate, a.key)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

// server gives a certificate for hosts, IP addresses among them.
func (a *authority) server(t *testing.T, change func(*x509.Certificate), hosts ...string) tls.Certificate {
	t.Helper()
	template := &x509.Certificate{Subject: pkix.Name{CommonName: "proxy"}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}
	for _, host := range hosts {
		if ip := net.ParseIP(host); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, host)
		}
	}
	change(template)
	return a.issue(t, template)
}

func (a *authority) client(t *testing.T, change func(*x509.Certificate)) tls.Certificate {
	t.Helper()
	template := &x509.Certificate{Subject: pkix.Name{CommonName: "operator"}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}
	change(template)
	return a.issue(t, template)
}

func asIs(*x509.Certificate) {}

func expired(c *x509.Certificate) {
	c.NotBefore, c.NotAfter = time.Now().Add(-48*time.Hour), time.Now().Add(-24*time.Hour)
}

func (a *authority) pool() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(a.certificate)
	return pool
}

func writePEM(t *testing.T, path, kind string, der []byte) {
	t.Helper()
	require.NoError(t, os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600))
}

// write writes the authority's certificate, and another one with its key, for nginx.
func (a *authority) write(t *testing.T, dir string, certificate tls.Certificate) {
	t.Helper()
	writePEM(t, filepath.Join(dir, "ca.crt"), "CERTIFICATE", a.certificate.Raw)
	writePEM(t, filepath.Join(dir, "server.crt"), "CERTIFICATE", certificate.Certificate[0])
	key, err := x509.MarshalPKCS8PrivateKey(certificate.PrivateKey)
	require.NoError(t, err)
	writePEM(t, filepath.Join(dir, "server.key"), "PRIVATE KEY", key)
}
