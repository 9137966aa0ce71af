package speed_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/squadronctl/squadron/fleet/fleettest"
	"github.com/squadronctl/squadron/integration/cluster"
)

const (
	units = 500
	// pace is the controller's pause between two looks. The cluster takes no time here, so all of a wait is WaitCount looks,
	// which the plain loop does without: it believes the first.
	pace = 10 * time.Millisecond
	// fasterBy is how many times as fast as the plain loop the library has to be where a round trip takes some milliseconds.
	fasterBy = 5
	// patience is for a plain loop whose every request takes its time.
	patience = 10 * time.Minute
)

// figures are the seconds that each step took, and what the cluster was asked.
type figures struct {
	Submit, Start, Status, Destroy float64
	counts                         fleettest.Counts
}

func (f figures) total() float64 { return f.Submit + f.Start + f.Status + f.Destroy }

func (f figures) reads() int {
	c := f.counts
	return c.UnitPages + c.StatePages + c.MachinePages + c.UnitReads + c.StateReads + c.Others
}

func (f figures) writes() int { return f.counts.Puts + f.counts.Deletes }

func (f figures) String() string {
	return fmt.Sprintf("submit %.2f s, start %.2f s, status %.3f s, destroy %.2f s, in all %.2f s, %d writes, %d reads",
		f.Submit, f.Start, f.Status, f.Destroy, f.total(), f.writes(), f.reads())
}

// R7, R19: 500 units are submitted, started, looked at and destroyed. The library makes the same writes as a plain loop on
// coreos/fleet's client, no more reads, and is several times as fast where requests take time.
func TestPlainLoopSideBySide(t *testing.T) {
	program := buildOurs(t)
	for _, latency := range []time.Duration{0, 2 * time.Millisecond, 20 * time.Millisecond} {
		t.Run(latency.String(), func(t *testing.T) {
			ours, plain, bare := runOurs(t, program, latency), runPlain(t, latency), runPlain(t, latency, "-bare")
			t.Logf("ours:  %v", ours)
			t.Logf("plain: %v", plain)
			t.Logf("bare:  %v", bare)
			t.Logf("ours is %.1f times as fast as plain, and %.1f times as fast as bare",
				plain.total()/ours.total(), bare.total()/ours.total())
			assert.Equal(t, 3*units, ours.writes())
			assert.Equal(t, 3*units, plain.writes())
			assert.LessOrEqual(t, ours.reads(), plain.reads())
			if latency > 0 {
				assert.GreaterOrEqual(t, plain.total()/ours.total(), float64(fasterBy))
			}
		})
	}
}

// serve starts a cluster that takes no time for what it does, behind a listener that lets each request wait.
func serve(t *testing.T, latency time.Duration) *fleettest.Server {
	t.Helper()
	server := fleettest.NewServer(fleettest.Config{})
	t.Cleanup(server.Close)
	if latency > 0 {
		server.Faults.Set(fleettest.Always(fleettest.Latency(latency)))
	}
	return server
}

// buildOurs builds groupsteps.
func buildOurs(t *testing.T) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "groupsteps")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", program, "./groupsteps")
	build.Stderr = testLog{t}
	require.NoError(t, build.Run())
	return program
}

// runOurs runs groupsteps.
func runOurs(t *testing.T, program string, latency time.Duration) figures {
	t.Helper()
	server := serve(t, latency)
	line := runProgram(t, program, "-endpoint", server.URL, "-units", fmt.Sprint(units), "-pace", pace.String())
	var f figures
	require.NoError(t, json.Unmarshal(line, &f))
	f.counts = server.Cluster.Counts()
	require.Empty(t, server.Cluster.Units())
	return f
}

// runPlain runs fleetref's plainloop, and checks its count of requests against the server's.
func runPlain(t *testing.T, latency time.Duration, flags ...string) figures {
	t.Helper()
	program, err := cluster.Build(t.Context(), "plainloop")
	require.NoError(t, err)
	server := serve(t, latency)
	line := runProgram(t, program, append([]string{"-endpoint", server.URL, "-units", fmt.Sprint(units)}, flags...)...)
	var printed struct {
		figures
		Requests int
	}
	require.NoError(t, json.Unmarshal(line, &printed))
	f := printed.figures
	f.counts = server.Cluster.Counts()
	require.Equal(t, printed.Requests, f.writes()+f.reads())
	require.Empty(t, server.Cluster.Units())
	return f
}

// runProgram gives the line that a program prints.
func runProgram(t *testing.T, program string, arguments ...string) []byte {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, arguments...)
	cmd.Stderr = testLog{t}
	line, err := cmd.Output()
	require.NoError(t, err)
	return line
}

// testLog is a test's log as a writer.
type testLog struct{ t *testing.T }

var _ io.Writer = testLog{}

func (l testLog) Write(p []byte) (int, error) {
	l.t.Logf("%s", p)
	return len(p), nil
}
