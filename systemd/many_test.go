package systemd

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/squadronctl/squadron/fleet"
)

const many = 200

func namesOfMany() []string {
	var names []string
	for i := range many {
		names = append(names, fmt.Sprintf("web@%d.service", i))
	}
	return names
}

// sideBySide does something with all names at once.
func sideBySide(names []string, do func(name string) error) error {
	errs := make([]error, len(names))
	var wait sync.WaitGroup
	for i, name := range names {
		wait.Go(func() { errs[i] = do(name) })
	}
	wait.Wait()
	return errors.Join(errs...)
}

// New units that are submitted side by side come to systemd together, and nothing is asked about each of them. Units that
// don't run are not loaded again to be looked at.
func TestManyUnitsCostFewCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, Config{})
		defer s.host.Close()
		s.fake.onCall = func(string) { time.Sleep(10 * time.Millisecond) }
		names := namesOfMany()
		require.NoError(t, sideBySide(names, func(name string) error { return s.host.Submit(t.Context(), name, service("a")) }))
		assert.Equal(t, 1, s.fake.count("states"), "loads")
		assert.LessOrEqual(t, s.fake.count("known"), 10, "looks at what systemd has in memory")
		assert.Zero(t, s.fake.count("outdated"), "questions about single units")
		assert.Zero(t, s.fake.count("reload"))
		for range 3 {
			listing, err := s.host.ReadUnits(t.Context(), fleet.Selector{Groups: []string{"web"}})
			require.NoError(t, err)
			require.Len(t, listing.Units, many)
			for _, unit := range listing.Units {
				require.Equal(t, "loaded", unit.Current)
				require.Equal(t, unit.Hash, unit.Machine[0].UnitHash)
				require.Equal(t, "inactive", unit.Machine[0].SystemdActive)
			}
		}
		assert.Equal(t, 1, s.fake.count("states"), "a look has loaded units")
		assert.GreaterOrEqual(t, s.host.Concurrency(), many)
	})
}

// Another program finds the same, though it has to load the units once.
func TestManyUnitsOfAnotherProgram(t *testing.T) {
	s := newSite(t, Config{})
	names := namesOfMany()
	require.NoError(t, sideBySide(names, func(name string) error { return s.host.SubmitLaunched(t.Context(), name, service("a")) }))
	s.restart()
	listing, err := s.host.ReadUnits(t.Context(), fleet.Selector{})
	require.NoError(t, err)
	require.Len(t, listing.Units, many)
	for _, unit := range listing.Units {
		require.Equal(t, "active", unit.Machine[0].SystemdActive)
		require.Equal(t, unit.Hash, unit.Machine[0].UnitHash)
	}
	require.NoError(t, sideBySide(names, func(name string) error { return s.host.Destroy(t.Context(), name) }))
	assert.Empty(t, s.left())
}

// What other programs have destroyed is not remembered for ever.
func TestUnitsDestroyedByOthersAreForgotten(t *testing.T) {
	s := newSite(t, Config{})
	for _, name := range []string{"web@1.service", "web@2.service"} {
		require.NoError(t, s.host.Submit(t.Context(), name, service("a")))
	}
	other := newHost(Config{}, s.disk, s.fake, s.host.host)
	require.NoError(t, other.Destroy(t.Context(), "web@1.service"))
	_, err := s.host.ReadUnits(t.Context(), fleet.Selector{})
	require.NoError(t, err)
	assert.Equal(t, []string{"web@2.service"}, sortedKeys(s.host.facts.files))
	assert.Equal(t, []string{"web@2.service"}, sortedKeys(s.host.facts.loaded))
}

// Among many names, too, one that the host has from elsewhere is refused, and so is an instance of somebody's template.
func TestForeignUnitAmongMany(t *testing.T) {
	s := newSite(t, Config{})
	s.put("[Service]\nExecStart=/bin/true\n", "lib", "web@7.service")
	s.put("[Service]\nExecStart=/bin/true\n", "lib", "theirs@.service")
	names := append(namesOfMany(), "theirs@1.service")
	var mutex sync.Mutex
	var refused []string
	require.NoError(t, sideBySide(names, func(name string) error {
		err := s.host.Submit(t.Context(), name, service("a"))
		if !IsForeignUnit(err) {
			return err
		}
		mutex.Lock()
		defer mutex.Unlock()
		refused = append(refused, name)
		return nil
	}))
	assert.ElementsMatch(t, []string{"web@7.service", "theirs@1.service"}, refused)

	lists, err := s.host.listNames(t.Context(), names) // as for those who ask at the same time
	require.NoError(t, err)
	for _, name := range names {
		err := s.host.refuseForeign(t.Context(), name, unitState{}, false, lists[name].present)
		assert.Equal(t, slices.Contains(refused, name), IsForeignUnit(err), "%s: %v", name, err)
	}
}

// Of two units that can't be on one host together, submitted side by side, one is refused.
func TestConflictAmongMany(t *testing.T) {
	for range 20 {
		s := newSite(t, Config{})
		var mutex sync.Mutex
		var there []string
		require.NoError(t, sideBySide([]string{"a.service", "b.service"}, func(name string) error {
			err := s.host.Submit(t.Context(), name, service(name, "\n[X-Fleet]\nConflicts=*.service\n"))
			if IsUnmetRequirement(err) {
				return nil
			}
			mutex.Lock()
			defer mutex.Unlock()
			there = append(there, name)
			return err
		}))
		assert.Len(t, there, 1)
	}
}

// A run waits for those who are expected, as long as they may take, and for nobody else.
func TestBatchExpects(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var life lifetime
		defer life.end()
		var served [][]string
		b := &batch[struct{}]{life: &life, run: func(_ context.Context, names []string) (map[string]struct{}, error) {
			served = append(served, names)
			return nil, nil
		}}
		begun := time.Now()
		require.NoError(t, b.do(t.Context(), "alone"))
		assert.Zero(t, time.Since(begun))

		first, second := b.expect(), b.expect()
		var wait sync.WaitGroup
		wait.Go(func() { assert.NoError(t, b.do(t.Context(), "a")) })
		time.Sleep(50 * time.Millisecond)
		wait.Go(func() { assert.NoError(t, b.do(t.Context(), "b")) })
		synctest.Wait()
		first()
		second()
		second()
		wait.Wait()
		assert.Equal(t, [][]string{{"alone"}, {"a", "b"}}, served)

		never := b.expect()
		defer never()
		begun = time.Now()
		require.NoError(t, b.do(t.Context(), "c"))
		assert.Equal(t, maxGather, time.Since(begun))
	})
}

// A start that systemd refuses before it has begun is an error, since the unit's state says nothing of it.
func TestRefusedStart(t *testing.T) {
	s := newSite(t, Config{})
	require.NoError(t, s.host.Submit(t.Context(), "web@1.service", service("a")))
	s.fake.refusesStart = true
	err := s.host.Start(t.Context(), "web@1.service")
	assert.ErrorContains(t, err, "systemd refused to start it: journalctl -u web@1.service tells why")
	assert.Equal(t, "inactive", s.fake.state("web@1.service").Active)
}
