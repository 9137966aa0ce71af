package fleet_test

import (
	"fmt"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/squadronctl/squadron/fleet"
	"github.com/squadronctl/squadron/fleet/fleettest"
)

const sleeper = "[Service]\nExecStart=/bin/sleep 1000\n"

// many makes a cluster of so many launched units, and a client to it through a layer of faults.
func many(t testing.TB, units, limit int) (*fleettest.Cluster, *fleettest.Faults, *fleet.Client) {
	t.Helper()
	cluster := fleettest.NewCluster(fleettest.Config{PageLimit: limit})
	for i := range units {
		require.NoError(t, cluster.Put(unitName(i), sleeper, "launched"))
	}
	faults := fleettest.NewFaults(cluster)
	client, err := fleet.NewFleet(fleettest.ClientConfig(faults))
	require.NoError(t, err)
	t.Cleanup(func() { client.(*fleet.Client).Close() })
	return cluster, faults, client.(*fleet.Client)
}

func unitName(i int) string { return fmt.Sprintf("web@%06d.service", i) }

func unitNames(n int) []string {
	var names []string
	for i := range n {
		names = append(names, unitName(i))
	}
	return names
}

// asks gives what a read costs.
func asks(t *testing.T, cluster *fleettest.Cluster, client *fleet.Client, selector fleet.Selector) (fleet.Listing, fleettest.Counts) {
	t.Helper()
	cluster.ResetCounts()
	listing, err := client.ReadUnits(t.Context(), selector)
	require.NoError(t, err)
	return listing, cluster.Counts()
}

func reads(n int) fleettest.Counts {
	return fleettest.Counts{UnitReads: n, StatePages: n, StateListings: n, StateFiltered: n}
}

func pages(units, states int) fleettest.Counts {
	return fleettest.Counts{UnitPages: units, UnitListings: 1, StatePages: states, StateListings: 1}
}

// R20: names are read by name while that is no more requests than a listing.
func TestNamesAreReadTheCheaperWayR20(t *testing.T) {
	for _, c := range []struct {
		units, limit, names int
		first, then         fleettest.Counts
	}{
		{units: 3, limit: 100, names: 1, first: reads(1), then: reads(1)},
		{units: 3, limit: 100, names: 2, first: pages(1, 1), then: pages(1, 1)},
		{units: 20, limit: 10, names: 3, first: pages(3, 3), then: reads(3)},
		{units: 20, limit: 10, names: 4, first: pages(3, 3), then: pages(3, 3)},
	} {
		cluster, _, client := many(t, c.units, c.limit)
		_, err := client.ReadMachines(t.Context())
		require.NoError(t, err)
		selector := fleet.Selector{Names: unitNames(c.names)}
		listed, counts := asks(t, cluster, client, selector)
		assert.Equal(t, c.first, counts, "%+v", c)
		again, counts := asks(t, cluster, client, selector)
		assert.Equal(t, c.then, counts, "%+v", c)
		assert.Equal(t, listed.Units, again.Units, "either way tells the same")
		assert.Equal(t, c.then.UnitReads > 0 || c.units < c.limit, again.Whole)
	}
}

// R20: a few hundred units among a hundred times as many, in pages that make a listing dear.
func TestFewAmongManyAreReadByNameR20(t *testing.T) {
	cluster, _, client := many(t, 2000, 2)
	_, counts := asks(t, cluster, client, fleet.Selector{Groups: []string{"web"}})
	assert.InDelta(t, 2*1001, counts.UnitPages+counts.StatePages, 14)
	listing, counts := asks(t, cluster, client, fleet.Selector{Names: append(unitNames(300), unitName(0))})
	assert.Equal(t, reads(300), counts, "no machines, no listing, none twice")
	assert.Len(t, listing.Units, 300)
	assert.True(t, listing.Whole)
	_, counts = asks(t, cluster, client, fleet.Selector{Names: unitNames(300), Groups: []string{"db"}})
	assert.Equal(t, pages(1001, 1001), counts, "groups take a listing")
}

// R20: what is read by name, and what is listed, may lack any of the names.
func TestMissingNamesR20(t *testing.T) {
	cluster, _, client := many(t, 20, 10)
	selector := fleet.Selector{Names: []string{"gone@1.service", unitName(7)}}
	for range 2 {
		listing, _ := asks(t, cluster, client, selector)
		require.Len(t, listing.Units, 1)
		assert.Equal(t, unitName(7), listing.Units[0].Name)
	}
	_, counts := asks(t, cluster, client, fleet.Selector{Names: []string{"", unitName(7)}})
	assert.Zero(t, counts.UnitReads, "what can't be a name is not asked for, and no error beside others")
	_, err := client.ReadUnits(t.Context(), fleet.Selector{Names: []string{"", unitName(7)}, Exact: true})
	assert.True(t, fleet.IsInvalidRequest(err))
}

