package cli_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/squadronctl/squadron/controller"
	"github.com/squadronctl/squadron/fleet"
	"github.com/squadronctl/squadron/integration/groups/bench"
)

// The states that units are in, as fleet and systemd call them.
const (
	launched = "launched"
	loaded   = "loaded"
	active   = "active"
	inactive = "inactive"
)

// group is a group of the test's own: its directory of unit files, and how squadronctl reaches the cluster.
type group struct {
	way
	name, dir string
	// make gives the group's units in their nth version.
	make func(group string, n int) controller.Request
	// now is the version that the directory has.
	now controller.Request
}

// newGroup makes a group's directory, with version 0, and sees to it that the cluster is rid of the group in the end.
func newGroup(t *testing.T, by way, name string, make func(string, int) controller.Request) *group {
	t.Helper()
	site.Start(t)
	site.Observer.DeleteAll(t, name)
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(site.Cluster.Logs(40))
		}
	})
	g := &group{way: by, name: name, dir: filepath.Join(t.TempDir(), name), make: make}
	require.NoError(t, os.Mkdir(g.dir, 0o700))
	g.write(t, 0)
	return g
}

// write puts the nth version into the directory.
func (g *group) write(t *testing.T, n int) {
	t.Helper()
	g.now = g.make(g.name, n)
	for _, unit := range g.now.Units {
		writeFile(t, g.dir, unit.Name, unit.Content)
	}
}

// pairOf gives a slice two units, the second of which follows the first to its machine.
func pairOf(group string, n int) controller.Request { return bench.Pair(group, sleep(n)) }

// single gives a slice one unit.
func single(group string, n int) controller.Request {
	return bench.Request(group, controller.Unit{Name: group + "-main@.service", Content: bench.Service(sleep(n))})
}

func sleep(n int) string { return fmt.Sprint("/bin/sleep ", 100000+n) }

// units gives the group's units, as the cluster has them now, with all that fleet itself loses for a while.
func (g *group) units(t *testing.T) []bench.Unit {
	t.Helper()
	return site.Observer.Settled(t, patience, g.name+"-")
}

// require shows that the group has so many slices, of the contents that the directory has, in these states. What a command
// has waited for is there at once; what fleet itself loses for a while comes again.
func (g *group) require(t *testing.T, slices int, desired, systemd string) []bench.Unit {
	t.Helper()
	units := site.Observer.Settled(t, patience, g.name+"-")
	require.Len(t, units, slices*len(g.now.Units))
	for _, unit := range units {
		assert.Equal(t, desired, unit.Desired, "%+v", unit)
		assert.Equal(t, desired, unit.Current, "%+v", unit)
		assert.Equal(t, systemd, unit.Here().Active, "%+v", unit)
		assert.Equal(t, g.hash(t, unit.Name), unit.Here().Hash, "%+v", unit)
	}
	require.Len(t, bench.SliceIDs(units), slices)
	return units
}

// hash is the hash of the content that the directory has for a unit.
func (g *group) hash(t *testing.T, name string) string {
	t.Helper()
	hash, err := fleet.UnitHash(g.content(name))
	require.NoError(t, err)
	return hash
}

func (g *group) content(name string) string {
	base, _, _ := strings.Cut(name, "@")
	for _, unit := range g.now.Units {
		if strings.HasPrefix(unit.Name, base+"@") {
			if slices.Contains(g.flags, "--stamp") {
				return unit.Content + "[X-Squadron]\nGroup=" + g.name + "\n"
			}
			return unit.Content
		}
	}
	return ""
}

// bystander makes a running unit of another group, whose name only begins like the group's, and gives its name.
func (g *group) bystander(t *testing.T) string {
	t.Helper()
	name := g.name + "hook-main@b1.service"
	require.NoError(t, site.Observer.Put(context.Background(), name, launched, sleep(0)))
	return name
}

// without gives those IDs that are not among others.
func without(ids, others []string) []string {
	return slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return slices.Contains(others, id) })
}

// named puts IDs as results have them, a line for each.
func (g *group) named(ids []string, result string) []string {
	var lines []string
	for _, id := range ids {
		lines = append(lines, g.name+"@"+id+" "+result)
	}
	return lines
}

// lines takes an output apart.
func lines(out string) []string { return strings.Split(strings.TrimSuffix(out, "\n"), "\n") }
