package stacks_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/squadronctl/squadron/controller"
	"github.com/squadronctl/squadron/integration/groups/bench"
)

// lifeUnits begin the names of all units of the life of stacks.
const lifeUnits = "life"

const (
	webUnit    = "lifeweb-app@.service"
	dbUnit     = "lifedb-db.service"
	backupUnit = "lifedb-backup.service"
)

// life is the life of a directory of two stacks, one with slices as a manifest and one without as a group's directory, beside
// another owner's stack and units without stamp.
type life struct {
	owner
	others []string
}

// A directory is applied, changed by hand, set right, changed, and taken away, and nothing is touched that is not its owner's.
func TestLife(t *testing.T) {
	t.Parallel()
	l := &life{owner: onCluster(t, "life")}
	site.Observer.DeleteAll(t, lifeUnits)
	l.bystanders(t)
	l.deploy(t)
	l.hand(t, "lifeweb-hand.service") // named like one of the stack's
	guard := site.Observer.WatchUpdate(t, bench.Request("lifenone"), controller.UpdateOptions{}, 0, l.others...)
	before := l.othersWritten(t)
	l.changedByHand(t)
	l.removedByHand(t)
	l.fewerSlices(t)
	l.rollingUpdate(t)
	l.prune(t)
	guard.End(t)
	assert.Equal(t, before, l.othersWritten(t))
}

// applied is apply. Of a unit that was made anew under its name, on another machine, fleet loses the state for a while: then it
// may yet be on its way.
func (l *life) applied(t *testing.T, flags ...string) []string {
	t.Helper()
	rows := l.apply(t, done, flags...)
	for i := range rows {
		rows[i] = strings.Replace(rows[i], "lifedb synced progressing ", "lifedb synced healthy ", 1)
	}
	return rows
}

// bystanders makes what nobody may touch: another owner's stack, and a unit that nobody owns.
func (l *life) bystanders(t *testing.T) {
	team := l.owner
	team.name, team.dir = "team", t.TempDir()
	team.write(t, "lifeother.txtar", manifest("", 0, "lifeother-app@.service"))
	assert.Equal(t, []string{"lifeother synced healthy deployed missing"}, team.apply(t, done))
	l.others = namesOf(requireRunning(t, team, "lifeother", "lifeother-", 1, 0))
	l.hand(t, "lifehand-app@1.service")
}

// hand makes a unit that nobody owns.
func (l *life) hand(t *testing.T, unit string) {
	require.NoError(t, site.Observer.Put(t.Context(), unit, launched, sleep(0)))
	l.others = append(l.others, unit)
	site.Observer.Await(t, patience, unit+" runs", func(look bench.Snapshot) bool {
		return look.Units[unit].Here().Active == active
	})
}

func (l *life) othersWritten(t *testing.T) map[string][2]string {
	all := written(t, lifeUnits)
	found := map[string][2]string{}
	for _, name := range l.others {
		found[name] = all[name]
	}
	return found
}

// web gives the manifest of the stack with slices, in its nth version.
func (l *life) web(slices, n int) string {
	return manifest(fmt.Sprintf("slices: %d\nmax-growth: 1\nmin-alive: %d\n", slices, slices), n, webUnit)
}

