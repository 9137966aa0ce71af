package stacks_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/squadronctl/squadron/controller"
	"github.com/squadronctl/squadron/integration/cluster"
	"github.com/squadronctl/squadron/integration/groups/bench"
	"github.com/squadronctl/squadron/integration/port"
)

const (
	stewardUnit = "steward@.service"
	workUnit    = "chores-app@.service"
)

// steward is a reconciler that runs as a unit on the cluster, and declares itself. It has its directories on machine 1, and is
// kept there.
type steward struct {
	owner
	ports map[int]string // by the version that listens there
}

// A reconciler runs as a unit, sees to its own stack and to another one, and replaces itself when its manifest changes: its
// successor is there before it goes, and goes on with what is to be done. Where the successor does not come up, it stays.
func TestReconcilerOnCluster(t *testing.T) {
	t.Parallel()
	site.Start(t)
	machine := site.Cluster.Machines()[0]
	require.NoError(t, bring(machine))
	s := &steward{owner: onMachine(t, "steward", machine, "unix:///run/fleet.sock"), ports: map[int]string{}}
	for _, prefix := range []string{"chores", "steward"} { // the last is deleted first
		site.Observer.DeleteAll(t, prefix)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(s.logOf(t, machine))
		}
	})
	s.declare(t, 1, freePort(t))
	s.chores(t, 1)
	// The first is deployed by hand; it then finds itself there.
	assert.Equal(t, []string{"chores synced healthy deployed missing", "steward synced healthy deployed missing"}, s.apply(t, done))
	s.awaitSettled(t, 1)
	s.chores(t, 2)
	s.awaitChores(t, 2)

	s.succeeds(t, 1, 2, func() { s.declare(t, 2, freePort(t)) })
	s.chores(t, 3)
	s.awaitChores(t, 3) // by the successor, since there is no other
	s.fails(t, 2)
	s.succeeds(t, 2, 3, func() { // and on the same port, once that is free
		s.declare(t, 3, s.ports[2])
		s.chores(t, 5)
	})
	s.awaitChores(t, 5)
	s.same(t)
	s.assertRecorded(t, "steward", 4)
	s.assertRecorded(t, "chores", 5)
	log := s.logOf(t, machine)
	assert.Equal(t, 2, strings.Count(log, "Deactivated successfully"), "each ended by itself when it was asked to")
	assert.Contains(t, log, s.ports[3]+" is in use")
}

// declare writes the nth version of the reconciler's own manifest.
func (s *steward) declare(t *testing.T, n int, port string) {
	t.Helper()
	s.ports[n] = port
	args := append([]string{inside, "apply", s.dir, "--watch", "--prune", "--own", "steward", "--interval", "1s",
		"--listen", "127.0.0.1:" + port, "--fleet-endpoint", "unix:///run/fleet.sock"}, s.flags()...)
	s.write(t, "steward.txtar", "slices: 1\nready-secs: 2\n-- "+stewardUnit+" --\n"+strings.Join([]string{
		"[Unit]",
		fmt.Sprintf("Description=version %d", n),
		"[Service]",
		"ExecStart=" + strings.Join(args, " "),
		"Restart=on-failure",
		"RestartSec=1",
		"[X-Fleet]",
		"MachineMetadata=name=m1",
		"",
	}, "\n"))
}

// chores writes the nth version of the other stack.
func (s *steward) chores(t *testing.T, n int) {
	t.Helper()
	s.write(t, "chores.txtar", manifest("slices: 1\n", n, workUnit))
}

func freePort(t *testing.T) string {
	t.Helper()
	free, err := port.Free()
	require.NoError(t, err)
	return free
}

func (s *steward) awaitChores(t *testing.T, n int) {
	t.Helper()
	site.Observer.Await(t, patience, fmt.Sprintf("the reconciler has deployed version %d", n), func(look bench.Snapshot) bool {
		units := look.Named("chores-")
		return len(units) == 1 && units[0].Runs(sleep(n)) && units[0].Here().Active == active
	})
}

