package fleet

import (
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const (
	m1 = "11111111111111111111111111111111"
	m2 = "22222222222222222222222222222222"
	m3 = "33333333333333333333333333333333"
)

func machines() []wireMachine {
	return []wireMachine{
		{ID: m2, PrimaryIP: "10.0.0.2", Metadata: map[string]string{"disk": "ssd", "zone": "b"}},
		{ID: m1, PrimaryIP: "10.0.0.1", Metadata: map[string]string{"disk": "ssd", "zone": "a"}},
	}
}

func readOne(t *testing.T, fleetd *cluster, name string) UnitDetail {
	t.Helper()
	client := clientOn(t, inProcess(fleetd), Config{})
	listing, err := client.ReadUnits(t.Context(), Selector{})
	require.NoError(t, err)
	for _, unit := range listing.Units {
		if unit.Name == name {
			byName, err := client.ReadUnits(t.Context(), Selector{Names: []string{name}})
			require.NoError(t, err)
			assert.Equal(t, Listing{Units: []UnitDetail{unit}, Whole: true}, byName, "by name the same as in the list")
			status, err := client.GetStatus(t.Context(), name)
			require.NoError(t, err)
			assert.Equal(t, unit.UnitStatus, status)
			return unit
		}
	}
	t.Fatalf("%s is not listed", name)
	return UnitDetail{}
}

func TestRunningUnit(t *testing.T) {
	fleetd := &cluster{machines: machines(), units: []wireUnit{unitOf(t, "web@1.service", webContent, "launched", "launched", m1)},
		states: []wireState{{Name: "web@1.service", Hash: "h", MachineID: m1, SystemdActiveState: "active", SystemdSubState: "running"}}}
	hash, err := UnitHash(webContent)
	require.NoError(t, err)
	assert.Equal(t, UnitDetail{
		UnitStatus: UnitStatus{Name: "web@1.service", SliceID: "1", Current: "launched", Desired: "launched",
			Machine: []MachineStatus{{ID: m1, IP: net.ParseIP("10.0.0.1"), SystemdActive: "active", SystemdSub: "running", UnitHash: "h"}}},
		Hash: hash,
	}, readOne(t, fleetd, "web@1.service"))
}

// C6: a unit that no machine can take is listed, with no machine and without error.
func TestUnscheduledUnit(t *testing.T) {
	unit := readOne(t, &cluster{machines: machines(), units: []wireUnit{
		unitOf(t, "a.service", "[X-Fleet]\nMachineMetadata=disk=none\n", "inactive", "loaded", "")},
		states: []wireState{{Name: "a.service", MachineID: m1, SystemdActiveState: "active"}}}, "a.service")
	assert.Empty(t, unit.Machine, "an old state of a machine that does not have it counts for nothing")
	assert.Equal(t, "inactive", unit.Current)
	assert.Zero(t, unit.Missing)
}

// R13: only the state from the machine that /units names counts, and a machine that has reported none has an entry.
func TestStatesOfOtherMachines(t *testing.T) {
	fleetd := &cluster{machines: machines(), units: []wireUnit{unitOf(t, "a.service", webContent, "launched", "launched", m2)},
		states: []wireState{{Name: "a.service", Hash: "old", MachineID: m1, SystemdActiveState: "failed", SystemdSubState: "failed"}}}
	assert.Equal(t, []MachineStatus{{ID: m2, IP: net.ParseIP("10.0.0.2")}}, readOne(t, fleetd, "a.service").Machine)
}

// R20: a machine that is no longer listed has IP nil.
func TestMachineThatIsNotListed(t *testing.T) {
	fleetd := &cluster{machines: machines(), units: []wireUnit{unitOf(t, "a.service", webContent, "launched", "launched", m3)},
		states: []wireState{{Name: "a.service", Hash: "h", MachineID: m3, SystemdActiveState: "active", SystemdSubState: "running"}}}
	assert.Equal(t, []MachineStatus{{ID: m3, SystemdActive: "active", SystemdSub: "running", UnitHash: "h"}},
		readOne(t, fleetd, "a.service").Machine)
}

// R13, C5: a global unit has the entries of all machines that reported one, and is missing on those listed whose metadata
// match and that did not; a lost machine's last word stands for none of them.
func TestGlobalUnit(t *testing.T) {
	states := []wireState{{Name: "g.service", MachineID: m3, Hash: "h"}, {Name: "g.service", MachineID: "0", Hash: "h"}}
	for metadata, due := range map[string]int{
		"":                           2,
		"MachineMetadata=disk=ssd\n": 2,
		"MachineMetadata=zone=a\n":   1,
		"MachineMetadata=zone=a\nMachineMetadata=zone=b\n":   2,
		"MachineMetadata=\"zone=a\" \"zone=b\"\n":            2,
		"MachineMetadata=\"zone=a\" \"disk=ssd\"\n":          1,
		"MachineMetadata=zone=a\nMachineMetadata=disk=hdd\n": 0,
		"MachineMetadata=rack=1\n":                           0,
	} {
		for _, current := range []string{"inactive", ""} {
			fleetd := &cluster{machines: machines(), states: states,
				units: []wireUnit{unitOf(t, "g.service", "[X-Fleet]\nGlobal=true\n"+metadata, current, "launched", "")}}
			unit := readOne(t, fleetd, "g.service")
			assert.True(t, unit.Global)
			assert.Equal(t, due, unit.Missing, metadata)
			assert.Equal(t, "launched", unit.Current)
			require.Len(t, unit.Machine, 2)
			assert.Equal(t, "0", unit.Machine[0].ID)
			assert.Equal(t, m3, unit.Machine[1].ID)
			fleetd.states = append(fleetd.states, wireState{Name: "g.service", MachineID: m1, Hash: "h"}, wireState{Name: "g.service", MachineID: m2, Hash: "h"})
			unit = readOne(t, fleetd, "g.service")
			assert.Zero(t, unit.Missing)
			assert.Len(t, unit.Machine, 4)
		}
	}
}

func TestDestroyedUnitsAreNotListed(t *testing.T) {
	client := clientOn(t, inProcess(&cluster{machines: machines(), states: []wireState{{Name: "gone.service", MachineID: m1}}}), Config{})
	listing, err := client.ReadUnits(t.Context(), Selector{})
	require.NoError(t, err)
	assert.Equal(t, Listing{Whole: true}, listing)
	listing, err = client.ReadUnits(t.Context(), Selector{Names: []string{"gone.service"}})
	require.NoError(t, err)
	assert.Equal(t, Listing{Whole: true}, listing)
}

func names(units []UnitDetail) []string {
	var names []string
	for _, unit := range units {
		names = append(names, unit.Name)
	}
	return names
}

func TestSelectors(t *testing.T) {
	stamped := "[X-Squadron]\nGroup=web\n"
	fleetd := &cluster{units: []wireUnit{
		unitOf(t, "web-b@1.service", webContent, "loaded", "loaded", ""),
		unitOf(t, "web-a@1.service", webContent, "loaded", "loaded", ""),
		unitOf(t, "other.service", stamped, "loaded", "loaded", ""),
		unitOf(t, "db.service", webContent, "loaded", "loaded", ""),
		{Name: "bare.service"},
	}}
	client := clientOn(t, inProcess(fleetd), Config{})
	for _, c := range []struct {
		selector Selector
		want     []string
	}{
		{Selector{}, []string{"bare.service", "db.service", "other.service", "web-a@1.service", "web-b@1.service"}},
		{Selector{Names: []string{"db.service", "none.service"}}, []string{"db.service"}},
		{Selector{Names: []string{"db.service"}}, []string{"db.service"}},
		{Selector{Groups: []string{"web"}}, []string{"other.service", "web-a@1.service", "web-b@1.service"}},
		{Selector{Groups: []string{"db", "web-a"}}, []string{"db.service", "web-a@1.service"}},
		{Selector{Names: []string{"db.service"}, Groups: []string{"web-b"}}, []string{"db.service", "web-b@1.service"}},
		{Selector{Groups: []string{"none"}}, nil},
	} {
		listing, err := client.ReadUnits(t.Context(), c.selector)
		require.NoError(t, err)
		assert.Equal(t, c.want, names(listing.Units), "%+v", c.selector)
	}
	listing, err := client.ReadUnits(t.Context(), Selector{Names: []string{"bare.service"}})
	require.NoError(t, err)
	assert.Empty(t, listing.Units[0].Hash, "no options, no hash")
}

func TestListingsOverPages(t *testing.T) {
	for total, whole := range map[int]bool{0: true, 1: true, 99: true, 100: false, 101: false, 250: false} {
		fleetd := &cluster{machines: machines()}
		for i := range total {
			name := fmt.Sprintf("a@%03d.service", i)
			fleetd.units = append(fleetd.units, wireUnit{Name: name, CurrentState: "launched", MachineID: m1})
			fleetd.states = append(fleetd.states, wireState{Name: name, MachineID: m1, SystemdActiveState: "active"})
		}
		listing, err := clientOn(t, inProcess(fleetd), Config{}).ReadUnits(t.Context(), Selector{})
		require.NoError(t, err)
		require.Len(t, listing.Units, total)
		assert.Equal(t, whole, listing.Whole, total)
		for i, unit := range listing.Units {
			assert.Equal(t, fmt.Sprintf("%03d", i), unit.SliceID)
			assert.Equal(t, "active", unit.Machine[0].SystemdActive)
		}
	}
}

// C8: a unit that appears between two pages pushes another onto the next page, where it is seen again.
func TestShiftedPagesNameNoUnitTwice(t *testing.T) {
	fleetd := &cluster{pageSize: 2, units: []wireUnit{{Name: "b"}, {Name: "c"}, {Name: "d"}}}
	fleetd.onPage = func(list string, page int) {
		if list == "units" && page == 1 {
			fleetd.units = append([]wireUnit{{Name: "a"}}, fleetd.units...)
			fleetd.units[2].CurrentState = "newer"
		}
	}
	listing, err := clientOn(t, inProcess(fleetd), Config{}).ReadUnits(t.Context(), Selector{})
	require.NoError(t, err)
	assert.Equal(t, []string{"b", "c", "d"}, names(listing.Units))
	assert.Equal(t, "newer", listing.Units[1].Current)
	assert.False(t, listing.Whole)
}

func TestListsWithoutEnd(t *testing.T) {
	same := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer(w, http.StatusOK, map[string]any{"nextPageToken": "x"})
	})
	pages := 0
	ever := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		pages++
		answer(w, http.StatusOK, map[string]any{"nextPageToken": fmt.Sprint(pages)})
	})
	for _, handler := range []http.Handler{same, ever} {
		_, err := clientOn(t, inProcess(handler), Config{}).ReadMachines(t.Context())
		assert.ErrorContains(t, err, "has no end")
		assert.True(t, IsInvalidEndpoint(err))
	}
}

