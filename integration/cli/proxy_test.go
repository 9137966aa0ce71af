package cli_test

import (
	"testing"

	"github.com/squadronctl/squadron/integration/nginx"
)

// proxy is an nginx before machine 2, and the files by which to get through.
type proxy struct {
	url, ca string // ca is the file of the authority's certificate
	client  nginx.Files
}

func startProxy(t *testing.T) *proxy {
	t.Helper()
	site.Start(t)
	ours := nginx.NewAuthority(t, "ours")
	server := nginx.Start(t, ours, ours.Issue(t, nginx.ForServer("127.0.0.1")), site.Cluster.Machines()[1].Socket().Path)
	return &proxy{url: "https://127.0.0.1:" + server.Port, ca: ours.File(t), client: clientOf(t, ours)}
}

// clientOf gives the files of a client's certificate of an authority's.
func clientOf(t *testing.T, ca *nginx.Authority) nginx.Files {
	t.Helper()
	return nginx.Write(t, ca.Issue(t, nginx.ForClient()))
}

func (p *proxy) way() way {
	return way{flags: []string{"--fleet-endpoint", p.url, "--ca-file", p.ca, "--cert-file", p.client.Certificate, "--key-file", p.client.Key}}
}
