package cli_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/squadronctl/squadron/controller"
	"github.com/squadronctl/squadron/integration/groups/bench"
)

// lives are groups, each with its way to the cluster.
var lives = map[string]struct {
	by   func(*testing.T) way
	make func(group string, n int) controller.Request
}{
	"socket": {bySocket, single},
	"http":   {byHTTP, single},
	"tunnel": {func(t *testing.T) way { return byTunnel(t).with("--stamp") }, pairOf},
	"tls":    {byTLS, single},
}

// R1, R21, R22, R45: the life of a group, each step of it a command, by every way to the cluster at the same time.
func TestLife(t *testing.T) {
	t.Parallel()
	for name, c := range lives {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := life{group: newGroup(t, c.by(t), name, c.make)}
			l.other = l.bystander(t)
			l.up(t)
			l.looks(t)
			l.update(t)
			l.restart(t)
			l.scale(t)
			l.stopAndStart(t)
			l.destroy(t)
			assert.Equal(t, launched, site.Observer.Now(t).Units[l.other].Desired, "another group's unit")
		})
	}
}

// life is a group of two slices, and the name of another group's unit, which is to stay as it is.
type life struct {
	*group
	other string
}

func (l life) up(t *testing.T) {
	out, errs := l.run(t, done, "validate", l.dir)
	assert.Equal(t, fmt.Sprintf("%s: %d unit files, nothing wrong\n", l.dir, len(l.now.Units)), out)
	assert.Empty(t, errs)
	l.fails(t, notFound, "not found", "status", l.name)
	require.Empty(t, l.units(t))

	out, errs = l.run(t, done, "up", l.dir, "2")
	units := l.require(t, 2, launched, active)
	assert.ElementsMatch(t, l.named(bench.SliceIDs(units), "started"), lines(out))
	for _, id := range bench.SliceIDs(units) {
		l.assertPhases(t, errs, l.name+"@"+id, "submitted", "started")
	}

	out, _ = l.run(t, done, "up", l.dir, "2")
	assert.ElementsMatch(t, l.named(bench.SliceIDs(units), "started"), lines(out))
	assert.Equal(t, bench.SliceIDs(units), bench.SliceIDs(l.require(t, 2, launched, active)), "repeating it changes nothing")
}

// looks asks for all that can be asked, and holds it against what is seen from outside.
func (l life) looks(t *testing.T) {
	units := l.require(t, 2, launched, active)
	out, _ := l.run(t, done, "status", l.name)
	assert.Regexp(t, `^GROUP +UNIT +DESIRED +CURRENT +ACTIVE +SUB +IP +MACHINE\n`, out)
	require.Len(t, lines(out), 3)
	for _, id := range bench.SliceIDs(units) {
		assert.Regexp(t, `(?m)^`+l.name+`@`+id+` +\S+ +launched +launched +active +running +127\.0\.0\.\d+ +[0-9a-f]{8}\.\.\.$`, out)
	}
	l.assertStatus(t, units)

	var list []struct {
		Name, Kind             string
		Slices, Units, Running int
	}
	readJSON(t, l.way, &list, "list")
	for _, entry := range list {
		entry.Name = strings.TrimSuffix(entry.Name, "@.service")
		switch {
		case slices.Contains(l.flags, "--stamp") && entry.Name == l.name:
			assert.Equal(t, fmt.Sprintf("{%s group 2 %[2]d %[2]d}", l.name, len(units)), fmt.Sprint(entry))
		case strings.HasPrefix(entry.Name, l.name+"-"):
			assert.Equal(t, fmt.Sprint("{", entry.Name, " unstamped unit 2 2 2}"), fmt.Sprint(entry))
		}
	}
	out, _ = l.run(t, done, "list", "-o", "name")
	assert.Contains(t, lines(out), l.name+"hook-main@.service")
	if slices.Contains(l.flags, "--stamp") {
		assert.Contains(t, lines(out), l.name)
	} else {
		for _, unit := range l.now.Units {
			assert.Contains(t, lines(out), unit.Name)
		}
	}

	var machines []struct {
		ID       string
		Metadata map[string]string
	}
	readJSON(t, l.way, &machines, "machines")
	require.Len(t, machines, len(site.Cluster.Machines()))
	for _, machine := range site.Cluster.Machines() {
		at := slices.IndexFunc(machines, func(m struct {
			ID       string
			Metadata map[string]string
		}) bool {
			return m.ID == machine.ID
		})
		require.GreaterOrEqual(t, at, 0, machine.ID)
		assert.Equal(t, machine.Name, machines[at].Metadata["name"])
	}

	out, _ = l.run(t, done, "cat", units[0].Name)
	assert.Equal(t, l.content(units[0].Name), strings.ReplaceAll(out, "\n\n", "\n"))
	l.fails(t, notFound, l.name+"-none.service", "cat", l.name+"-none.service")
}

