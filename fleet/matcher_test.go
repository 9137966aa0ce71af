package fleet

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func isWeb(name string) bool { return strings.HasPrefix(name, "web") }

// shifting gives a cluster of 250 units over three pages, before one of whose pages, now and then, somebody's unit
// appears or vanishes; every is how many listings go by between that.
func shifting(every int) *cluster {
	fleetd := &cluster{}
	for i := range 250 {
		fleetd.units = append(fleetd.units, wireUnit{Name: fmt.Sprintf("web@%03d.service", i)})
	}
	listings := 0
	fleetd.onPage = func(list string, page int) {
		if list != "units" {
			return
		}
		if page == 0 {
			listings++
		}
		if page != 1 || listings%every != 0 {
			return
		}
		if fleetd.units[0].Name == "a.service" {
			fleetd.units = fleetd.units[1:]
		} else {
			fleetd.units = append([]wireUnit{{Name: "a.service"}}, fleetd.units...)
		}
	}
	return fleetd
}

// C8, R20a: whatever comes and goes between pages, each unit is named, and once. With every listing shifted, no two in a
// row may agree, and units are asked for by name.
func TestMatcherOverShiftingPages(t *testing.T) {
	for _, every := range []int{1, 2, 3} {
		client := clientOn(t, inProcess(shifting(every)), Config{})
		for range 6 {
			found, err := client.GetStatusWithMatcher(isWeb)
			require.NoError(t, err)
			require.Len(t, found, 250, "every %d", every)
			for i, status := range found {
				require.Equal(t, fmt.Sprintf("web@%03d.service", i), status.Name)
			}
		}
	}
}

// R20a: of the units seen in five looks, one that is gone by then is left out.
func TestUnionIsAskedByName(t *testing.T) {
	fleetd := &cluster{pageSize: 1, units: []wireUnit{{Name: "web-kept"}}}
	looks := 0
	fleetd.onPage = func(list string, page int) {
		if list == "units" && page == 0 {
			looks++
			fleetd.units = []wireUnit{{Name: "web-kept"}, {Name: fmt.Sprintf("web-%d", looks)}}
		}
	}
	found, err := clientOn(t, inProcess(fleetd), Config{}).GetStatusWithMatcher(isWeb)
	require.NoError(t, err)
	assert.Equal(t, 5, looks)
	require.Len(t, found, 2)
	assert.Equal(t, "web-5", found[0].Name)
	assert.Equal(t, "web-kept", found[1].Name)
}

func TestMatcherTakesOneLookAtOnePage(t *testing.T) {
	fleetd := &cluster{units: []wireUnit{{Name: "web"}, {Name: "db"}}}
	looks := 0
	fleetd.onPage = func(list string, page int) {
		if list == "units" {
			looks++
		}
	}
	found, err := clientOn(t, inProcess(fleetd), Config{}).GetStatusWithMatcher(isWeb)
	require.NoError(t, err)
	assert.Equal(t, []UnitStatus{{Name: "web", Current: "inactive", Desired: "inactive"}}, found)
	assert.Equal(t, 1, looks)
}

// R20a: two looks that agree are enough.
func TestMatcherTakesTwoLooksAtQuietPages(t *testing.T) {
	fleetd := &cluster{pageSize: 1, units: []wireUnit{{Name: "web-a"}, {Name: "web-b"}}}
	looks := 0
	fleetd.onPage = func(list string, page int) {
		if list == "units" && page == 0 {
			looks++
		}
	}
	found, err := clientOn(t, inProcess(fleetd), Config{}).GetStatusWithMatcher(isWeb)
	require.NoError(t, err)
	assert.Len(t, found, 2)
	assert.Equal(t, 2, looks)
}
