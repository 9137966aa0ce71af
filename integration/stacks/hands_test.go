package stacks_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/squadronctl/squadron/integration/groups/bench"
)

// The states that units are in, as fleet and systemd call them.
const (
	launched = "launched"
	loaded   = "loaded"
	active   = "active"
)

// option is one line of a unit file, as the API has it.
type option struct {
	Section string `json:"section"`
	Name    string `json:"name"`
	Value   string `json:"value"`
}

func optionsOf(t *testing.T, unit bench.Unit) []option {
	t.Helper()
	var options []option
	require.NoError(t, json.Unmarshal([]byte(unit.Options), &options), "%+v", unit)
	return options
}

// stampOf gives what a unit's stamp says.
func stampOf(t *testing.T, unit bench.Unit) map[string]string {
	t.Helper()
	stamp := map[string]string{}
	for _, o := range optionsOf(t, unit) {
		if o.Section == "X-Squadron" {
			stamp[o.Name] = o.Value
		}
	}
	return stamp
}

// putByHand writes a unit past all of this project.
func putByHand(t *testing.T, unit string, body map[string]any) {
	t.Helper()
	endpoint := site.Cluster.Machines()[1].Endpoint()
	body["name"] = unit
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	require.NoError(t, bench.Call(t.Context(), client, http.MethodPut, endpoint.String()+"/fleet/v1/units/"+url.PathEscape(unit), body, nil))
}

// replaceByHand destroys a unit and makes it anew with another program to run. It keeps its stamp.
func replaceByHand(t *testing.T, unit, exec string) {
	t.Helper()
	options := optionsOf(t, site.Observer.Now(t).Units[unit])
	for i := range options {
		if options[i].Name == "ExecStart" {
			options[i].Value = exec
		}
	}
	require.NoError(t, site.Observer.Delete(t.Context(), unit))
	putByHand(t, unit, map[string]any{"desiredState": launched, "options": options})
}

// stopByHand has a unit stopped.
func stopByHand(t *testing.T, unit string) {
	t.Helper()
	putByHand(t, unit, map[string]any{"desiredState": loaded})
}

// requireRunning shows that there are so many units whose names begin with prefix, and nothing but the nth version of them,
// launched, running, and stamped as this owner's. What fleet itself loses for a while comes again.
func requireRunning(t *testing.T, o owner, stack, prefix string, units, n int) []bench.Unit {
	t.Helper()
	found := site.Observer.Settled(t, patience, prefix)
	require.Len(t, found, units)
	for _, unit := range found {
		assert.Equal(t, []string{launched, active}, []string{unit.Desired, unit.Here().Active}, "%+v", unit)
		assert.True(t, unit.Runs(sleep(n)), "%+v", unit)
		stamp := stampOf(t, unit)
		assert.Equal(t, []string{stack, o.name}, []string{stamp["Group"], stamp["Owner"]}, "%+v", unit)
		assert.Regexp(t, `^[0-9a-f]{16}$`, stamp["Revision"])
	}
	return found
}

// written is what somebody has written of units: what they should be, and their contents.
func written(t *testing.T, prefix string) map[string][2]string {
	t.Helper()
	units := map[string][2]string{}
	for _, unit := range site.Observer.Now(t).Named(prefix) {
		units[unit.Name] = [2]string{unit.Desired, unit.Options}
	}
	return units
}

func namesOf(units []bench.Unit) []string {
	var names []string
	for _, unit := range units {
		names = append(names, unit.Name)
	}
	return names
}
