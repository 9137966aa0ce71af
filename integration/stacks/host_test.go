package stacks_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/squadronctl/squadron/integration/cluster"
	"github.com/squadronctl/squadron/integration/groups/bench"
)

// What stands where on a host, as package systemd tells.
const (
	hostFiles = "/etc/squadron/units"
	hostLinks = "/etc/systemd/system"
)

// host is one machine's systemd, and an owner who runs squadronctl there.
type host struct {
	owner
	machine *cluster.Machine
}

// newHost gives the machine without fleet.
func newHost(t *testing.T, name string) *host {
	t.Helper()
	single.Start(t)
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(single.Cluster.Logs(60))
		}
	})
	machine := single.Cluster.Machines()[0]
	require.NoError(t, machine.StopFleetd(t.Context())) // its agent would reload systemd as it likes
	require.NoError(t, bring(machine))
	return &host{owner: onMachine(t, name, machine, "systemd:"), machine: machine}
}

// sh runs a script in the machine, and gives what it prints.
func (h *host) sh(t *testing.T, script string) string {
	t.Helper()
	text, err := h.machine.Command(t.Context(), "/bin/sh", "-e", "-c", script).CombinedOutput()
	require.NoError(t, err, "%s\n%s", script, text)
	return string(text)
}

// active gives the names of the units that run, of those that a pattern takes.
func (h *host) active(ctx context.Context, pattern string) ([]string, error) {
	text, err := h.machine.Command(ctx, "systemctl", "list-units", "--plain", "--no-legend", "--state=active", pattern).Output()
	var names []string
	for line := range strings.Lines(string(text)) {
		names = append(names, strings.Fields(line)[0])
	}
	return names, err
}

// requireActive shows that so many units run, each of them the nth version, by what systemd itself says.
func (h *host) requireActive(t *testing.T, pattern string, units, n int) []string {
	t.Helper()
	names, err := h.active(t.Context(), pattern)
	require.NoError(t, err)
	require.Len(t, names, units, names)
	for _, name := range names {
		assert.Contains(t, h.sh(t, "systemctl show -p ExecStart '"+name+"'"), "argv[]="+sleep(n)+" ;", name)
		assert.Contains(t, h.sh(t, "cat "+hostFiles+"/'"+name+"'"), "Owner="+h.name+"\n")
	}
	return names
}

// files gives all that stands in the directory of units, and what of it is launched.
func (h *host) files(t *testing.T) map[string]string {
	t.Helper()
	files := map[string]string{}
	for _, dir := range []string{hostFiles, hostLinks + "/squadron.target.wants"} {
		entries, err := os.ReadDir(filepath.Join(h.machine.Root(), dir))
		require.NoError(t, err)
		for _, entry := range entries {
			text, err := os.ReadFile(filepath.Join(h.machine.Root(), hostFiles, entry.Name()))
			require.NoError(t, err)
			files[filepath.Join(dir, entry.Name())] = string(text)
		}
	}
	return files
}

// The same on one host's systemd: by hand means by systemctl and an editor.
func TestHost(t *testing.T) {
	t.Parallel()
	h := newHost(t, "hostowner")
	team := onMachine(t, "hostteam", h.machine, "systemd:")
	team.state = h.state
	team.write(t, "wiki.txtar", manifest("", 0, "wiki-app@.service"))
	team.apply(t, done)
	h.write(t, "web.txtar", hostWeb(0))
	h.write(t, "db/db-main.service", bench.Service(sleep(0)))
	h.differs(t, "db: would be deployed: nothing of it is there\nweb: would be deployed: nothing of it is there\n", "diff", h.dir)
	assert.Equal(t, []string{"db synced healthy deployed missing", "web synced healthy deployed missing"}, h.apply(t, done))
	// Two units that this owner does not own: one that nobody does, and one that is not even of this project.
	h.sh(t, "mkdir -p /srv/notes && printf '[Service]\\nExecStart=/bin/sleep 1000000\\n' | tee /srv/notes/notes-app.service >"+hostLinks+
		"/web-foreign.service && systemctl daemon-reload && systemctl start web-foreign && "+
		inside+" --fleet-endpoint systemd: up /srv/notes")
	others := []string{"notes-app.service", "web-foreign.service", "wiki-app@*"}
	since := h.since(t, others)
	h.same(t)

	h.changedByHand(t)
	h.stoppedByHand(t)
	h.rollingUpdate(t)
	h.prune(t)
	assert.Equal(t, since, h.since(t, others), "nobody has touched what is others'")
	for _, o := range []owner{h.owner, team} {
		o.remove(t, "")
		require.NoError(t, os.MkdirAll(o.path(""), 0o755))
		o.apply(t, done, "--prune")
	}
	h.sh(t, inside+" --fleet-endpoint systemd: destroy notes --yes")
	assert.Empty(t, h.files(t), "nothing is left")
}

// hostWeb gives the manifest of a stack of three slices, in its nth version.
func hostWeb(n int) string {
	return manifest("slices: 3\nmax-growth: 1\nmin-alive: 3\n", n, "web-app@.service")
}

// since tells when units began to run, and as which processes.
func (h *host) since(t *testing.T, units []string) string {
	t.Helper()
	return h.sh(t, "systemctl show -p Id,ActiveState,MainPID,ActiveEnterTimestamp "+strings.Join(units, " "))
}

