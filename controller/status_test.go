package controller

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/squadronctl/squadron/fleet"
)

// The first nine rows are those that programs rely on, in this order.
func TestStatusIndexR11(t *testing.T) {
	assert.Equal(t, []StatusContext{
		{"inactive", "launched", "active", "running", "running"},
		{"inactive", "*", "*", "*", "stopped"},
		{"loaded|launched", "*", "inactive", "*", "stopped"},
		{"loaded|launched", "*", "failed", "*", "failed"},
		{"loaded|launched", "*", "activating", "*", "starting"},
		{"loaded|launched", "*", "deactivating", "*", "stopping"},
		{"loaded|launched", "*", "active|reloading", "stop-sigterm|stop-post|stop", "stopping"},
		{"loaded|launched", "*", "active|reloading", "auto-restart|launched|start-pre|start-pre|start-post|start|dead", "starting"},
		{"loaded|launched", "*", "active|reloading", "exited|running", "running"},
	}, StatusIndex[:9])
}

// alternatives are the values that a pattern stands for; "*" stands for some that nothing else names.
func alternatives(pattern string) []string {
	if pattern == "*" {
		return []string{"", "anything", "*", "loaded", "launched"}
	}
	return strings.Split(pattern, "|")
}

// Every row and every alternative of it gives the row's status, unless a row above has taken it.
func TestAggregateStatusEveryRowR11(t *testing.T) {
	for number, row := range StatusIndex {
		reached := 0
		for _, fc := range alternatives(row.FleetCurrent) {
			for _, fd := range alternatives(row.FleetDesired) {
				for _, sa := range alternatives(row.SystemdActive) {
					for _, ss := range alternatives(row.SystemdSub) {
						if takenAbove(number, fc, fd, sa, ss) {
							continue
						}
						reached++
						status, err := Aggregator{}.AggregateStatus(fc, fd, sa, ss)
						require.NoError(t, err)
						assert.Equal(t, row.Aggregated, status, "row %d: %s %s %s %s", number, fc, fd, sa, ss)
					}
				}
			}
		}
		assert.Positive(t, reached, "row %d is never reached", number)
	}
}

func takenAbove(number int, fc, fd, sa, ss string) bool {
	in := func(pattern, value string) bool {
		return pattern == "*" || strings.Contains("|"+pattern+"|", "|"+value+"|")
	}
	for _, row := range StatusIndex[:number] {
		if in(row.FleetCurrent, fc) && in(row.FleetDesired, fd) && in(row.SystemdActive, sa) && in(row.SystemdSub, ss) {
			return true
		}
	}
	return false
}

func TestAggregateStatusR11R12(t *testing.T) {
	for _, c := range []struct {
		fc, fd, sa, ss string
		want           Status
	}{
		// The first row stands before the second.
		{"inactive", "launched", "active", "running", StatusRunning},
		{"inactive", "loaded", "active", "running", StatusStopped},
		{"inactive", "launched", "active", "exited", StatusStopped},
		{"inactive", "", "", "", StatusStopped},
		{"loaded", "launched", "inactive", "dead", StatusStopped},
		{"launched", "launched", "failed", "failed", StatusFailed},
		{"launched", "launched", "activating", "auto-restart", StatusStarting},
		{"launched", "launched", "active", "dead", StatusStarting},
		{"launched", "loaded", "reloading", "stop-sigterm", StatusStopping},
		{"launched", "launched", "reloading", "running", StatusRunning},
		// R12.
		{"launched", "launched", "reloading", "reload", StatusRunning},
		{"launched", "launched", "active", "reload", StatusRunning},
		{"launched", "launched", "active", "listening", StatusRunning},
		{"launched", "launched", "active", "waiting", StatusRunning},
		{"launched", "launched", "active", "elapsed", StatusRunning},
		{"launched", "launched", "active", "mounted", StatusRunning},
		{"launched", "launched", "active", "plugged", StatusRunning},
		{"launched", "launched", "active", "active", StatusRunning},
		{"launched", "launched", "refreshing", "reload-notify", StatusRunning},
		{"launched", "launched", "maintenance", "cleaning", StatusStopped},
	} {
		status, err := Aggregator{}.AggregateStatus(c.fc, c.fd, c.sa, c.ss)
		require.NoError(t, err, c)
		assert.Equal(t, c.want, status, c)
	}
}