// R20: a cluster that was large once does not keep a client from listing for ever.
func TestCostOfAListingIsForgottenR20(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cluster, _, client := many(t, 20, 2)
		selector := fleet.Selector{Names: unitNames(5)}
		_, counts := asks(t, cluster, client, selector)
		assert.GreaterOrEqual(t, counts.UnitPages, 11)
		for i := 5; i < 20; i++ {
			cluster.Remove(unitName(i))
		}
		time.Sleep(10*time.Minute - time.Second)
		_, counts = asks(t, cluster, client, selector)
		assert.Equal(t, 5, counts.UnitReads)
		time.Sleep(time.Second)
		_, counts = asks(t, cluster, client, selector)
		assert.Equal(t, 3, counts.UnitPages)
		_, counts = asks(t, cluster, client, selector)
		assert.Equal(t, 3, counts.UnitPages, "ten requests by name, against six")
	})
}

// R20, R19: a look is one pass over its pages, each asked for once, and few beyond the end.
func TestPagesSideBySideR20(t *testing.T) {
	for _, units := range []int{1, 9, 10, 11, 19, 20, 35, 79, 80, 81, 500, 1000} {
		want := units/10 + 1
		cluster, _, client := many(t, units, 10)
		selector := fleet.Selector{}
		listing, first := asks(t, cluster, client, selector)
		require.Len(t, listing.Units, units)
		assert.Equal(t, want == 1, listing.Whole)
		for _, pages := range []int{first.UnitPages, first.StatePages} {
			assert.GreaterOrEqual(t, pages, want, units)
			assert.LessOrEqual(t, pages, min(want+7, 2*want), "%d units", units)
		}
		again, second := asks(t, cluster, client, selector)
		assert.Equal(t, listing, again)
		assert.Equal(t, pages(want, want), second, "none too many once it is known how many there are")

		for i := range units - 1 {
			cluster.Remove(unitName(i))
		}
		listing, third := asks(t, cluster, client, selector)
		assert.Len(t, listing.Units, 1)
		assert.LessOrEqual(t, third.UnitPages, min(want, 8), "eight were under way when the end was found")
	}
}

// R20: how many rounds a listing takes, and that there are never more than eight requests for one list.
func TestPagesTakeFewRoundsR20(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, faults, client := many(t, 1000, 10)
		var mutex sync.Mutex
		running, most := 0, 0
		faults.Set(fleettest.On(http.MethodGet, "/units", func(*http.Request) fleettest.Action {
			return func(w http.ResponseWriter, r *http.Request, next http.Handler) {
				mutex.Lock()
				running++
				most = max(most, running)
				mutex.Unlock()
				next.ServeHTTP(w, r)
				mutex.Lock()
				running--
				mutex.Unlock()
			}
		}), fleettest.Always(fleettest.Latency(time.Second)))
		for _, rounds := range []int{1 + 4 + 13, 1 + 13, 1 + 13} {
			began := time.Now()
			_, err := client.ReadUnits(t.Context(), fleet.Selector{})
			require.NoError(t, err)
			assert.LessOrEqual(t, time.Since(began), time.Duration(rounds)*time.Second)
		}
		assert.Equal(t, 8, most)
	})
}

// An error of one page is the listing's, and ends the other pages' requests.
func TestErrorOfAPageR20(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cluster, faults, client := many(t, 1000, 10)
		_, err := client.ReadUnits(t.Context(), fleet.Selector{})
		require.NoError(t, err)
		cluster.ResetCounts()
		faults.Set(fleettest.On(http.MethodGet, "/units", func(r *http.Request) fleettest.Action {
			switch token := r.URL.Query().Get("nextPageToken"); {
			case token == "CgAFAA==":
				return fleettest.Fail(http.StatusBadRequest, "no such page")
			case token != "":
				return fleettest.Hang()
			}
			return nil
		}))
		began := time.Now()
		_, err = client.ReadUnits(t.Context(), fleet.Selector{})
		var answer *fleet.APIError
		require.ErrorAs(t, err, &answer)
		assert.Equal(t, http.StatusBadRequest, answer.StatusCode)
		assert.Zero(t, time.Since(began), "nothing was waited for")
		assert.Equal(t, 1, cluster.Counts().UnitPages)
	})
}

