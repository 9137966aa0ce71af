package fleet

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func openFiles(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	require.NoError(t, err)
	return len(entries)
}

// C22, R28, R44: many operations on one endpoint use one connection; a dead endpoint and Close leave nothing.
func TestOperationsLeaveNothingBehind(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	before := openFiles(t)
	path := filepath.Join(t.TempDir(), "fleet.sock")
	listener, err := net.Listen("unix", path)
	require.NoError(t, err)
	var mutex sync.Mutex
	connections := 0
	server := &httptest.Server{Listener: listener, Config: &http.Server{Handler: &cluster{}, ConnState: func(_ net.Conn, s http.ConnState) {
		mutex.Lock()
		defer mutex.Unlock()
		if s == http.StateNew {
			connections++
		}
	}}}
	server.Start()
	made, err := NewFleet(Config{Endpoint: url.URL{Scheme: "unix", Path: path}, RetryWait: time.Microsecond})
	require.NoError(t, err)

	require.NoError(t, made.Submit(t.Context(), "a.service", webContent))
	first := openFiles(t)
	for range 50 {
		require.NoError(t, made.Start(t.Context(), "a.service"))
		require.Error(t, made.Start(t.Context(), "none.service"), "failures are drained as well")
	}
	assert.Equal(t, first, openFiles(t))
	mutex.Lock()
	assert.Equal(t, 1, connections)
	mutex.Unlock()

	server.Close()
	for range 20 {
		require.Error(t, made.Start(t.Context(), "a.service"))
	}
	require.NoError(t, made.(io.Closer).Close())
	assert.Equal(t, before, openFiles(t))
}

// R44: a server that stays up does not keep the connections.
func TestCloseEndsIdleConnections(t *testing.T) {
	server := httptest.NewServer(&cluster{})
	defer server.Close()
	where, err := url.Parse(server.URL)
	require.NoError(t, err)
	before := goleak.IgnoreCurrent()
	made, err := NewFleet(Config{Endpoint: *where})
	require.NoError(t, err)
	require.NoError(t, made.Submit(t.Context(), "a.service", webContent))
	require.NoError(t, made.(io.Closer).Close())
	goleak.VerifyNone(t, before)
}

// R28: as many idle connections are kept as a few operations side by side need.
func TestConnectionsAreReusedSideBySide(t *testing.T) {
	var mutex sync.Mutex
	connections := 0
	arrived := make(chan struct{})
	waiting := 0
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mutex.Lock()
		waiting++
		if waiting%16 == 0 {
			close(arrived)
			arrived = make(chan struct{})
			mutex.Unlock()
		} else {
			all := arrived
			mutex.Unlock()
			<-all
		}
		w.WriteHeader(http.StatusNoContent)
	}))
	server.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		mutex.Lock()
		defer mutex.Unlock()
		if s == http.StateNew {
			connections++
		}
	}
	server.Start()
	defer server.Close()
	where, err := url.Parse(server.URL)
	require.NoError(t, err)
	made, err := NewFleet(Config{Endpoint: *where})
	require.NoError(t, err)
	defer made.(io.Closer).Close()
	for range 5 {
		var group sync.WaitGroup
		for range 16 {
			group.Go(func() { assert.NoError(t, made.Start(t.Context(), "a.service")) })
		}
		group.Wait()
	}
	mutex.Lock()
	defer mutex.Unlock()
	assert.LessOrEqual(t, connections, 32)
}
