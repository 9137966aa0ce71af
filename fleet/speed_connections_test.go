package fleet_test

import (
	"context"
	"net"
	"net/http"
	"net/url"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/squadronctl/squadron/fleet"
	"github.com/squadronctl/squadron/fleet/fleettest"
)

// countingListener counts the connections that were opened.
type countingListener struct {
	net.Listener
	opened atomic.Int64
}

func (l *countingListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err == nil {
		l.opened.Add(1)
	}
	return conn, err
}

// serveAtOnce serves a cluster that answers its first requests only when so many are there, so that all their connections
// are open before any of them can be used again.
func serveAtOnce(t *testing.T, network, address string, atOnce int) (*countingListener, *fleettest.Cluster) {
	t.Helper()
	plain, err := net.Listen(network, address)
	require.NoError(t, err)
	listener := &countingListener{Listener: plain}
	cluster := fleettest.NewCluster(fleettest.Config{})
	var first sync.WaitGroup
	first.Add(atOnce)
	var asked atomic.Int64
	server := &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if asked.Add(1) <= int64(atOnce) {
			first.Done()
			first.Wait()
		}
		cluster.ServeHTTP(w, r)
	})}
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = server.Serve(listener)
	}()
	t.Cleanup(func() {
		server.Close()
		<-served
	})
	return listener, cluster
}

// R28, issue 5: as many connections are kept as run side by side, and no other is opened for the writes that follow.
func TestWritesReuseConnectionsR28(t *testing.T) {
	const writes = 500
	for _, atOnce := range []int{8, 32, 100} {
		for _, network := range []string{"tcp", "unix"} {
			for _, own := range []bool{false, true} {
				address, endpoint := "127.0.0.1:0", url.URL{Scheme: "http"}
				if network == "unix" {
					address = filepath.Join(t.TempDir(), "fleet.sock")
					endpoint = url.URL{Scheme: "unix", Path: address}
				}
				listener, cluster := serveAtOnce(t, network, address, atOnce)
				if network == "tcp" {
					endpoint.Host = listener.Addr().String()
				}
				config := fleet.Config{Endpoint: endpoint}
				if own {
					transport := transportOfOnesOwn(t, network, listener.Addr().String(), atOnce)
					config.Client = &http.Client{Transport: transport}
					defer func() {
						assert.Equal(t, [2]int{0, atOnce}, [2]int{transport.MaxIdleConns, transport.MaxIdleConnsPerHost})
					}()
				}
				made, err := fleet.NewFleet(config)
				require.NoError(t, err)
				client := made.(*fleet.Client)
				var group errgroup.Group
				group.SetLimit(atOnce)
				for i := range writes {
					group.Go(func() error { return client.SubmitLaunched(t.Context(), unitName(i), sleeper) })
				}
				require.NoError(t, group.Wait())
				assert.Equal(t, writes, cluster.Counts().Puts, "a new unit in one write")
				// net/http gives a connection up whose writer has not run for 50 ms, which a busy machine brings about.
				assert.LessOrEqual(t, listener.opened.Load(), int64(atOnce+writes/20), "%s, own %v", network, own)
				require.NoError(t, client.Close())
			}
		}
	}
}

// transportOfOnesOwn is a caller's transport (R42), which keeps as many connections as the caller says.
func transportOfOnesOwn(t *testing.T, network, address string, keep int) *http.Transport {
	t.Helper()
	dialer := &net.Dialer{}
	transport := &http.Transport{MaxIdleConnsPerHost: keep}
	transport.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
		return dialer.DialContext(ctx, network, address)
	}
	t.Cleanup(transport.CloseIdleConnections)
	return transport
}
