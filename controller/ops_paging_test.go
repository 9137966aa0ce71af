package controller_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/squadronctl/squadron/controller"
	"github.com/squadronctl/squadron/fleet"
	"github.com/squadronctl/squadron/fleet/fleettest"
)

// manyUnits has 250 units on the cluster: of web 50 slices of two units, of zoo 75.
func (b *bench) manyUnits(desired string) {
	for i := range 50 {
		b.put(desired, fmt.Sprintf("web-app@%03d.service", i), fmt.Sprintf("web-log@%03d.service", i))
	}
	for i := range 75 {
		b.put(desired, fmt.Sprintf("zoo-app@%03d.service", i), fmt.Sprintf("zoo-log@%03d.service", i))
	}
}

// R10, R20a, C8: pages that shift hide no unit and show none twice, whichever of the listings they shift in.
func TestShiftingPagesC8R20a(t *testing.T) {
	for _, every := range []int{1, 3} {
		for name, adjust := range map[string]func(*controller.Config){"fleet": nil, "narrow": overNarrow} {
			t.Run(fmt.Sprint(name, " ", every), func(t *testing.T) {
				onBench(t, fleettest.Config{PageLimit: 100}, adjust, func(t *testing.T, b *bench) {
					b.manyUnits("launched")
					for i := range 125 {
						name := fmt.Sprintf("web-x@%03d.service", i)
						require.NoError(t, b.cluster.Put(name, service("v1")+"\n[X-Squadron]\nGroup=zoo\n", "launched"))
					}
					for range 3 {
						require.True(t, b.cluster.Remove(b.names("web-x@")[0]))
					}
					b.faults.Set(fleettest.ShiftPages(b.cluster, every))
					for range 3 {
						statuses, err := b.controller.GetStatus(t.Context(), named("zoo", "zoo-app@.service", "zoo-log@.service"))
						require.NoError(t, err)
						names := namesOf(statuses)
						require.Equal(t, b.names("zoo-"), names)
						require.True(t, slices.IsSorted(names))
					}
				})
			})
		}
	}
}

// C8: GetStatus names all 250 units of one group each time, none twice, and with the states that they have.
func TestGetStatusOfManyC8(t *testing.T) {
	onBench(t, fleettest.Config{PageLimit: 100}, nil, func(t *testing.T, b *bench) {
		for i := range 125 {
			b.put("launched", fmt.Sprintf("web-app@%03d.service", i), fmt.Sprintf("web-log@%03d.service", i))
		}
		want := b.names("")
		require.Len(t, want, 250)
		shift := fleettest.ShiftPages(b.cluster, 3)
		for i := range 9 {
			if i == 6 {
				// From now on the list of states alone, whose every second listing lacks one.
				shift = fleettest.On("", "/state", fleettest.ShiftPages(b.cluster, 1))
			}
			b.faults.Set(shift)
			statuses, err := b.controller.GetStatus(t.Context(), of("web"))
			require.NoError(t, err)
			require.Equal(t, want, namesOf(statuses))
			for _, status := range statuses {
				require.Len(t, status.Machine, 1)
				assert.Equal(t, "active", status.Machine[0].SystemdActive, status.Name)
			}
		}
	})
}

// R10, C8: Destroy of one group among many is done when it is done, touches nothing else, and asks for no unit by name.
func TestDestroyAmongManyC8R10(t *testing.T) {
	onBench(t, fleettest.Config{PageLimit: 100}, nil, func(t *testing.T, b *bench) {
		b.manyUnits("launched")
		b.faults.Set(fleettest.ShiftPages(b.cluster, 3))
		b.cluster.ResetCounts()
		b.do(b.controller.Destroy, of("zoo"))
		assert.Empty(t, b.names("zoo"))
		assert.Len(t, b.names("web"), 100)
		counts := b.cluster.Counts()
		assert.Equal(t, 150, counts.Deletes)
		assert.Zero(t, counts.UnitReads)
	})
}

// R10: a unit that listings lack only now and then isn't gone: WaitCount of them in a row have to lack it.
func TestGoneNeedsListingsInARowR10(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		backend := newMemoryFleet()
		b := onBackend(t, backend)
		defer b.close()
		b.do(b.controller.Submit, request("web", 0, "1"))
		statuses, err := b.controller.GetStatus(t.Context(), of("web"))
		require.NoError(t, err)
		first := backend.listings + 3 // two to find the units, then the first look after the DELETEs
		backend.list = func(listing int, all []fleet.UnitStatus) []fleet.UnitStatus {
			switch {
			case listing < first:
				return statuses
			case listing == first+2:
				return statuses[:1] // one comes back after it was missing twice
			}
			return all
		}
		b.do(b.controller.Destroy, of("web"))
		assert.Equal(t, first+5, backend.listings)
		assert.Empty(t, backend.units)
	})
}

