// Package backends holds the backends of this project to what every backend owes: fleettest.TestBackend walks the rules on
// the real client over a real cluster, on the real client over fleettest, and on DummyFleet (R39, R40).
package backends

import (
	"context"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/squadronctl/squadron/fleet"
	"github.com/squadronctl/squadron/fleet/fleettest"
	"github.com/squadronctl/squadron/integration/cluster"
)

var real *cluster.Cluster

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) (code int) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	var err error
	if real, err = cluster.Start(ctx, cluster.Config{}); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() {
		if err := real.Stop(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}()
	return m.Run()
}

// holds walks the rules on the client of an endpoint.
func holds(t *testing.T, endpoint url.URL, options fleettest.BackendOptions) {
	client, err := fleet.NewFleet(fleet.Config{Endpoint: endpoint})
	require.NoError(t, err)
	assert.NoError(t, fleettest.TestBackend(t.Context(), client, options))
	require.NoError(t, client.(io.Closer).Close())
}

// R28, R39: the client over a real fleetd, by both kinds of address.
func TestClientOnFleetd(t *testing.T) {
	for prefix, endpoint := range map[string]url.URL{"tcp-": real.Endpoint(), "unix-": real.Machines()[1].Socket()} {
		t.Run(prefix, func(t *testing.T) {
			t.Parallel()
			holds(t, endpoint, fleettest.BackendOptions{Prefix: prefix, Wait: 4 * time.Minute, Sleep: 200 * time.Millisecond})
		})
	}
}

// R39: the client over fleettest, by both kinds of address, on a cluster that takes no time and on one that takes some.
func TestClientOnFleettest(t *testing.T) {
	for name, timing := range map[string]fleettest.Timing{"instant": fleettest.Instant(), "fast": fleettest.Fast()} {
		for _, unix := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, unix %v", name, unix), func(t *testing.T) {
				t.Parallel()
				server := fleettest.NewUnstartedServer(fleettest.Config{Timing: timing})
				if unix {
					require.NoError(t, server.StartUnix(filepath.Join(t.TempDir(), "fleet.sock")))
				} else {
					require.NoError(t, server.Start())
				}
				defer server.Close()
				holds(t, server.Endpoint(), fleettest.BackendOptions{})
				assert.Empty(t, server.Cluster.Units())
			})
		}
	}
}

// R40.
func TestDummyFleet(t *testing.T) {
	t.Parallel()
	dummy := fleet.NewDummyFleet(fleet.DefaultDummyConfig())
	assert.NoError(t, fleettest.TestBackend(t.Context(), dummy, fleettest.BackendOptions{}))
	assert.Empty(t, dummy.Units)
}
