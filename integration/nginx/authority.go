package nginx

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

// Authority is a certificate authority that exists for a test.
type Authority struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
}

// NewAuthority makes an authority of a name.
func NewAuthority(t testing.TB, name string) *Authority {
	t.Helper()
	template := &x509.Certificate{
		Subject: pkix.Name{CommonName: name}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der, key := sign(t, template, template, nil)
	certificate, err := x509.ParseCertificate(der)
	require.NoError(t, err)
	return &Authority{certificate: certificate, key: key}
}

// ForServer is what Issue makes a server's certificate of, for hosts, IP addresses among them.
func ForServer(hosts ...string) *x509.Certificate {
	template := &x509.Certificate{Subject: pkix.Name{CommonName: "proxy"}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}
	for _, host := range hosts {
		if ip := net.ParseIP(host); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, host)
		}
	}
	return template
}

// ForClient is what Issue makes a client's certificate of.
func ForClient() *x509.Certificate {
	return &x509.Certificate{Subject: pkix.Name{CommonName: "operator"}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}
}

// Issue makes a certificate of the authority's, with its key. It is valid from an hour ago for two hours where the template
// does not say otherwise.
func (a *Authority) Issue(t testing.TB, template *x509.Certificate) tls.Certificate {
	t.Helper()
	der, key := sign(t, template, a.certificate, a.key)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

// sign makes a certificate and its key, which signs it where no other key does.
func sign(t testing.TB, template, parent *x509.Certificate, by *ecdsa.PrivateKey) ([]byte, *ecdsa.PrivateKey) {
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

// Pool gives the pool that holds the authority alone.
func (a *Authority) Pool() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(a.certificate)
	return pool
}

// File gives a file of the authority's own certificate, which is there until the test ends.
func (a *Authority) File(t testing.TB) string {
	t.Helper()
	return writePEM(t, filepath.Join(t.TempDir(), "ca.crt"), "CERTIFICATE", a.certificate.Raw)
}

// Files are the files of a certificate and of its key.
type Files struct{ Certificate, Key string }

// Write writes a certificate and its key to files, which are there until the test ends.
func Write(t testing.TB, certificate tls.Certificate) Files {
	t.Helper()
	key, err := x509.MarshalPKCS8PrivateKey(certificate.PrivateKey)
	require.NoError(t, err)
	dir := t.TempDir()
	return Files{
		Certificate: writePEM(t, filepath.Join(dir, "certificate"), "CERTIFICATE", certificate.Certificate[0]),
		Key:         writePEM(t, filepath.Join(dir, "key"), "PRIVATE KEY", key),
	}
}

// writePEM gives the path again.
func writePEM(t testing.TB, path, kind string, der []byte) string {
	t.Helper()
	require.NoError(t, os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600))
	return path
}
