package fleettest_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/squadronctl/squadron/fleet/fleettest"
)

// line tells a change in one line.
func line(since time.Time, c fleettest.Change) string {
	text := fmt.Sprintf("%d %s", int(c.Time.Sub(since).Seconds()), c.Kind)
	if c.Machine != "" {
		text += " " + short(c.Machine)
	}
	return strings.TrimSpace(fmt.Sprintf("%s %s/%s %s %s", text, c.Desired, c.Current, c.Active, c.Sub))
}

// R22, R38: the feed tells every true state, in order and at its own time, however late anybody looks.
func TestOnChange(t *testing.T) {
	b := newBench(t, fleettest.Config{Timing: seconds()})
	start := b.clock.Now()
	var lines []string
	b.OnChange(func(c fleettest.Change) { lines = append(lines, line(start, c)) })
	b.put("web.service", service, "launched")
	b.clock.Advance(time.Minute)
	b.put("web.service", service+"User=web\n", "launched")
	b.clock.Advance(time.Minute)
	b.KillMachine(ids(1)[0])
	b.Remove("web.service")
	b.clock.Advance(time.Minute)
	b.Advance()
	assert.Equal(t, []string{
		"0 created launched/inactive",
		"1 scheduled m1 launched/inactive",
		"3 systemd-changed m1 launched/inactive inactive dead",
		"3 current-changed m1 launched/loaded",
		"3 current-changed m1 launched/launched",
		"4 systemd-changed m1 launched/launched activating start",
		"6 systemd-changed m1 launched/launched active running",
		"60 replaced m1 launched/launched",
		"61 current-changed m1 launched/loaded",
		"61 systemd-changed m1 launched/loaded deactivating stop-sigterm",
		"63 systemd-changed m1 launched/loaded inactive dead",
		"63 unloaded m1 launched/loaded",
		"65 systemd-changed m1 launched/loaded inactive dead",
		"65 current-changed m1 launched/launched",
		"66 systemd-changed m1 launched/launched activating start",
		"68 systemd-changed m1 launched/launched active running",
		"120 machine-lost m1 /",
		"120 unloaded m1 launched/launched",
		"120 destroyed m1 launched/launched",
		"135 machine-gone m1 /",
	}, lines)
}

// R38: a hook may use the cluster; what it causes comes after what it was called for.
func TestOnChangeHookUsesCluster(t *testing.T) {
	b := newBench(t, fleettest.Config{})
	var kinds []fleettest.ChangeKind
	inside := false
	b.OnChange(func(c fleettest.Change) {
		assert.False(t, inside, "calls never overlap")
		inside = true
		defer func() { inside = false }()
		kinds = append(kinds, c.Kind)
		if c.Kind == fleettest.SystemdChanged && c.Active == "active" {
			assert.True(t, b.Remove("web.service"))
			assert.Empty(t, b.Units())
		}
	})
	b.put("web.service", service, "launched")
	assert.Equal(t, fleettest.Created, kinds[0])
	assert.Contains(t, kinds, fleettest.Destroyed)
	assert.Less(t, slices.Index(kinds, fleettest.SystemdChanged), slices.Index(kinds, fleettest.Destroyed))
	assert.Equal(t, fleettest.Unloaded, kinds[len(kinds)-1])
}

// R37: many goroutines at once; hooks never overlap.
func TestConcurrentUse(t *testing.T) {
	b := newBench(t, fleettest.Config{Timing: fleettest.Fast()})
	created := 0
	b.OnChange(func(c fleettest.Change) {
		if c.Kind == fleettest.Created {
			created++
		}
	})
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for j := range 20 {
				name := fmt.Sprintf("web@%d-%d.service", i, j)
				assert.NoError(t, b.Put(name, service, "launched"))
				b.clock.Advance(time.Millisecond)
				b.Units()
				b.FailUnit(name)
			}
		})
	}
	wg.Wait()
	b.Advance()
	assert.Equal(t, 160, created)
}

// R37: a cluster of many units, in order over many pages.
func TestManyUnits(t *testing.T) {
	b := newBench(t, fleettest.Config{})
	for i := range 1500 {
		require.NoError(t, b.Put(fmt.Sprintf("web@%05d.service", i), service, "launched"))
	}
	_, names := b.pages("state", nothing)
	assert.Len(t, names, 1500)
	for _, unit := range b.Units() {
		require.Equal(t, "active", unit.On[0].Active)
	}
}

// A page of 100 states out of 1,000 and out of 10,000.
func BenchmarkStatePage(b *testing.B) {
	for _, n := range []int{1000, 10000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			c := fleettest.NewCluster(fleettest.Config{})
			for i := range n {
				require.NoError(b, c.Put(fmt.Sprintf("web@%05d.service", i), service, "launched"))
			}
			r := httptest.NewRequest(http.MethodGet, "/fleet/v1/state", nil)
			for b.Loop() {
				c.ServeHTTP(httptest.NewRecorder(), r)
			}
		})
	}
}

// R19: requests are counted by what they are about.
func TestCounts(t *testing.T) {
	b := newBench(t, fleettest.Config{PageLimit: 2})
	for i := range 3 {
		b.put(fmt.Sprintf("web@%d.service", i), service, "loaded")
	}
	b.pages("units", nothing)
	b.pages("state", nothing)
	b.pages("machines", nothing)
	b.look("web@0.service")
	b.ask(http.MethodGet, "/fleet/v1/state?unitName=web@0.service&nextPageToken="+token(2, 2), "")
	b.ask(http.MethodGet, "/fleet/v1/state/web@0.service", "")
	b.ask(http.MethodDelete, "/fleet/v1/units/web@0.service", "")
	b.ask(http.MethodGet, "/fleet/v1/discovery", "")
	b.ask(http.MethodPost, "/fleet/v1/units", "")
	assert.Equal(t, fleettest.Counts{
		UnitPages: 2, UnitListings: 1, StatePages: 4, StateListings: 2, StateFiltered: 1, MachinePages: 2, MachineListings: 1,
		UnitReads: 1, StateReads: 1, Puts: 3, Deletes: 1, Others: 2,
	}, b.Counts())
	b.ResetCounts()
	assert.Zero(t, b.Counts())
}
