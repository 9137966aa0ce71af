package stacks_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/squadronctl/squadron/controller"
	"github.com/squadronctl/squadron/integration/groups/bench"
)

// A reconciler that is killed (SIGKILL) in the midst of a deployment leaves nothing that the next one does not bring to its end,
// within the same bounds.
func TestReconcilerKilled(t *testing.T) {
	t.Parallel()
	for name, half := range map[string]func(units []bench.Unit) bool{
		"killadd": func(units []bench.Unit) bool { return slices.ContainsFunc(units, isNew) },
		"killold": func(units []bench.Unit) bool {
			return slices.ContainsFunc(units, func(u bench.Unit) bool { return !isNew(u) && u.Desired != launched })
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const n = 2
			o := onCluster(t, name)
			site.Observer.DeleteAll(t, name+"-")
			unit := name + "-app@.service"
			header := "slices: 2\nmax-growth: 1\nmin-alive: 2\n"
			o.write(t, name+".txtar", manifest(header, 0, unit))
			o.apply(t, done)
			old := namesOf(requireRunning(t, o, name, name+"-", n, 0))

			watch := site.Observer.WatchUpdate(t, bench.Request(name, controller.Unit{Name: unit}), controller.UpdateOptions{MaxGrowth: 1, MinAlive: n}, n)
			first := o.watch(t)
			first.says(t, name+` +synced +healthy +none +-$`)
			o.write(t, name+".txtar", manifest(header, 1, unit))
			site.Observer.Await(t, patience, "the deployment is half done", func(look bench.Snapshot) bool { return half(look.Named(name + "-")) })
			require.Equal(t, -1, first.end(t, syscall.SIGKILL))
			units := site.Observer.Now(t).Named(name + "-")
			require.True(t, slices.ContainsFunc(units, isNew) && slices.ContainsFunc(units, func(u bench.Unit) bool { return !isNew(u) }),
				"it was done, or not begun, when it was killed: %+v", units)
			assert.NotContains(t, first.out.String(), "deployed")

			second := o.watch(t)
			second.says(t, name+` +synced +\S+ +deployed +\S+$`)
			second.says(t, name+` +synced +healthy +none +-$`)
			watch.End(t)
			for _, unit := range requireRunning(t, o, name, name+"-", n, 1) {
				assert.NotContains(t, old, unit.Name)
			}
			assert.Equal(t, done, second.end(t, syscall.SIGTERM), "interrupting is how it ends")
			o.same(t)
			o.assertRecorded(t, name, 2)
		})
	}
}

// isNew says whether a unit is of version 1.
func isNew(unit bench.Unit) bool { return unit.Runs(sleep(1)) }

// assertRecorded shows that the state's directory has so many revisions of a stack, that the last of them is told to be deployed
// to its end and is the manifest of now, and that nothing half-written is left there.
func (o owner) assertRecorded(t *testing.T, stack string, revisions int) {
	t.Helper()
	state := filepath.Join(o.root, o.state)
	recorded, err := filepath.Glob(filepath.Join(state, o.name, stack, "*.manifest"))
	require.NoError(t, err)
	require.Len(t, recorded, revisions)
	deployed, err := filepath.Glob(filepath.Join(state, o.name+"%0Adeployed", stack, "*.manifest"))
	require.NoError(t, err)
	require.Len(t, deployed, 1)
	slices.Sort(recorded)
	want, err := os.ReadFile(o.path(stack + ".txtar"))
	require.NoError(t, err)
	for _, file := range []string{recorded[revisions-1], deployed[0]} {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		assert.Equal(t, string(want), string(text), file)
	}
	require.NoError(t, filepath.WalkDir(state, func(path string, _ os.DirEntry, err error) error {
		for _, left := range []string{".written-", ".removed-"} {
			assert.False(t, strings.HasPrefix(filepath.Base(path), left), path)
		}
		return err
	}))
}
