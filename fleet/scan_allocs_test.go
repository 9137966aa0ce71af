//go:build !race

// The race detector makes allocations of its own, so what is counted here is counted without it.

package fleet

import (
	"encoding/json"
	"fmt"
	"net"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// bodies are the answers of which a listing consists.
type bodies struct {
	units, states [][]byte
	machines      []Machine
}

// bodiesOf gives the pages of n units, with a content for each slice or one for all.
func bodiesOf(t testing.TB, n int, distinct bool) bodies {
	t.Helper()
	made := bodies{machines: []Machine{{ID: m1, IP: net.ParseIP("10.0.0.1")}, {ID: m2, IP: net.ParseIP("10.0.0.2")}}}
	var units []wireUnit
	var states []wireState
	for i := range n {
		name, machine, description := fmt.Sprintf("web-%02d-app@%05d.service", i%100, i), made.machines[i%2].ID, "an application"
		if distinct {
			description = name
		}
		unit := unitOf(t, name, "[Unit]\nDescription="+description+"\nAfter=docker.service\nRequires=docker.service\n\n"+
			"[Service]\nExecStartPre=-/usr/bin/docker rm -f app\nExecStart=/usr/bin/docker run --name app --rm \\\n  registry.example/app:1.2 \"a b\" && true\n"+
			"Restart=always\nRestartSec=5\n\n[X-Fleet]\nMachineMetadata=zone=a\n", "launched", "launched", machine)
		units = append(units, unit)
		states = append(states, wireState{Name: name, Hash: newContent(fromWire(unit.Options)).hash, MachineID: machine,
			SystemdLoadState: "loaded", SystemdActiveState: "active", SystemdSubState: "running"})
	}
	for chunk := range slices.Chunk(units, 100) {
		made.units = append(made.units, marshal(t, unitPage{Units: chunk, NextPageToken: "ZAACAA=="}))
	}
	for chunk := range slices.Chunk(states, 100) {
		made.states = append(made.states, marshal(t, statePage{States: chunk, NextPageToken: "ZAACAA=="}))
	}
	return made
}

func marshal(t testing.TB, what any) []byte {
	t.Helper()
	text, err := json.Marshal(what)
	require.NoError(t, err)
	return text
}

// decodeAll makes a listing of the answers.
func (b bodies) decodeAll(t testing.TB, selector Selector) []UnitDetail {
	collector := newCollector(selector)
	for i, body := range b.units {
		if _, err := collector.unitPage(i+1, body); err != nil {
			t.Fatal(err)
		}
	}
	for i, body := range b.states {
		if _, err := collector.statePage(i+1, body); err != nil {
			t.Fatal(err)
		}
	}
	found := collector.look()
	found.machines = b.machines
	return found.details()
}

// kept builds anew what a listing keeps of its entries, each text, address and list in one allocation: of each unit its
// name, its list of machines and the address in it; of each content its options, which hash, stamp, kind and conditions
// are made from, and the hash. The states' texts are a handful, shared by all.
func (b bodies) kept(details []UnitDetail, contents map[string][]wireOption) (units []UnitDetail, options [][]wireOption, hashes []string) {
	units = make([]UnitDetail, 0, len(details))
	for _, detail := range details {
		detail.Name = strings.Clone(detail.Name)
		detail.Machine = slices.Clone(detail.Machine)
		for i := range detail.Machine {
			detail.Machine[i].IP = slices.Clone(detail.Machine[i].IP)
		}
		units = append(units, detail)
	}
	options, hashes = make([][]wireOption, 0, len(contents)), make([]string, 0, len(contents))
	for hash, content := range contents {
		content = slices.Clone(content)
		for i, option := range content {
			content[i] = wireOption{strings.Clone(option.Section), strings.Clone(option.Name), strings.Clone(option.Value)}
		}
		options, hashes = append(options, content), append(hashes, strings.Clone(hash))
	}
	return units, options, hashes
}

func (b bodies) contents(t testing.TB) map[string][]wireOption {
	contents := map[string][]wireOption{}
	for _, body := range b.units {
		var page unitPage
		require.NoError(t, decode(body, &page))
		for _, unit := range page.Units {
			contents[newContent(fromWire(unit.Options)).hash] = unit.Options
		}
	}
	return contents
}

// Issue 5: a listing of 10,000 units is decoded in at most twice the allocations of the entries kept.
func TestAllocationsOfAListing(t *testing.T) {
	for _, distinct := range []bool{false, true} {
		answers := bodiesOf(t, 10_000, distinct)
		details, contents := answers.decodeAll(t, Selector{}), answers.contents(t)
		require.Len(t, details, 10_000)
		kept := testing.AllocsPerRun(2, func() { answers.kept(details, contents) })
		decoded := testing.AllocsPerRun(2, func() { answers.decodeAll(t, Selector{}) })
		t.Logf("%d contents: %.0f allocations for the entries kept, %.0f to decode", len(contents), kept, decoded)
		assert.LessOrEqual(t, decoded, 2*kept, "%d contents", len(contents))
	}
}

// Issue 5: what the matcher drops is not built: it costs less than one allocation in ten units.
func TestAllocationsOfWhatIsDropped(t *testing.T) {
	for _, distinct := range []bool{false, true} {
		answers := bodiesOf(t, 10_000, distinct)
		for _, selector := range []Selector{{Names: []string{"nosuch.service"}}, {Groups: []string{"nosuch"}}} {
			require.Empty(t, answers.decodeAll(t, selector))
			assert.Less(t, testing.AllocsPerRun(2, func() { answers.decodeAll(t, selector) }), 1000.0)
		}
		one := Selector{Groups: []string{"web-07"}}
		require.Len(t, answers.decodeAll(t, one), 100)
		t.Logf("1 %%: %.0f", testing.AllocsPerRun(2, func() { answers.decodeAll(t, one) }))
	}
}
