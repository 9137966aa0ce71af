package monitor_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/squadronctl/squadron/cmd/squadronctl/internal/monitor"
	"github.com/squadronctl/squadron/prune"
	"github.com/squadronctl/squadron/reconcile"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func get(m *monitor.Monitor, path string) (int, string) {
	answer := httptest.NewRecorder()
	m.Handler().ServeHTTP(answer, httptest.NewRequest(http.MethodGet, path, nil))
	return answer.Code, answer.Body.String()
}

func passOf(stacks ...reconcile.StackReport) monitor.Pass {
	at := time.Unix(1_700_000_000, 0)
	return monitor.Pass{Report: reconcile.Report{Started: at, Ended: at.Add(2 * time.Second), Stacks: stacks}}
}

var web = reconcile.StackReport{Name: "web", Sync: reconcile.OutOfSync, Health: reconcile.Healthy, Reason: reconcile.ReasonDrift,
	Changes: []reconcile.Change{{Service: "web@.service", Field: "state"}}}

// Healthy is what answers; ready is what could read all in its last pass.
func TestReady(t *testing.T) {
	m := monitor.New()
	ready := func(want int, why string) {
		t.Helper()
		code, text := get(m, "/readyz")
		assert.Equal(t, want, code)
		assert.Contains(t, text, why)
		code, _ = get(m, "/healthz")
		assert.Equal(t, http.StatusOK, code)
	}
	ready(http.StatusServiceUnavailable, "first pass")
	m.Observe(passOf(web))
	ready(http.StatusOK, "ok")
	m.Observe(passOf(web, reconcile.StackReport{Name: "db", Reason: reconcile.ReasonUnreadable, Error: "no answer"}))
	ready(http.StatusServiceUnavailable, "stack db: no answer")
	m.Observe(passOf())
	ready(http.StatusOK, "ok")
	m.Observe(monitor.Pass{Err: errors.New("no such directory")})
	ready(http.StatusServiceUnavailable, "no such directory")
}

// Counters are over all passes, gauges of the last one alone.
func TestMetrics(t *testing.T) {
	m := monitor.New()
	_, text := get(m, "/metrics")
	assert.Contains(t, text, `squadron_deployments_total{outcome="failed"} 0`)
	assert.NotContains(t, text, "squadron_last_pass")
	deployed := reconcile.StackReport{Name: "db", Sync: reconcile.Synced, Health: reconcile.Healthy, Action: reconcile.ActionDeployed}
	failed := reconcile.StackReport{Name: "mq", Sync: reconcile.OutOfSync, Health: reconcile.Missing, Action: reconcile.ActionFailed}
	m.Observe(passOf(deployed, failed))
	last := passOf(web, deployed)
	last.Report.Faults = make([]reconcile.Fault, 3)
	last.Swept.Items = []prune.Item{{Outcome: prune.Removed}, {Outcome: prune.Unmanaged}, {Outcome: prune.Failed}}
	m.Observe(last)
	code, text := get(m, "/metrics")
	require.Equal(t, http.StatusOK, code)
	for _, line := range []string{
		`squadron_deployments_total{outcome="deployed"} 2`,
		`squadron_deployments_total{outcome="failed"} 1`,
		`squadron_swept_total{outcome="removed"} 1`,
		`squadron_swept_total{outcome="failed"} 1`,
		`squadron_unmanaged 1`,
		`squadron_manifests_refused 3`,
		`squadron_pass_duration_seconds_count 2`,
		`squadron_pass_duration_seconds_sum 4`,
		`squadron_last_pass_timestamp_seconds 1.700000002e+09`,
		`squadron_stack_sync{stack="web",sync="out-of-sync"} 1`,
		`squadron_stack_health{health="healthy",stack="web"} 1`,
		`squadron_stack_drift_fields{stack="web"} 1`,
		`squadron_stack_drift_fields{stack="db"} 0`,
	} {
		assert.Contains(t, text, "\n"+line+"\n")
	}
	assert.NotContains(t, text, `stack="mq"`, "it is no longer declared")
	assert.Contains(t, text, "go_goroutines")
}

// What a pass holds back ends after its report, and is counted with the next.
func TestHeldDeployments(t *testing.T) {
	m := monitor.New()
	own := func(action reconcile.Action, sync reconcile.Sync, failures int) {
		m.Observe(passOf(reconcile.StackReport{Name: "ctl", Sync: sync, Action: action, Failures: failures}))
	}
	counted := func(deployed, failed int) {
		t.Helper()
		_, text := get(m, "/metrics")
		assert.Contains(t, text, fmt.Sprintf("squadron_deployments_total{outcome=\"deployed\"} %d\n", deployed))
		assert.Contains(t, text, fmt.Sprintf("squadron_deployments_total{outcome=\"failed\"} %d\n", failed))
	}
	own(reconcile.ActionHeld, reconcile.OutOfSync, 0)
	counted(0, 0)
	own(reconcile.ActionBackoff, reconcile.OutOfSync, 1)
	own(reconcile.ActionBackoff, reconcile.OutOfSync, 1)
	counted(0, 1)
	own(reconcile.ActionHeld, reconcile.OutOfSync, 1)
	own(reconcile.ActionHeld, reconcile.OutOfSync, 1) // its report could not be recorded
	counted(0, 1)
	own(reconcile.ActionHeld, reconcile.OutOfSync, 2)
	counted(0, 2)
	own(reconcile.ActionNone, reconcile.Synced, 0)
	own(reconcile.ActionNone, reconcile.Synced, 0)
	counted(1, 2)
}

// Two monitors share nothing.
func TestNoGlobalState(t *testing.T) {
	one, other := monitor.New(), monitor.New()
	one.Observe(passOf(web))
	_, text := get(other, "/metrics")
	assert.NotContains(t, text, `stack="web"`)
}

func TestListen(t *testing.T) {
	m := monitor.New()
	for _, address := range []string{"127.0.0.1:0", "[::1]:0", "localhost:0"} {
		server, err := m.Listen(address)
		if err != nil && address == "[::1]:0" {
			continue // a host without IPv6
		}
		require.NoError(t, err)
		answer, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Get("http://" + server.Addr + "/healthz")
		require.NoError(t, err)
		_, err = io.Copy(io.Discard, answer.Body)
		require.NoError(t, err)
		require.NoError(t, answer.Body.Close())
		server.Close()
		server.Close() // once more is no harm
	}
	for _, address := range []string{"0.0.0.0:0", ":0", "192.0.2.1:0", "example.com:80"} {
		_, err := m.Listen(address)
		assert.True(t, monitor.IsNotLoopback(err), address)
	}
	_, err := m.Listen("9642")
	require.Error(t, err)
	assert.False(t, monitor.IsNotLoopback(err))
	server, err := m.Listen("127.0.0.1:0")
	require.NoError(t, err)
	defer server.Close()
	_, err = m.Listen(server.Addr)
	assert.Error(t, err, "somebody listens there")
}

func Example() {
	m := monitor.New()
	fmt.Println(get(m, "/readyz"))
	m.Observe(passOf(reconcile.StackReport{Name: "web", Sync: reconcile.Synced, Health: reconcile.Healthy}))
	fmt.Println(get(m, "/readyz"))
	// Output:
	// 503 the first pass has not ended yet
	//
	// 200 ok
}
