package main

import (
	"bytes"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/stretchr/testify/require"

	"github.com/squadronctl/squadron/fleet/fleettest"
)

// lockedBuffer is a buffer that may be read while a process writes to it.
type lockedBuffer struct {
	mutex sync.Mutex
	text  bytes.Buffer
}

func (b *lockedBuffer) Write(text []byte) (int, error) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	return b.text.Write(text)
}

func (b *lockedBuffer) String() string {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	return b.text.String()
}

// fifoCommand makes a named pipe.
func fifoCommand(ts *testscript.TestScript, _ bool, args []string) {
	ts.Check(syscall.Mkfifo(ts.MkAbs(args[0]), 0o600))
}

// serverCommand sets a variable to the URL of a server that is no fleet: one that hangs, answers HTML, or is gone.
func serverCommand(ts *testscript.TestScript, _ bool, args []string) {
	variable, kind := args[0], args[1]
	switch kind {
	case "gone":
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		ts.Check(err)
		ts.Check(listener.Close())
		ts.Setenv(variable, "http://"+listener.Addr().String())
	case "hanging":
		server := fleettest.NewServer(fleettest.Config{})
		server.Faults.Set(fleettest.Always(fleettest.Hang()))
		ts.Defer(server.Close)
		ts.Setenv(variable, server.URL)
	default:
		server := httptest.NewServer(http.NotFoundHandler())
		ts.Defer(server.Close)
		ts.Setenv(variable, server.URL)
	}
}

// cluster starts a cluster with the units of a sliced group web running.
func cluster(t *testing.T, timing fleettest.Timing, ids ...string) *fleettest.Server {
	t.Helper()
	server := fleettest.NewServer(fleettest.Config{Timing: timing})
	t.Cleanup(server.Close)
	for _, id := range ids {
		require.NoError(t, server.Cluster.Put("web-app@"+id+".service", "[Service]\nExecStart=/bin/sleep 1\n", "launched"))
	}
	require.Eventually(t, func() bool {
		units, err := server.Client().GetStatusWithMatcher(func(string) bool { return true })
		for _, unit := range units {
			if len(unit.Machine) == 0 || unit.Machine[0].SystemdActive != "active" {
				return false
			}
		}
		return len(ids) == 0 || err == nil
	}, time.Minute, 5*time.Millisecond)
	return server
}

// expandCommand copies a file with the variables in it replaced.
func expandCommand(ts *testscript.TestScript, _ bool, args []string) {
	text := os.Expand(ts.ReadFile(args[0]), ts.Getenv)
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), []byte(text), 0o600))
}
