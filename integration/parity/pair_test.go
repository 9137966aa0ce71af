package parity

import (
	"encoding/json"
	"net"
	"net/http"
	"net/url"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/squadronctl/squadron/fleet"
	"github.com/squadronctl/squadron/fleet/fleettest"
	"github.com/squadronctl/squadron/integration/cluster"
)

// requestLimit is how long one request may take on a busy machine.
const requestLimit = 30 * time.Second

// pair is a real cluster and a double with the same machines, by their endpoints.
type pair struct {
	real, double string
	etcd         string
}

// pairUp makes a double beside a real cluster. It takes no time, so that it has nothing to say that the real one has not
// come to yet.
func pairUp(t *testing.T, c *cluster.Cluster) pair {
	etcd, endpoint := c.Etcd(), c.Endpoint()
	server := fleettest.NewServer(fleettest.Config{Machines: machinesOf(t, endpoint.String())})
	t.Cleanup(server.Close)
	return pair{real: endpoint.String(), double: server.URL, etcd: etcd.String()}
}

// machinesOf reads a real cluster's machines.
func machinesOf(t *testing.T, endpoint string) []fleet.Machine {
	var page struct {
		Machines []struct {
			ID, PrimaryIP string
			Metadata      map[string]string
		}
	}
	answer := send(endpoint, getCall("/machines"))
	require.NoError(t, json.Unmarshal([]byte(answer.body), &page), answer)
	var machines []fleet.Machine
	for _, m := range page.Machines {
		machines = append(machines, fleet.Machine{ID: m.ID, IP: net.ParseIP(m.PrimaryIP), Metadata: m.Metadata})
	}
	return machines
}

// forget takes units out of the real cluster's registry that it can't take out itself.
func (p pair) forget(t require.TestingT, names ...string) {
	for _, name := range names {
		target := p.etcd + "/v2/keys/_coreos.com/fleet/job/" + url.PathEscape(name) + "?recursive=true"
		request, err := http.NewRequest(http.MethodDelete, target, nil)
		require.NoError(t, err)
		response, err := caller.Do(request)
		require.NoError(t, err)
		require.NoError(t, response.Body.Close())
	}
}