// deploy brings what is declared to the cluster, save what is declared under names that are taken.
func (l *life) deploy(t *testing.T) {
	l.write(t, "lifeweb.txtar", l.web(3, 0))
	l.write(t, "lifedb/"+dbUnit, bench.Service(sleep(0)))
	l.write(t, "lifedb/"+backupUnit, bench.Service(sleep(0)))
	l.write(t, "README.md", "This is no manifest.\n")
	l.differs(t, "lifedb: would be deployed: nothing of it is there\nlifeweb: would be deployed: nothing of it is there\n", "diff", l.dir)
	assert.Empty(t, slices.Concat(site.Observer.Now(t).Named("lifedb"), site.Observer.Now(t).Named("lifeweb")), "a plan writes nothing")

	l.write(t, "lifeother.txtar", manifest("", 1, "lifeother-app@.service"))
	l.write(t, "lifehand.txtar", manifest("", 1, "lifehand-app@.service"))
	rows := l.apply(t, failed, "--prune", "--correct-drift")
	require.Len(t, rows, 4)
	assert.Equal(t, "lifedb synced healthy deployed missing", rows[0])
	assert.Regexp(t, `^lifehand \S+ \S+ failed `, rows[1])
	assert.Regexp(t, `^lifeother \S+ \S+ failed `, rows[2])
	assert.Equal(t, "lifeweb synced healthy deployed missing", rows[3])
	l.remove(t, "lifeother.txtar")
	l.remove(t, "lifehand.txtar")

	requireRunning(t, l.owner, "lifedb", "lifedb-", 2, 0)
	requireRunning(t, l.owner, "lifeweb", "lifeweb-", 3, 0)
	l.same(t)
	before := written(t, lifeUnits)
	assert.Equal(t, []string{"lifedb synced healthy none -", "lifeweb synced healthy none -"}, l.apply(t, done, "--prune", "--correct-drift"))
	assert.Equal(t, before, written(t, lifeUnits), "what is as declared is not written again")
}

// changedByHand has three changes made: a unit's content, a slice stopped, and a slice's unit removed. Each is shown by its
// field, let be, and set right once that is asked for.
func (l *life) changedByHand(t *testing.T) {
	web := namesOf(site.Observer.Now(t).Named("lifeweb-app@"))
	replaceByHand(t, dbUnit, "/bin/sleep 7")
	stopByHand(t, web[0])
	require.NoError(t, site.Observer.Delete(t.Context(), web[1]))

	const db, both = "was changed by hand", "lifedb: %[1]s\n" +
		"  " + dbUnit + " Service.ExecStart[0]: %[2]s -> %[3]s\n" +
		"lifeweb: %[1]s\n" +
		"  " + webUnit + " slices: %[4]s -> %[5]s\n" +
		"  " + webUnit + " state: %[6]s -> %[7]s\n"
	there, declared := []any{"/bin/sleep 7", "2", "1 of 2 launched"}, []any{sleep(0), "3", launched}
	fields := func(said string, from, to []any) string {
		return fmt.Sprintf(both, said, from[0], to[0], from[1], to[1], from[2], to[2])
	}
	l.differs(t, fields(db, declared, there), "drift")
	l.differs(t, fields(db+", which is let be without --correct-drift", there, declared), "diff", l.dir)
	before := written(t, lifeUnits)
	rows := l.applied(t, "--prune")
	require.Len(t, rows, 2)
	assert.Regexp(t, `^lifedb out-of-sync \S+ none drift$`, rows[0])
	assert.Regexp(t, `^lifeweb out-of-sync \S+ none drift$`, rows[1])
	assert.Equal(t, before, written(t, lifeUnits), "what was changed by hand is let be")

	assert.Equal(t, []string{"lifedb synced healthy deployed drift", "lifeweb synced healthy deployed drift"}, l.applied(t, "--correct-drift"))
	requireRunning(t, l.owner, "lifedb", "lifedb-", 2, 0)
	requireRunning(t, l.owner, "lifeweb", "lifeweb-app@", 3, 0)
	assert.Contains(t, namesOf(site.Observer.Now(t).Named("lifeweb-app@")), web[2], "what was as declared is not replaced")
	l.same(t)
}

// removedByHand has all of a service removed, which every pass brings back.
func (l *life) removedByHand(t *testing.T) {
	require.NoError(t, site.Observer.Delete(t.Context(), backupUnit))
	l.differs(t, "lifedb: not all of it is there\n  "+backupUnit+": not there\n", "drift")
	l.differs(t, "lifedb: would be deployed: not all of it is there\n  "+backupUnit+": not there\n", "diff", l.dir)
	assert.Equal(t, []string{"lifedb synced healthy deployed incomplete", "lifeweb synced healthy none -"}, l.applied(t))
	requireRunning(t, l.owner, "lifedb", "lifedb-", 2, 0)
	l.same(t)
}