// Entries that are null, or lack what names them, are passed over; so are absent lists.
func TestOddEntries(t *testing.T) {
	client := clientOn(t, inProcess(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json; charset=utf-8")
		switch {
		case strings.HasSuffix(r.URL.Path, "/units"):
			fmt.Fprint(w, `{"units":[null,{},{"name":"a.service","options":[null],"machineID":"`+m1+`"}],"nextPageToken":null,"more":1}`)
		case strings.HasSuffix(r.URL.Path, "/state"):
			fmt.Fprint(w, `{"states":[null,{"name":"a.service"},{"machineID":"`+m1+`"}]}`)
		default:
			fmt.Fprint(w, `{"machines":[null,{"primaryIP":"10.0.0.1"},{"id":"`+m1+`","primaryIP":"nonsense","metadata":null}]}`)
		}
	})), Config{})
	listing, err := client.ReadUnits(t.Context(), Selector{})
	require.NoError(t, err)
	require.Len(t, listing.Units, 1)
	assert.Equal(t, []MachineStatus{{ID: m1}}, listing.Units[0].Machine)
	found, err := client.ReadMachines(t.Context())
	require.NoError(t, err)
	assert.Equal(t, []Machine{{ID: m1}}, found)
}

func TestReadMachines(t *testing.T) {
	client := clientOn(t, inProcess(&cluster{machines: append(machines(), machines()...), pageSize: 1}), Config{})
	found, err := client.ReadMachines(t.Context())
	require.NoError(t, err)
	assert.Equal(t, []Machine{
		{ID: m1, IP: net.ParseIP("10.0.0.1"), Metadata: map[string]string{"disk": "ssd", "zone": "a"}},
		{ID: m2, IP: net.ParseIP("10.0.0.2"), Metadata: map[string]string{"disk": "ssd", "zone": "b"}},
	}, found)
	ip, err := client.MachineIP(t.Context(), m2)
	require.NoError(t, err)
	assert.Equal(t, "10.0.0.2", ip.String())
	_, err = client.MachineIP(t.Context(), m3)
	assert.True(t, IsIPNotFound(err))
}