// R10, R20: of a few units among many it is not listings but reads by name that have to lack them, as often in a row. A DELETE
// that was answered and did nothing yet is not believed, nor is a unit that is missing now and then.
func TestGoneByNameInARowR10R20(t *testing.T) {
	onBench(t, fleettest.Config{PageLimit: 10}, nil, func(t *testing.T, b *bench) {
		b.manyUnits("launched")
		const name = "web-app@001.service"
		removed := time.Now().Add(20 * time.Second)
		time.AfterFunc(20*time.Second, func() { b.cluster.Remove(name) })
		reads := 0
		b.faults.Set(
			fleettest.On(http.MethodDelete, name, fleettest.Always(func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
				w.WriteHeader(http.StatusNoContent)
			})),
			fleettest.On(http.MethodGet, "/units/"+name, fleettest.Always(func(w http.ResponseWriter, r *http.Request, next http.Handler) {
				if reads++; reads%3 != 0 {
					fleettest.Fail(http.StatusNotFound, "unit does not exist")(w, r, next)
					return
				}
				next.ServeHTTP(w, r)
			})))
		b.cluster.ResetCounts()
		b.do(b.controller.Destroy, withSlices(of("web"), "001"))
		assert.GreaterOrEqual(t, time.Since(removed), time.Duration(0), "the unit was there until then")
		assert.NotContains(t, b.names("web"), name)
		assert.Len(t, b.names("web"), 98)
		counts := b.cluster.Counts()
		assert.Equal(t, discovery, counts.UnitListings, "to find the units")
		assert.Greater(t, counts.UnitReads, 20)
	})
}

// R10: where the answer to a DELETE was lost, the unit is asked for by name, and was removed.
func TestLostAnswerR10(t *testing.T) {
	onBench(t, fleettest.Config{}, nil, func(t *testing.T, b *bench) {
		b.put("loaded", "web@1.service", "web@2.service")
		b.faults.Set(fleettest.On(http.MethodDelete, "web@1", fleettest.Always(fleettest.LoseAnswer())))
		b.cluster.ResetCounts()
		b.do(b.controller.Destroy, of("web"))
		assert.Empty(t, b.names(""))
		assert.Equal(t, 1, b.cluster.Counts().UnitReads)
	})
	onBench(t, fleettest.Config{}, nil, func(t *testing.T, b *bench) {
		b.put("loaded", "web@1.service", "web@2.service")
		b.faults.Set(fleettest.On(http.MethodDelete, "web@1", fleettest.Always(fleettest.Drop())))
		err := b.try(b.controller.Destroy, of("web"))
		require.Error(t, err, "the DELETE never got there, and the unit is still to be seen")
		assert.True(t, fleet.IsTemporary(err), "%v", err)
		assert.ErrorContains(t, err, "destroy group web: destroy web@1.service")
		assert.Equal(t, []string{"web@1.service"}, b.names(""))
	})
}

// R10: a unit that somebody else has removed meanwhile is gone, which is all that was wanted.
func TestAlreadyGoneR10(t *testing.T) {
	onBench(t, fleettest.Config{}, nil, func(t *testing.T, b *bench) {
		b.put("loaded", "web@1.service", "web@2.service")
		b.faults.Set(fleettest.On(http.MethodDelete, "web@1", fleettest.First(1, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
			b.cluster.Remove("web@1.service")
			next.ServeHTTP(w, r)
		})))
		b.do(b.controller.Destroy, of("web"))
		assert.Empty(t, b.names(""))
	})
}

// R20a: two listings have to agree; after five that don't, each unit seen is asked for by name. A unit that only ever
// was in one of them, and isn't there, isn't found.
func TestListingsThatDifferR20a(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		backend := newMemoryFleet()
		b := onBackend(t, backend)
		defer b.close()
		b.do(b.controller.Submit, request("web", 0, "1", "2", "3"))
		sorted, err := b.controller.GetStatus(t.Context(), of("web"))
		require.NoError(t, err)
		require.Len(t, sorted, 6)

		// Each listing lacks another unit, one has one too many.
		begin := backend.listings
		backend.list = func(listing int, all []fleet.UnitStatus) []fleet.UnitStatus {
			i := listing - begin
			shown := slices.Delete(slices.Clone(sorted), i%6, i%6+1)
			if i == 2 {
				shown = append(shown, fleet.UnitStatus{Name: "web-app@4.service", Current: "loaded", Desired: "loaded"})
			}
			return shown
		}
		backend.gets = 0
		statuses, err := b.controller.GetStatus(t.Context(), of("web"))
		require.NoError(t, err)
		assert.Equal(t, namesOf(sorted), namesOf(statuses))
		assert.Equal(t, begin+5, backend.listings)
		assert.Equal(t, 7, backend.gets)

		// One odd listing: the next two agree.
		begin, backend.gets = backend.listings, 0
		backend.list = func(listing int, all []fleet.UnitStatus) []fleet.UnitStatus {
			if listing == begin+1 {
				return sorted[:3]
			}
			return sorted
		}
		statuses, err = b.controller.GetStatus(t.Context(), of("web"))
		require.NoError(t, err)
		assert.Len(t, statuses, 6)
		assert.Equal(t, begin+3, backend.listings)
		assert.Zero(t, backend.gets)
	})
}

// R20a: a look at known units asks by name for those that the listing lacks, and for no other.
func TestKnownUnitsAskedByNameR20a(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		backend := newMemoryFleet()
		b := onBackend(t, backend)
		defer b.close()
		b.do(b.controller.Submit, request("web", 0, "1", "2"))
		backend.list = func(_ int, all []fleet.UnitStatus) []fleet.UnitStatus {
			return slices.DeleteFunc(all, func(s fleet.UnitStatus) bool { return strings.HasPrefix(s.Name, "web-log@2") })
		}
		asked := map[string]int{}
		backend.before = func(method, name string) error {
			if method == "get" {
				asked[name]++
			}
			return nil
		}
		began := time.Now()
		req := withSlices(request("web", 0), "1", "2")
		require.NoError(t, b.controller.WaitForStatus(t.Context(), req, nil, controller.StatusStopped))
		assert.Equal(t, map[string]int{"web-log@2.service": 3}, asked)
		assert.LessOrEqual(t, time.Since(began), 3*time.Second)
	})
}