// changedByHand edits a unit's file, disables a slice, and removes another.
func (h *host) changedByHand(t *testing.T) {
	web := h.requireActive(t, "web-app@*", 3, 0)
	h.sh(t, fmt.Sprintf(`sed -i 's#%s#/bin/sleep 7#' %[2]s/db-main.service
		rm %[3]s/squadron.target.wants/%[4]s
		systemctl daemon-reload
		systemctl stop %[4]s %[5]s
		rm %[3]s/squadron.target.wants/%[5]s %[3]s/%[5]s %[2]s/%[5]s
		systemctl daemon-reload`, sleep(0), hostFiles, hostLinks, web[0], web[1]))
	const differences = "db: %[1]s\n  db-main.service Service.ExecStart[0]: %[2]s\n" +
		"web: %[1]s\n  web-app@.service slices: %[3]s\n  web-app@.service state: %[4]s\n"
	h.differs(t, fmt.Sprintf(differences, "was changed by hand", sleep(0)+" -> /bin/sleep 7", "3 -> 2", "launched -> 1 of 2 launched"), "drift")
	h.differs(t, fmt.Sprintf(differences, "was changed by hand, which is let be without --correct-drift", "/bin/sleep 7 -> "+sleep(0),
		"2 -> 3", "1 of 2 launched -> launched"), "diff", h.dir)
	before := h.files(t)
	rows := h.apply(t, done, "--prune")
	require.Len(t, rows, 2)
	assert.Regexp(t, `^db out-of-sync \S+ none drift$`, rows[0])
	assert.Regexp(t, `^web out-of-sync \S+ none drift$`, rows[1])
	assert.Equal(t, before, h.files(t), "what was changed by hand is let be")
	assert.Equal(t, []string{"db synced healthy deployed drift", "web synced healthy deployed drift"}, h.apply(t, done, "--correct-drift"))
	h.requireActive(t, "db-*", 1, 0)
	assert.Contains(t, h.requireActive(t, "web-app@*", 3, 0), web[2], "what was as declared is not replaced")
	h.same(t)

	h.sh(t, fmt.Sprintf("systemctl stop db-main; rm %[1]s/db-main.service %[2]s/db-main.service %[2]s/squadron.target.wants/db-main.service; systemctl daemon-reload",
		hostFiles, hostLinks))
	h.differs(t, "db: nothing of it is there any more\n", "drift")
	assert.Equal(t, []string{"db synced healthy deployed missing", "web synced healthy none -"}, h.apply(t, done))
	h.requireActive(t, "db-*", 1, 0)
	h.same(t)
}

// stoppedByHand stops a unit, which changes nothing of what is declared: the unit is to run still, and does not. That is told, and
// left to who did it, as a service that has failed is.
func (h *host) stoppedByHand(t *testing.T) {
	h.sh(t, "systemctl stop db-main")
	h.same(t)
	assert.Equal(t, []string{"db synced degraded none -", "web synced healthy none -"}, h.apply(t, done, "--correct-drift"))
	h.sh(t, "systemctl start db-main")
	assert.Equal(t, []string{"db synced healthy none -", "web synced healthy none -"}, h.apply(t, done))
}

// rollingUpdate edits a manifest: three slices run at any moment.
func (h *host) rollingUpdate(t *testing.T) {
	old := h.requireActive(t, "web-app@*", 3, 0)
	h.write(t, "web.txtar", hostWeb(1))
	h.differs(t, "web: would be deployed: its manifest is another\n  web-app@.service Service.ExecStart[0]: "+sleep(0)+" -> "+sleep(1)+"\n", "diff", h.dir)
	ctx, end := context.WithCancel(t.Context())
	var counts []int
	var looking sync.WaitGroup
	looking.Go(func() {
		for ctx.Err() == nil {
			if names, err := h.active(ctx, "web-app@*"); err == nil {
				counts = append(counts, len(names))
			}
			time.Sleep(20 * time.Millisecond)
		}
	})
	rows := h.apply(t, done)
	end()
	looking.Wait()
	assert.Equal(t, []string{"db synced healthy none -", "web synced healthy deployed manifest"}, rows)
	require.NotEmpty(t, counts)
	assert.GreaterOrEqual(t, slices.Min(counts), 3, counts)
	assert.LessOrEqual(t, slices.Max(counts), 4, counts)
	t.Logf("%d looks, at least %d ran, and at most %d", len(counts), slices.Min(counts), slices.Max(counts))
	for _, name := range h.requireActive(t, "web-app@*", 3, 1) {
		assert.NotContains(t, old, name)
	}
	h.same(t)
}

// prune has a stack not declared any more.
func (h *host) prune(t *testing.T) {
	h.remove(t, "db")
	before := h.files(t)
	assert.Equal(t, []string{"web synced healthy none -"}, h.apply(t, done))
	assert.Contains(t, h.apply(t, done, "--prune", "--dry-run"), "db - - would-remove not declared")
	h.differs(t, "db: stack would be removed: it is not declared\n", "diff", h.dir, "--prune")
	assert.Equal(t, before, h.files(t), "without --prune, and in a dry run")
	assert.Contains(t, h.apply(t, done, "--prune"), "db - - removed not declared")
	delete(before, hostFiles+"/db-main.service")
	delete(before, hostLinks+"/squadron.target.wants/db-main.service")
	assert.Equal(t, before, h.files(t))
	h.same(t)
}
