package fleet

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// R20, R20a: the states of what was destroyed linger, so units that fit on one page can have states on several. Those pages
// shift, too: such a listing may lack a state, and is not whole.
func TestListingIsNotWholeWhereStatesHavePagesR20a(t *testing.T) {
	fleetd := &cluster{machines: machines(), pageSize: 10}
	for i := range 8 {
		fleetd.states = append(fleetd.states, wireState{Name: fmt.Sprintf("gone@%d.service", i), MachineID: m1, SystemdActiveState: "inactive"})
	}
	for i := range 5 {
		name := fmt.Sprintf("web@%d.service", i)
		fleetd.units = append(fleetd.units, unitOf(t, name, webContent, "launched", "launched", m1))
		fleetd.states = append(fleetd.states, wireState{Name: name, MachineID: m1, SystemdActiveState: "active", SystemdSubState: "running"})
	}
	fleetd.onPage = func(list string, page int) {
		if list == "state" && page == 1 && len(fleetd.states) > 5 {
			fleetd.states = fleetd.states[8:]
		}
	}
	client := clientOn(t, inProcess(fleetd), Config{})
	listing, err := client.ReadUnits(t.Context(), Selector{Groups: []string{"web"}})
	require.NoError(t, err)
	require.Len(t, listing.Units, 5)
	require.Empty(t, listing.Units[4].Machine[0].SystemdActive, "its state has slipped onto the page that was read before")
	assert.False(t, listing.Whole)
	listing, err = client.ReadUnits(t.Context(), Selector{Groups: []string{"web"}})
	require.NoError(t, err)
	assert.Equal(t, "active", listing.Units[4].Machine[0].SystemdActive)
	assert.True(t, listing.Whole)
}
