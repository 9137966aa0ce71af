package fleet_test

import (
	"context"
	"fmt"
	"net/http"
	"net/url"

	"github.com/squadronctl/squadron/fleet"
)

const exampleContent = `[Unit]
Description=Example

[Service]
ExecStart=/bin/sleep 1000
`

// The dummy keeps the same contract as the client of a real cluster, in memory.
func ExampleNewDummyFleet() {
	var backend fleet.Fleet = fleet.NewDummyFleet(fleet.DefaultDummyConfig())
	ctx := context.Background()
	if err := backend.Submit(ctx, "web@1.service", exampleContent); err != nil {
		fmt.Println(err)
		return
	}
	if err := backend.Start(ctx, "web@1.service"); err != nil {
		fmt.Println(err)
		return
	}
	status, err := backend.GetStatus(ctx, "web@1.service")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(status.Name, status.SliceID, status.Current, status.Machine[0].SystemdActive)
	_, err = backend.GetStatus(ctx, "web@2.service")
	fmt.Println(fleet.IsUnitNotFound(err), err)
	// Output:
	// web@1.service 1 launched active
	// true get status of web@2.service: unit not found
}

// An endpoint is a URL; what can't be one is said at once.
func ExampleNewFleet() {
	config := fleet.DefaultConfig()
	config.Endpoint = url.URL{Scheme: "unix", Host: "var", Path: "/run/fleet.sock"}
	_, err := fleet.NewFleet(config)
	fmt.Println(fleet.IsInvalidEndpoint(err))
	fmt.Println(err)

	config.Endpoint = url.URL{Scheme: "https", Host: "fleet.example:49153"}
	config.Client = &http.Client{Transport: noCluster{}}
	client, err := fleet.NewFleet(config)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(client.Start(context.Background(), "web@1.service"))
	// Output:
	// true
	// new fleet client: endpoint "unix://var/run/fleet.sock": has the host "var" where a path was meant: write unix:///path
	// start web@1.service: PUT /fleet/v1/units/web@1.service: there is no cluster in an example
}

type noCluster struct{}

func (noCluster) RoundTrip(*http.Request) (*http.Response, error) {
	return nil, fmt.Errorf("there is no cluster in an example")
}

// The hash leaves out comments and blank lines, as fleet does.
func ExampleUnitHash() {
	hash, err := fleet.UnitHash("# Why it is there.\n" + exampleContent)
	fmt.Println(hash, err)
	// Output: 2c0fd36958006b26a50d8326808627434f7c3e72 <nil>
}

// A tunnel is checked as far as that goes without connecting, which the first request does.
func ExampleNewSSHTunnel() {
	config := fleet.DefaultSSHTunnelConfig()
	fmt.Println(config.Username, config.KnownHostsFile, config.MaxChannels, config.StrictHostKeyChecking)
	tunnel, err := fleet.NewSSHTunnel(config)
	fmt.Println(tunnel.IsActive(), err)

	config.Tunnel = "core@bastion.example.com"
	_, err = fleet.NewSSHTunnel(config)
	fmt.Println(fleet.IsInvalidEndpoint(err))
	fmt.Println(err)
	// Output:
	// core ~/.fleetctl/known_hosts 10 true
	// false <nil>
	// true
	// new SSH tunnel to "core@bastion.example.com": host "core@bastion.example.com" is neither a host's name nor an address
}
