package dockerhost

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
)

func newTLS() *tls.Config { return &tls.Config{MinVersion: tls.VersionTLS12} }

// certificates reads ca.pem, cert.pem and key.pem of a directory; nil where there are none. With a ca.pem no other authority
// counts.
func (f files) certificates(directory string) (*tls.Config, error) {
	if directory == "" {
		return nil, nil
	}
	texts := map[string][]byte{}
	for _, name := range []string{"ca.pem", "cert.pem", "key.pem"} {
		text, err := f.read(filepath.Join(directory, name))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("read the certificates: %w", err)
		}
		texts[name] = text
	}
	if len(texts) == 0 {
		return nil, nil
	}
	config := newTLS()
	if ca, there := texts["ca.pem"]; there {
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(ca) {
			return nil, fmt.Errorf("%s: there is no certificate in it", filepath.Join(directory, "ca.pem"))
		}
	}
	cert, hasCert := texts["cert.pem"]
	key, hasKey := texts["key.pem"]
	if hasCert != hasKey {
		return nil, fmt.Errorf("%s: cert.pem and key.pem go together", directory)
	}
	if hasCert {
		pair, err := tls.X509KeyPair(cert, key)
		if err != nil {
			return nil, fmt.Errorf("%s: cert.pem and key.pem: %w", directory, err)
		}
		config.Certificates = []tls.Certificate{pair}
	}
	return config, nil
}