// fleetd panics when it is asked for the state of a unit that has none.
func TestStateIsNeverAskedForByPath(t *testing.T) {
	fleetd := &cluster{units: []wireUnit{{Name: "a.service"}}}
	client := clientOn(t, roundTrip(func(r *http.Request) (*http.Response, error) {
		assert.NotContains(t, r.URL.Path, "/state/")
		return inProcess(fleetd)(r)
	}), Config{})
	_, err := client.GetStatus(t.Context(), "a.service")
	require.NoError(t, err)
}

// R20a: exact reads prove presence and absence, whatever the pages do, and cost requests per name.
func TestExactReadsByName(t *testing.T) {
	fleetd := &cluster{machines: machines(), units: []wireUnit{
		unitOf(t, "a.service", webContent, "launched", "launched", m1),
		unitOf(t, "b.service", webContent, "launched", "launched", m2),
		unitOf(t, "c.service", webContent, "launched", "launched", m2),
	}}
	fleetd.onPage = func(list string, _ int) { assert.NotEqual(t, "units", list, "a listing proves nothing") }
	client := clientOn(t, inProcess(fleetd), Config{})
	listing, err := client.ReadUnits(t.Context(), Selector{Names: []string{"c.service", "nosuch.service", "a.service", "c.service"}, Exact: true})
	require.NoError(t, err)
	assert.Equal(t, []string{"a.service", "c.service"}, names(listing.Units))
	assert.True(t, listing.Whole)
	_, err = client.GetStatus(t.Context(), "nosuch.service")
	var answer *APIError
	require.ErrorAs(t, err, &answer)
	assert.Equal(t, 404, answer.StatusCode, "the server's answer is kept")
}

// For a moment a real fleetd lists a unit without one of its states.
func TestMissingStatesAreInactive(t *testing.T) {
	for _, content := range []string{webContent, "[X-Fleet]\nGlobal=true\n"} {
		unit := readOne(t, &cluster{machines: machines(), units: []wireUnit{unitOf(t, "a.service", content, "", "", "")}}, "a.service")
		assert.Equal(t, "inactive", unit.Current)
		assert.Equal(t, "inactive", unit.Desired)
	}
}

// R17: what systemd could not load is told, and only that.
func TestLoadError(t *testing.T) {
	for state, want := range map[string]string{"loaded": "", "": "", "bad-setting": "bad-setting", "not-found": "not-found", "error": "error", "masked": "masked"} {
		fleetd := &cluster{machines: machines(), units: []wireUnit{unitOf(t, "a.service", webContent, "launched", "launched", m1)},
			states: []wireState{{Name: "a.service", MachineID: m1, SystemdLoadState: state, SystemdActiveState: "inactive"}}}
		assert.Equal(t, want, readOne(t, fleetd, "a.service").LoadError)
	}
}
