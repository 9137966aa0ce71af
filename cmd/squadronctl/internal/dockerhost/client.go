package dockerhost

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"

	"github.com/moby/moby/client"

	"github.com/squadronctl/squadron/fleet"
)

// Client makes a client of the engine, and what ends its connections. It does not connect yet. SSH says how to log in to the
// host of an ssh address; Endpoint and Tunnel of it do not count, and Username only where the address names no user. More are
// further options of the client.
func (h Host) Client(ssh fleet.SSHTunnelConfig, more ...client.Opt) (*client.Client, io.Closer, error) {
	var options []client.Opt
	var tunnel io.Closer
	switch h.URL.Scheme {
	case "ssh":
		transport, err := h.tunnel(ssh)
		if err != nil {
			return nil, nil, fmt.Errorf("%s: %w", h.Source, err)
		}
		tunnel, _ = transport.(io.Closer)
		// First the host, which messages and requests name, since it can't be set beside a foreign transport.
		options = append(options, client.WithHost("ssh://"+h.URL.Host), withTransport(transport))
	case "unix":
		options = append(options, client.WithHost("unix://"+h.URL.Path))
	default:
		if h.TLS != nil {
			options = append(options, withTransport(&http.Transport{TLSClientConfig: h.TLS.Clone()}))
		}
		options = append(options, client.WithHost(h.URL.String()))
	}
	if h.APIVersion != "" {
		options = append(options, client.WithAPIVersion(h.APIVersion))
	}
	made, err := client.New(append(options, more...)...)
	if err != nil {
		if tunnel != nil {
			err = errors.Join(err, tunnel.Close())
		}
		return nil, nil, fmt.Errorf("%s: %w", h.Source, err)
	}
	return made, closers{made, tunnel}, nil
}

func withTransport(transport http.RoundTripper) client.Opt {
	return client.WithHTTPClient(&http.Client{Transport: transport, CheckRedirect: client.CheckRedirect})
}

// tunnel makes the way to a socket on another host.
func (h Host) tunnel(ssh fleet.SSHTunnelConfig) (fleet.SSHTunnel, error) {
	ssh.Endpoint = url.URL{Scheme: "unix", Path: h.URL.Path}
	ssh.Tunnel = h.URL.Host
	if h.URL.User != nil {
		ssh.Username = h.URL.User.Username()
	}
	return fleet.NewSSHTunnel(ssh)
}

// closers are closed together; the second may be nil.
type closers [2]io.Closer

// Close closes both.
func (c closers) Close() error {
	err := c[0].Close()
	if c[1] != nil {
		err = errors.Join(err, c[1].Close())
	}
	return err
}