// fewerSlices changes what stands in a manifest before its files, which replaces nothing.
func (l *life) fewerSlices(t *testing.T) {
	old := namesOf(site.Observer.Now(t).Named("lifeweb-app@"))
	l.write(t, "lifeweb.txtar", l.web(2, 0))
	l.differs(t, "lifeweb: would be deployed: its manifest is another\n  "+webUnit+" slices: 3 -> 2\n", "diff", l.dir)
	assert.Equal(t, []string{"lifedb synced healthy none -", "lifeweb synced healthy deployed manifest"}, l.applied(t))
	assert.Subset(t, old, namesOf(requireRunning(t, l.owner, "lifeweb", "lifeweb-app@", 2, 0)))
	l.same(t)
}

// rollingUpdate edits a manifest. Two slices run at any moment, and never more than three are there.
func (l *life) rollingUpdate(t *testing.T) {
	old := namesOf(site.Observer.Now(t).Named("lifeweb-app@"))
	l.write(t, "lifeweb.txtar", l.web(2, 1))
	l.differs(t, "lifeweb: would be deployed: its manifest is another\n  "+webUnit+" Service.ExecStart[0]: "+sleep(0)+" -> "+sleep(1)+"\n", "diff", l.dir)
	watch := site.Observer.WatchUpdate(t, bench.Request("lifeweb", controller.Unit{Name: webUnit}),
		controller.UpdateOptions{MaxGrowth: 1, MinAlive: 2}, 2, append([]string{dbUnit, backupUnit}, l.others...)...)
	assert.Equal(t, []string{"lifedb synced healthy none -", "lifeweb synced healthy deployed manifest"}, l.applied(t))
	watch.End(t)
	for _, name := range namesOf(requireRunning(t, l.owner, "lifeweb", "lifeweb-app@", 2, 1)) {
		assert.NotContains(t, old, name)
	}
	l.same(t)
}

// prune has one unit of a stack, and then all of it, not declared any more.
func (l *life) prune(t *testing.T) {
	l.remove(t, "lifedb/"+backupUnit)
	// The other unit is of another revision then. What went with the older one stays.
	assert.Equal(t, []string{"lifedb synced healthy deployed manifest", "lifeweb synced healthy none -"}, l.applied(t))
	l.sweeps(t, "lifedb - - %s service "+backupUnit+" is not declared", "service "+backupUnit, backupUnit)
	l.remove(t, "lifedb")
	l.sweeps(t, "lifedb - - %s not declared", "stack", dbUnit)
	assert.Equal(t, []string{"lifeweb synced healthy none -"}, l.applied(t, "--prune"))
}

// sweeps shows that a unit that is not declared any more stays until --prune, is named by a dry run, and then goes, and nothing
// else.
func (l *life) sweeps(t *testing.T, row, what, unit string) {
	before := written(t, lifeUnits)
	l.applied(t)
	assert.Equal(t, before, written(t, lifeUnits), "without --prune")
	l.finds(t, fmt.Sprintf(row, "would-remove"), "--prune", "--dry-run")
	l.differs(t, "lifedb: "+what+" would be removed: it is not declared\n", "diff", l.dir, "--prune")
	assert.Equal(t, before, written(t, lifeUnits), "a dry run")
	l.finds(t, fmt.Sprintf(row, "removed"), "--prune")
	delete(before, unit)
	assert.Equal(t, before, written(t, lifeUnits))
	l.same(t)
}

// finds applies until there is this row: a stack that is on its way is not swept.
func (l *life) finds(t *testing.T, row string, flags ...string) {
	t.Helper()
	require.Eventually(t, func() bool { return slices.Contains(l.applied(t, flags...), row) }, patience, time.Second, row)
}