// awaitSettled waits until the nth version alone is there, and says that its own stack is as declared and works.
func (s *steward) awaitSettled(t *testing.T, n int) {
	t.Helper()
	site.Observer.Await(t, patience, fmt.Sprintf("version %d of the reconciler is alone", n), func(look bench.Snapshot) bool {
		units := look.Named("steward@")
		return len(units) == 1 && isVersion(units[0], n) && units[0].Here().Active == active
	})
	require.Eventually(t, func() bool {
		code, text := s.ask(n, "/metrics")
		return code == http.StatusOK && strings.Contains(text, `squadron_stack_sync{stack="steward",sync="synced"} 1`) &&
			strings.Contains(text, `squadron_stack_health{health="healthy",stack="steward"} 1`)
	}, patience, 50*time.Millisecond)
}

func isVersion(unit bench.Unit, n int) bool {
	return strings.Contains(unit.Options, fmt.Sprintf(`"version %d"`, n))
}

// ask asks the nth version over HTTP; the status is 0 where nobody answers.
func (s *steward) ask(n int, path string) (status int, text string) {
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: time.Minute}
	answer, err := client.Get("http://127.0.0.1:" + s.ports[n] + path)
	if err != nil {
		return 0, ""
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		return 0, ""
	}
	return answer.StatusCode, string(body)
}

// fails has a version declared that can't run. The nth goes on, with its other stack as well, and says what has happened.
func (s *steward) fails(t *testing.T, n int) {
	t.Helper()
	watch := site.Observer.WatchUpdate(t, bench.Request("steward", controller.Unit{Name: stewardUnit}), controller.UpdateOptions{MaxGrowth: 1, MinAlive: 1}, 1)
	s.write(t, "steward.txtar", "slices: 1\n-- "+stewardUnit+" --\n[Service]\nExecStart=/bin/false\n[X-Fleet]\nMachineMetadata=name=m1\n")
	require.Eventually(t, func() bool {
		code, text := s.ask(n, "/metrics")
		return code == http.StatusOK && !strings.Contains(text, `squadron_deployments_total{outcome="failed"} 0`)
	}, patience, 50*time.Millisecond)
	s.chores(t, 4)
	s.awaitChores(t, 4)
	watch.End(t)
	assert.True(t, s.ready(n))
	assert.True(t, slices.ContainsFunc(site.Observer.Now(t).Named("steward@"), func(u bench.Unit) bool {
		return isVersion(u, n) && u.Desired == launched && u.Here().Active == active
	}))
}

// succeeds has one version replace another, while at least one runs, and at least one answers that it is ready, where
// they don't have to share a port.
func (s *steward) succeeds(t *testing.T, from, to int, change func()) {
	t.Helper()
	watch := site.Observer.WatchUpdate(t, bench.Request("steward", controller.Unit{Name: stewardUnit}), controller.UpdateOptions{MaxGrowth: 1, MinAlive: 1}, 1)
	change()
	begun := time.Now()
	ctx, end := context.WithCancel(t.Context())
	var asking sync.WaitGroup
	asked, unready := 0, 0
	asking.Go(func() {
		for ; ctx.Err() == nil; time.Sleep(20 * time.Millisecond) {
			asked++
			if !s.ready(from) && !s.ready(to) && !s.ready(from) { // it may have gone, and the other have come, between two questions
				unready++
			}
		}
	})
	s.awaitSettled(t, to)
	end()
	asking.Wait()
	watch.End(t)
	assert.NotZero(t, asked)
	if s.ports[to] != s.ports[from] {
		assert.Zero(t, unready, "of %d questions", asked)
		status, _ := s.ask(from, "/healthz")
		assert.Zero(t, status, "the old one is gone")
	}
	t.Logf("version %d after %.1f s; of %d questions %d found nobody ready", to, time.Since(begun).Seconds(), asked, unready)
}

// ready says whether a version lives and could do its last pass.
func (s *steward) ready(n int) bool {
	for _, path := range []string{"/healthz", "/readyz"} {
		if status, _ := s.ask(n, path); status != http.StatusOK {
			return false
		}
	}
	return true
}

// logOf gives what all reconcilers, and the machine's systemd about them, have written.
func (s *steward) logOf(t *testing.T, machine *cluster.Machine) string {
	t.Helper()
	log, err := machine.Command(context.Background(), "journalctl", "--no-pager", "-o", "cat", "-u", "steward@*").CombinedOutput()
	assert.NoError(t, err)
	return string(log)
}
