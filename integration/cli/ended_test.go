package cli_test

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/squadronctl/squadron/controller"
	"github.com/squadronctl/squadron/integration/groups/bench"
)

// running is the group with so many slices running.
func (g *group) running(t *testing.T, n int) *group {
	t.Helper()
	g.run(t, done, "up", g.dir, strconv.Itoa(n))
	g.require(t, n, launched, active)
	return g
}

// R6, R22: one SIGINT ends an update cleanly: within its bounds, with slices that are all of them new or old and running,
// and with word of which are which. The same command then completes it.
func TestUpdateInterrupted(t *testing.T) {
	t.Parallel()
	const n = 3
	g := newGroup(t, byTunnel(t), "interrupted", single).running(t, n)
	old := bench.SliceIDs(g.units(t))
	g.write(t, 1)
	args := []string{"update", g.dir, "--max-growth", "1", "--min-alive", strconv.Itoa(n)}
	bounds := controller.UpdateOptions{MaxGrowth: 1, MinAlive: n}

	watch := site.Observer.WatchUpdate(t, g.now, bounds, n)
	update := g.start(t, args...)
	update.says(t, &update.err, `^\d\d:\d\d:\d\d slice \w+: submitting `)
	update.signal(t, syscall.SIGINT)
	assert.Equal(t, interrupted, update.code(t))
	watch.End(t)
	assert.Empty(t, update.out.String())
	assert.Contains(t, update.err.String(), "interrupted, and coming to a clean end")
	said := regexp.MustCompile(`(?m)^squadronctl: interrupted: .*\(new slices: ([^;]*); old slices: ([^;)]*)\).*\n\z`).FindStringSubmatch(update.err.String())
	require.NotNil(t, said, update.err.String())
	units := g.units(t)
	freshNow, oldNow := slicesByAge(units, old)
	assert.Equal(t, []string{listed(freshNow), listed(oldNow)}, said[1:])
	assert.NotEmpty(t, oldNow, "it took up slices after the signal")
	for _, unit := range units {
		assert.Equal(t, launched, unit.Desired, "%+v", unit)
		assert.Equal(t, active, unit.Here().Active, "%+v", unit)
		assert.Equal(t, slices.Contains(freshNow, unit.Slice()), unit.Runs(sleep(1)), "%+v", unit)
	}

	watch = site.Observer.WatchUpdate(t, g.now, bounds, n)
	g.run(t, done, args...)
	watch.End(t)
	units = g.require(t, n, launched, active)
	assert.Empty(t, without(freshNow, bench.SliceIDs(units)), "what was new already stays")
	fresh, left := slicesByAge(units, old)
	assert.Len(t, fresh, n)
	assert.Empty(t, left)
}

// C19, R21: an update whose process is killed (SIGKILL) leaves nothing that the same command does not bring to its end: all
// slices are new, they are as many as are wanted, and nothing is left over.
func TestUpdateKilled(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		by    func(*testing.T) way
		make  func(string, int) controller.Request
		phase string // the first slice to get there has it killed
	}{
		"killadd": {byTLS, single, "submitting"},
		"killold": {bySocket, pairOf, "stopping"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const n = 2
			g := newGroup(t, c.by(t), name, c.make).running(t, n)
			old := bench.SliceIDs(g.units(t))
			g.write(t, 1)
			args := []string{"update", g.dir, strconv.Itoa(n), "--max-growth", "1"}
			update := g.start(t, args...)
			update.says(t, &update.err, `^\d\d:\d\d:\d\d slice \w+: `+c.phase+` `)
			update.signal(t, syscall.SIGKILL)
			require.Equal(t, -1, update.code(t))
			assert.Empty(t, update.out.String())
			_, left := slicesByAge(g.units(t), old)
			require.NotEmpty(t, left, "it was done before it was killed")

			g.run(t, done, args...)
			_, left = slicesByAge(g.require(t, n, launched, active), old)
			assert.Empty(t, left, "no old slice is left")
			_, errs := g.run(t, done, args...)
			assert.Contains(t, errs, name+" is up to date\n")
		})
	}
}

// slicesByAge parts the slices of units in those that are not among the old ones, and those that are.
func slicesByAge(units []bench.Unit, old []string) (fresh, left []string) {
	ids := bench.SliceIDs(units)
	fresh = without(ids, old)
	return fresh, without(ids, fresh)
}

// listed is how an error lists slices.
func listed(ids []string) string {
	if len(ids) == 0 {
		return "none"
	}
	return strings.Join(ids, ", ")
}

// --no-block returns once the cluster has been asked. These units never come to run, so that whoever waits waits in vain.
func TestNoBlock(t *testing.T) {
	t.Parallel()
	g := newGroup(t, byHTTP(t), "noblock", func(group string, n int) controller.Request {
		content := "[Service]\nExecStartPre=/bin/sleep 100000\nTimeoutStartSec=infinity\nExecStart=" + sleep(n) + "\n"
		return bench.Request(group, controller.Unit{Name: group + "-main@.service", Content: content})
	})
	out, _ := g.run(t, done, "up", g.dir, "2", "--no-block")
	ids := bench.SliceIDs(g.units(t))
	assert.ElementsMatch(t, g.named(ids, "started"), lines(out))
	g.desired(t, 2, launched)
	activating := func(look bench.Snapshot) bool {
		return !slices.ContainsFunc(look.Named(g.name+"-"), func(u bench.Unit) bool { return u.Here().Active != "activating" })
	}
	site.Observer.Await(t, patience, "the cluster does by itself what it was asked for", activating)
	g.run(t, failed, "status", g.name)
	g.fails(t, timeout, "--timeout", "start", g.name, "--timeout", "3s")
	assert.Equal(t, ids, bench.SliceIDs(g.desired(t, 2, launched)), "a wait that is over changes nothing")

	out, _ = g.run(t, done, "stop", g.name, "--no-block")
	assert.ElementsMatch(t, g.named(ids, "stopped"), lines(out))
	g.desired(t, 2, loaded)
	out, _ = g.run(t, done, "start", g.name, "--no-block")
	assert.ElementsMatch(t, g.named(ids, "started"), lines(out))
	g.desired(t, 2, launched)
	out, _ = g.run(t, done, "destroy", g.name, "--yes", "--no-block")
	assert.ElementsMatch(t, g.named(ids, "destroyed"), lines(out))
	assert.Empty(t, g.units(t))

	out, _ = g.run(t, done, "submit", g.dir+"@one", "--no-block")
	assert.Equal(t, g.named([]string{"one"}, "submitted"), lines(out))
	g.desired(t, 1, loaded)
}

// desired shows what the cluster has been asked for, whatever it has made of it.
func (g *group) desired(t *testing.T, slices int, desired string) []bench.Unit {
	t.Helper()
	units := g.units(t)
	require.Len(t, units, slices*len(g.now.Units))
	for _, unit := range units {
		assert.Equal(t, desired, unit.Desired, unit.Name)
	}
	return units
}