// R20: the machines are asked for when a minute has passed, or when one is not known.
func TestMachinesAreAskedForSeldomR20(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cluster, _, client := many(t, 6, 100)
		listings := func(read func() error) int {
			cluster.ResetCounts()
			require.NoError(t, read())
			return cluster.Counts().MachineListings
		}
		look := func() error {
			_, err := client.ReadUnits(t.Context(), fleet.Selector{})
			return err
		}
		status := func() error {
			_, err := client.GetStatus(t.Context(), unitName(1))
			return err
		}
		match := func() error {
			_, err := client.GetStatusWithMatcher(func(string) bool { return true })
			return err
		}
		machines := func() error {
			_, err := client.ReadMachines(t.Context())
			return err
		}
		assert.Equal(t, 1, listings(look), "the first time")
		for _, read := range []func() error{look, status, match} {
			assert.Equal(t, 0, listings(read))
		}
		assert.Equal(t, 1, listings(machines), "ReadMachines always asks")
		time.Sleep(time.Minute - 1)
		for _, read := range []func() error{look, status, match} {
			assert.Equal(t, 0, listings(read), "the last list is not a minute old")
		}
		for _, read := range []func() error{look, status, match} {
			time.Sleep(time.Minute)
			assert.Equal(t, 1, listings(read), "a minute has passed")
			assert.Equal(t, 0, listings(read))
		}

		added := fleettest.DefaultMachines(4)[3]
		cluster.AddMachine(added)
		require.NoError(t, cluster.Put("new.service", sleeper+"[X-Fleet]\nMachineID="+added.ID+"\n", "launched"))
		for _, read := range []func() error{look, match} {
			time.Sleep(time.Minute)
			assert.Equal(t, 1, listings(read))
			assert.Equal(t, 0, listings(read))
		}
		status4, err := client.GetStatus(t.Context(), "new.service")
		require.NoError(t, err)
		assert.Equal(t, added.IP.String(), status4.Machine[0].IP.String())
		another := fleettest.DefaultMachines(5)[4]
		cluster.AddMachine(another)
		require.NoError(t, cluster.Put("newer.service", sleeper+"[X-Fleet]\nMachineID="+another.ID+"\n", "launched"))
		assert.Equal(t, 0, listings(status), "not that one's machine")
		assert.Equal(t, 1, listings(look), "a machine that is not known")
		assert.Equal(t, 0, listings(look))
	})
}

// R20: a machine that is no longer listed has IP nil, a minute later at the latest.
func TestLostMachineHasNoIPR20(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cluster := fleettest.NewCluster(fleettest.Config{Timing: fleettest.Timing{MachineTTL: time.Hour}})
		id := fleettest.DefaultMachines(1)[0].ID
		require.NoError(t, cluster.Put("a.service", sleeper+"[X-Fleet]\nGlobal=true\n", "launched"))
		made, err := fleet.NewFleet(fleettest.ClientConfig(cluster))
		require.NoError(t, err)
		client := made.(*fleet.Client)
		defer client.Close()
		before, err := client.GetStatus(t.Context(), "a.service")
		require.NoError(t, err)
		require.NotNil(t, before.Machine[0].IP)
		cluster.KillMachine(id)
		after, err := client.GetStatus(t.Context(), "a.service")
		require.NoError(t, err)
		require.Equal(t, id, after.Machine[0].ID, "its last word lingers")
		assert.Nil(t, after.Machine[0].IP)
	})
}

// R13: a global unit is due on the machines that are listed now, so the list is never an old one.
func TestGlobalUnitsNeedACurrentListOfMachinesR13(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cluster := fleettest.NewCluster(fleettest.Config{Timing: fleettest.Timing{Load: time.Hour}})
		require.NoError(t, cluster.Put("g.service", sleeper+"[X-Fleet]\nGlobal=true\n", "launched"))
		require.NoError(t, cluster.Put("a.service", sleeper, "launched"))
		made, err := fleet.NewFleet(fleettest.ClientConfig(cluster))
		require.NoError(t, err)
		client := made.(*fleet.Client)
		defer client.Close()
		for machines := 3; machines < 6; machines++ {
			for _, selector := range []fleet.Selector{{}, {Groups: []string{"g"}}, {Names: []string{"g.service"}},
				{Names: []string{"a.service", "g.service"}}} {
				cluster.ResetCounts()
				listing, err := client.ReadUnits(t.Context(), selector)
				require.NoError(t, err)
				unit := listing.Units[len(listing.Units)-1]
				require.Equal(t, "g.service", unit.Name)
				assert.Equal(t, machines, unit.Missing)
				assert.Equal(t, 1, cluster.Counts().MachineListings)
			}
			cluster.ResetCounts()
			_, err := client.ReadUnits(t.Context(), fleet.Selector{Names: []string{"a.service"}})
			require.NoError(t, err)
			assert.Zero(t, cluster.Counts().MachineListings, "this one is not global")
			cluster.AddMachine(fleettest.DefaultMachines(machines + 1)[machines])
		}
	})
}

// What a caller does with the machines it was given changes nothing for others.
func TestMachinesAreTheCallersOwn(t *testing.T) {
	_, _, client := many(t, 3, 100)
	mine, err := client.ReadMachines(t.Context())
	require.NoError(t, err)
	for i := range mine {
		mine[i].IP[len(mine[i].IP)-1]++
		clear(mine[i].Metadata)
	}
	listing, err := client.ReadUnits(t.Context(), fleet.Selector{})
	require.NoError(t, err)
	want := fleettest.DefaultMachines(1)[0]
	assert.Equal(t, want.IP.String(), listing.Units[0].Machine[0].IP.String())
	listing.Units[0].Machine[0].IP[15]++
	again, err := client.GetStatus(t.Context(), listing.Units[0].Name)
	require.NoError(t, err)
	assert.Equal(t, want.IP.String(), again.Machine[0].IP.String())
}