// assertStatus holds what status says for programs against the units as they were seen.
func (l life) assertStatus(t *testing.T, units []bench.Unit) {
	t.Helper()
	var status []struct {
		Name, Desired, Current string
		Running                bool
		Machines               []struct{ ID, Active, Sub, Hash string }
	}
	readJSON(t, l.way, &status, "status", l.name)
	require.Len(t, status, len(units))
	for _, unit := range status {
		at := slices.IndexFunc(units, func(u bench.Unit) bool { return u.Name == unit.Name })
		require.GreaterOrEqual(t, at, 0, unit.Name)
		seen := units[at]
		require.Len(t, unit.Machines, 1)
		assert.Equal(t, seen.Here(), bench.State{Active: unit.Machines[0].Active, Sub: unit.Machines[0].Sub, Hash: unit.Machines[0].Hash})
		assert.Equal(t, []string{seen.Desired, seen.Current, seen.MachineID}, []string{unit.Desired, unit.Current, unit.Machines[0].ID})
		assert.True(t, unit.Running)
	}
}

// update plans an update, which changes nothing, carries it out under the bounds, and finds nothing left to do.
func (l life) update(t *testing.T) {
	before := l.require(t, 2, launched, active)
	old := bench.SliceIDs(before)
	l.write(t, 1)
	bounds := []string{"--max-growth", "1", "--min-alive", "100%"}
	var plan struct {
		UpToDate                bool
		Found, Wanted, MinAlive int
		MaxGrowth, MostExisting int
		Slices                  []struct{ Slice, Action string }
	}
	readJSON(t, l.way, &plan, append([]string{"plan", l.dir}, bounds...)...)
	assert.False(t, plan.UpToDate)
	assert.Equal(t, []int{2, 2, 2, 1, 3}, []int{plan.Found, plan.Wanted, plan.MinAlive, plan.MaxGrowth, plan.MostExisting})
	var planned []string
	for _, slice := range plan.Slices {
		assert.Equal(t, "replace", slice.Action)
		planned = append(planned, slice.Slice)
	}
	assert.ElementsMatch(t, old, planned)
	out, _ := l.run(t, done, append([]string{"plan", l.dir}, bounds...)...)
	assert.Contains(t, out, "-ExecStart="+sleep(0)+"\n")
	assert.Contains(t, out, "+ExecStart="+sleep(1)+"\n")
	l.run(t, done, append([]string{"update", l.dir, "--dry-run"}, bounds...)...)
	assert.Equal(t, before, l.units(t), "a plan changes nothing")
	l.fails(t, refused, "MinAlive", "update", l.dir, "--max-growth", "0", "--min-alive", "100%")
	assert.Equal(t, before, l.units(t), "what is refused changes nothing")

	out, errs := l.roll(t, controller.UpdateOptions{MaxGrowth: 1, MinAlive: 2}, append([]string{"update", l.dir}, bounds...)...)
	l.assertReplaced(t, old, nil, out, errs)
	kept := bench.SliceIDs(l.units(t))
	out, errs = l.run(t, done, append([]string{"update", l.dir}, bounds...)...)
	assert.ElementsMatch(t, l.named(kept, "unchanged"), lines(out))
	assert.Contains(t, errs, l.name+" is up to date\n")
	assert.Equal(t, kept, bench.SliceIDs(l.require(t, 2, launched, active)))
}

// roll carries out what replaces slices, while all looks at the cluster are held against the bounds.
func (l life) roll(t *testing.T, bounds controller.UpdateOptions, args ...string) (out, errs string) {
	t.Helper()
	watch := site.Observer.WatchUpdate(t, l.now, bounds, 2, l.other)
	out, errs = l.run(t, done, args...)
	watch.End(t)
	return out, errs
}

// assertReplaced shows that new slices run in place of the old ones, beside those kept, and that this is what both streams
// say.
func (l life) assertReplaced(t *testing.T, old, kept []string, out, errs string) {
	t.Helper()
	fresh := bench.SliceIDs(l.require(t, 2, launched, active))
	fresh = without(fresh, kept)
	assert.Len(t, without(fresh, old), len(old))
	assert.ElementsMatch(t, slices.Concat(l.named(old, "removed"), l.named(fresh, "created"), l.named(kept, "unchanged")), lines(out))
	for _, id := range old {
		l.assertPhases(t, errs, "slice "+id, "planned", "stopping", "destroyed")
	}
	for _, id := range fresh {
		l.assertPhases(t, errs, "slice "+id, "submitting", "running")
	}
}

// assertPhases shows that plain lines of progress tell of the phases of a slice, in this order and maybe of more.
func (l life) assertPhases(t *testing.T, errs, slice string, phases ...string) {
	t.Helper()
	told := regexp.MustCompile(`(?m)^\d\d:\d\d:\d\d `+regexp.QuoteMeta(slice)+`: (\w+)`).FindAllStringSubmatch(errs, -1)
	for _, match := range told {
		if len(phases) > 0 && match[1] == phases[0] {
			phases = phases[1:]
		}
	}
	assert.Empty(t, phases, "of %s standard error says nothing of these:\n%s", slice, errs)
}