func TestAggregateStatusUnknown(t *testing.T) {
	for _, c := range [][4]string{
		{"fc", "fd", "sa", "ss"},
		{"", "launched", "active", "running"},
		{"loaded", "launched", "", ""},
		{"loaded|launched", "launched", "active", "running"},
		{"load", "launched", "active", "running"},
		{"launched", "launched", "activ", "running"},
	} {
		status, err := Aggregator{}.AggregateStatus(c[0], c[1], c[2], c[3])
		assert.Empty(t, status)
		require.True(t, IsInvalidUnitStatus(err), c)
		for _, state := range c {
			assert.ErrorContains(t, err, `"`+state+`"`)
		}
	}
}

// A program's own rows count too.
func TestAggregateStatusReadsStatusIndex(t *testing.T) {
	before := StatusIndex
	t.Cleanup(func() { StatusIndex = before })
	StatusIndex = append(slices.Clone(before), StatusContext{"lost|gone", "*", "*", "*", StatusNotFound})
	status, err := Aggregator{}.AggregateStatus("gone", "launched", "active", "running")
	require.NoError(t, err)
	assert.Equal(t, StatusNotFound, status)
}

// R11: nothing is allocated on success, by whatever row.
func TestAggregateStatusAllocatesNothingR11(t *testing.T) {
	for _, sub := range []string{"running", "listening"} {
		assert.Zero(t, testing.AllocsPerRun(100, func() {
			_, _ = Aggregator{}.AggregateStatus("launched", "launched", "active", sub)
		}))
	}
	assert.Zero(t, testing.AllocsPerRun(100, func() {
		_, _ = Aggregator{}.AggregateStatus("launched", "launched", "maintenance", "cleaning")
	}))
}

func machines(states ...string) []fleet.MachineStatus {
	var list []fleet.MachineStatus
	for _, state := range states {
		active, sub, _ := strings.Cut(state, "/")
		list = append(list, fleet.MachineStatus{ID: "m" + active, SystemdActive: active, SystemdSub: sub})
	}
	return list
}

// R13 and C20 (no Logger is needed).
func TestUnitHasStatusR13C20(t *testing.T) {
	for _, c := range []struct {
		machines []fleet.MachineStatus
		statuses []Status
		want     bool
	}{
		{machines("active/running"), []Status{StatusRunning}, true},
		{machines("active/running"), []Status{StatusStopped, StatusRunning}, true},
		{machines("active/running"), []Status{StatusStopped}, false},
		{machines("active/running", "failed/failed"), []Status{StatusRunning}, false},
		{machines("failed/failed", "active/running"), []Status{StatusRunning}, false},
		{machines("failed/failed", "active/running"), []Status{StatusRunning, StatusFailed}, true},
		{nil, []Status{StatusStopped, StatusNotFound}, false},
	} {
		us := fleet.UnitStatus{Name: "web@1.service", Current: "launched", Desired: "launched", Machine: c.machines}
		has, err := Aggregator{}.UnitHasStatus(us, c.statuses...)
		require.NoError(t, err)
		assert.Equal(t, c.want, has, c)
	}
}

func TestUnitHasStatusErrorsR13(t *testing.T) {
	us := fleet.UnitStatus{Name: "web@1.service", Current: "launched", Desired: "launched"}
	us.Machine = machines("failed/failed", "odd/odder")
	has, err := Aggregator{}.UnitHasStatus(us, StatusRunning)
	assert.False(t, has)
	assert.True(t, IsInvalidUnitStatus(err))
	for _, part := range []string{"web@1.service", `"launched"`, `"odd"`, `"odder"`} {
		assert.ErrorContains(t, err, part)
	}

	_, err = Aggregator{}.UnitHasStatus(us)
	assert.True(t, IsInvalidArgument(err))
	assert.ErrorContains(t, err, "web@1.service")
}

func BenchmarkAggregateStatusLastRow(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := (Aggregator{}).AggregateStatus("launched", "launched", "maintenance", "cleaning"); err != nil {
			b.Fatal(err)
		}
	}
}
