package controller_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net/http"
	"net/url"

	"github.com/squadronctl/squadron/controller"
	"github.com/squadronctl/squadron/fleet"
	"github.com/squadronctl/squadron/task"
)

// A controller of the fleet whose socket is on this host: the default, spelled out.
func Example_unixSocket() {
	client, err := fleet.NewFleet(fleet.Config{Endpoint: url.URL{Scheme: "unix", Path: "/var/run/fleet.sock"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	_ = controller.NewController(controller.Config{Fleet: client, TaskService: task.NewTaskService(task.DefaultConfig())})
}

// clientWithCertificate makes a client that shows a certificate of its own, and trusts some CAs only.
func clientWithCertificate(certificate tls.Certificate, cas *x509.CertPool) (fleet.Fleet, error) {
	transport := &http.Transport{
		TLSClientConfig: &tls.Config{Certificates: []tls.Certificate{certificate}, RootCAs: cas},
	}
	return fleet.NewFleet(fleet.Config{
		Endpoint: url.URL{Scheme: "https", Host: "fleet.example.com:49153"},
		Client:   &http.Client{Transport: transport},
	})
}

// Certificates are those of crypto/tls: tls.LoadX509KeyPair reads one from files.
func Example_clientCertificate() {
	_, err := clientWithCertificate(tls.Certificate{}, x509.NewCertPool())
	fmt.Println(err)
	// Output:
	// <nil>
}

// A client that reaches a machine's fleet socket by SSH. Keys come from the agent at SSH_AUTH_SOCK, and the host's key
// has to stand in ~/.fleetctl/known_hosts.
func Example_sshTunnel() {
	config := fleet.DefaultSSHTunnelConfig()
	config.Tunnel = "bastion.example.com"
	config.Username = "core"
	tunnel, err := fleet.NewSSHTunnel(config)
	if err != nil {
		fmt.Println(err)
		return
	}
	fleetConfig := fleet.DefaultConfig()
	fleetConfig.SSHTunnel = tunnel
	client, err := fleet.NewFleet(fleetConfig)
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = client.GetStatus(context.Background(), "web-app@1.service")
	fmt.Println(err)
}