// restart replaces slices by others of the same content, under the bounds that it has by default: both, or of a group of more
// units one slice alone, since the cluster unloads a machine's units one in five seconds.
func (l life) restart(t *testing.T) {
	old, kept, target := bench.SliceIDs(l.units(t)), []string(nil), l.name
	if len(l.now.Units) > 1 {
		old, kept, target = old[:1], old[1:], l.name+"@"+old[0]
	}
	out, errs := l.roll(t, controller.UpdateOptions{MaxGrowth: 1, MinAlive: 2}, "restart", target)
	l.assertReplaced(t, old, kept, out, errs)
}

func (l life) scale(t *testing.T) {
	old := bench.SliceIDs(l.units(t))
	out, _ := l.run(t, done, "scale", l.name, "3")
	more := bench.SliceIDs(l.require(t, 3, launched, active))
	require.Empty(t, without(old, more), "no slice is replaced")
	assert.ElementsMatch(t, append(l.named(old, "unchanged"), l.named(without(more, old), "created")...), lines(out))

	out, _ = l.run(t, done, "scale", l.name, "2")
	left := bench.SliceIDs(l.require(t, 2, launched, active))
	require.Empty(t, without(left, more), "no slice is replaced")
	assert.ElementsMatch(t, append(l.named(left, "unchanged"), l.named(without(more, left), "removed")...), lines(out))
}

// stopAndStart stops the group and starts it, at first one slice, while a watch of it tells.
func (l life) stopAndStart(t *testing.T) {
	ids := bench.SliceIDs(l.require(t, 2, launched, active))
	row := func(id, states string) string { return `^` + l.name + `@` + id + ` +\S+ +` + states }
	watch := l.start(t, "watch", l.name)
	watch.says(t, &watch.out, row(ids[0], "launched +launched +active +running"))

	out, _ := l.run(t, done, "stop", l.name)
	assert.ElementsMatch(t, l.named(ids, "stopped"), lines(out))
	assert.Equal(t, ids, bench.SliceIDs(l.require(t, 2, loaded, inactive)))
	out, errs := l.run(t, failed, "status", l.name)
	assert.Regexp(t, `(?m)`+row(ids[1], "loaded +loaded +inactive +dead"), out)
	assert.NotContains(t, errs, "squadronctl: ", "that it does not run is no error")
	watch.says(t, &watch.out, row(ids[0], "loaded +loaded +inactive +dead"))

	out, _ = l.run(t, done, "start", l.name+"@"+ids[0])
	assert.Equal(t, l.named(ids[:1], "started"), lines(out))
	for _, unit := range l.units(t) {
		ours := strings.Contains(unit.Name, "@"+ids[0]+".")
		assert.Equal(t, map[bool]string{true: launched, false: loaded}[ours], unit.Desired, unit.Name)
	}
	l.run(t, failed, "status", l.name)
	l.run(t, done, "status", l.name+"@"+ids[0])
	l.fails(t, notFound, "not found", "start", l.name+"@zzz")

	out, _ = l.run(t, done, "start", l.name)
	assert.ElementsMatch(t, l.named(ids, "started"), lines(out))
	assert.Equal(t, ids, bench.SliceIDs(l.require(t, 2, launched, active)))
	watch.says(t, &watch.out, row(ids[1], "loaded +loaded +inactive")+`(?s:.*\n)`+row(ids[1], "launched +launched +active +running"))
	watch.signal(t, syscall.SIGINT)
	assert.Equal(t, done, watch.code(t), "interrupting is how a watch ends")
	assert.Empty(t, watch.err.String())
}

func (l life) destroy(t *testing.T) {
	ids := bench.SliceIDs(l.units(t))
	out, _ := l.run(t, done, "destroy", l.name, "--dry-run")
	assert.ElementsMatch(t, l.named(ids, "destroyed (dry run)"), lines(out))
	assert.Equal(t, ids, bench.SliceIDs(l.units(t)))
	out, _ = l.run(t, done, "destroy", l.name, "--yes")
	assert.ElementsMatch(t, l.named(ids, "destroyed"), lines(out))
	assert.Empty(t, l.units(t))
	l.fails(t, notFound, "not found", "status", l.name)
	l.fails(t, notFound, "not found", "destroy", l.name, "--yes")
}

// readJSON reads what a command that succeeds gives for programs.
func readJSON(t *testing.T, by way, into any, args ...string) {
	t.Helper()
	out, _ := by.run(t, done, append(args, "-o", "json")...)
	require.NoError(t, json.Unmarshal([]byte(out), into), out)
}
