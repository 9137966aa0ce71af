package fleet

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/coreos/go-systemd/v22/unit"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// scanned reads a page of units and states by scanning alone, and says whether nothing in it was odd.
func scanned(body []byte) (units []wireUnit, states []wireState, token string, ok bool) {
	token, ok = scanPage(body, "units", func(s *scan) bool {
		raw, ok := s.unit()
		made := wireUnit{Name: string(raw.name), DesiredState: string(raw.desired), CurrentState: string(raw.current), MachineID: string(raw.machine)}
		if ok && raw.options != nil {
			made.Options = []wireOption{}
			ok = scanList(raw.options, func(s *scan) bool {
				raw, ok := s.option()
				made.Options = append(made.Options, wireOption{string(raw.section), string(raw.name), string(raw.value)})
				return ok
			})
		}
		units = append(units, made)
		return ok
	})
	if !ok {
		return nil, nil, "", false
	}
	_, ok = scanPage(body, "states", func(s *scan) bool {
		raw, ok := s.state()
		states = append(states, wireState{string(raw.name), string(raw.hash), string(raw.machine), string(raw.load), string(raw.active), string(raw.sub)})
		return ok
	})
	return units, states, token, ok
}

// What a scan makes of an answer is what encoding/json makes of it.
func FuzzScanAgreesWithEncodingJSON(f *testing.F) {
	for _, seed := range []string{
		`{}`, ` { "units" : [ ] , "states":[]} `, `{"nextPageToken":"ZAACAA=="}`, `{"nextPageToken":null}`, `{"units":null}`, `{"units":{}}`,
		`{"units":[{"name":"a","options":[{"section":"S","name":"N","value":"\u003c\"\\\n"}],"machineID":"m"},{}]}`,
		`{"units":[{"name":"a","name":"b"}]}`, `{"units":[{"Name":"a"}]}`, `{"units":[{"n\u0061me":"a"}]}`, `{"units":[{"name":null}]}`,
		`{"units":[{"name":1}]}`, `{"units":[null]}`, `{"units":[{"name":"a"}],"units":[{"name":"b"}]}`, `{"units":[{"name":"a","options":null}]}`,
		`{"units":[{"name":"a","options":[]}]}`, `{"units":[{"name":"a","options":[{"section":"S"}],"more":[{"}":"]"},1.5e3,true]}]}`,
		"{\"units\":[{\"name\":\"\xff\"}]}", `{"units":[{"name":"\ud800"}]}`, `{"states":[{"name":"a","hash":"h","machineID":"m"}],"x":-1}`,
		`{"states":[{"name":"a","ſystemdSubState":"x"}]}`, `{"states":[{"name":"ä","systemdLoadState":"\\"}]}`, `{"units":[{"name":"a"}`, `{} {}`,
		`{"units":[{"name":"a","options":[{"Section":"S"}]}]}`, `{"units":[{"":"a","options":[[]]}]}`, "\ufeff{}", `{"units":[{"name":"a"},]}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) { agrees(t, body) })
}

// agrees holds a scan against encoding/json, and says whether there was anything to compare.
func agrees(t *testing.T, body []byte) bool {
	units, states, token, ok := scanned(body)
	if !ok {
		return false // encoding/json is asked
	}
	var unitsWant unitPage
	var statesWant statePage
	require.NoError(t, decode(body, &unitsWant))
	require.NoError(t, decode(body, &statesWant))
	assert.Equal(t, unitsWant.NextPageToken, token)
	assert.Equal(t, fmt.Sprintf("%q", unitsWant.Units), fmt.Sprintf("%q", units))
	assert.Equal(t, fmt.Sprintf("%q", statesWant.States), fmt.Sprintf("%q", states))
	return true
}

// What fleet itself writes is scanned, and not left to encoding/json.
func TestWhatFleetWritesIsNotOdd(t *testing.T) {
	for _, page := range []any{
		unitPage{Units: []wireUnit{
			unitOf(t, `srv-a\x2db@1.service`, "[Service]\nExecStart=/bin/sh -c \"a && b < c > d\" \\\n  'ä\t'\n", "loaded", "launched", m1),
			{Name: "bare.service"},
		}, NextPageToken: "ZAACAA=="},
		statePage{States: []wireState{{Name: `srv-a\x2db@1.service`, MachineID: m1, Hash: "h", SystemdSubState: "dead"}}},
		map[string]any{},
	} {
		body, err := json.Marshal(page)
		require.NoError(t, err)
		_, _, _, ok := scanned(body)
		assert.True(t, ok, "%s", body)
	}
}

// bothWays reads a page as it is written, and in a form that is left to encoding/json.
func bothWays(t *testing.T, selector Selector, units, states string) [2]Listing {
	t.Helper()
	var listings [2]Listing
	for i, odd := range []string{"", `,"nextPageToken":null`} {
		collector := newCollector(selector)
		_, err := collector.unitPage(1, []byte(`{"units":`+units+odd+`}`))
		require.NoError(t, err)
		_, err = collector.statePage(1, []byte(`{"states":`+states+odd+`}`))
		require.NoError(t, err)
		listings[i].Units = collector.look().details()
	}
	return listings
}

// R1, R20: a selector takes the same of a page, with the states, whichever way the page is read.
func TestSelectorsOnScannedPages(t *testing.T) {
	stamp := func(spelled, group string) string {
		return `[{"section":"` + spelled + `","name":"Group","value":"` + group + `"},{"section":"Service","name":"Type","value":"oneshot"}]`
	}
	units := `[{"name":"web@1.service","machineID":"m","options":` + stamp("X", "web") + `},
		{"name":"other.timer","machineID":"m","options":` + stamp("X-Squadron", "web") + `},
		{"name":"other.service","machineID":"m","options":` + stamp(`\u0058-Squ\u0061dron`, `w\u0065b`) + `},
		{"name":"db.service","machineID":"m","options":` + stamp("X-Squadron", "db") + `},{"name":"","options":[]},
		{"name":"none.service"}]`
	var states []string
	for _, name := range []string{"web@1.service", "other.service", "other.timer", "db.service", "gone.service", ""} {
		states = append(states, `{"name":"`+name+`","machineID":"m","systemdActiveState":"active"}`)
	}
	for _, c := range []struct {
		selector Selector
		want     []string
	}{
		{Selector{}, []string{"db.service", "none.service", "other.service", "other.timer", "web@1.service"}},
		{Selector{Groups: []string{"web"}}, []string{"other.service", "other.timer", "web@1.service"}},
		{Selector{Groups: []string{"nosuch"}}, nil},
		{Selector{Names: []string{"db.service", "gone.service"}}, []string{"db.service"}},
		{Selector{Names: []string{"db.service"}, Groups: []string{"web"}}, []string{"db.service", "other.service", "other.timer", "web@1.service"}},
	} {
		listings := bothWays(t, c.selector, units, "["+strings.Join(states, ",")+"]")
		assert.Equal(t, c.want, names(listings[0].Units), "%+v", c.selector)
		assert.Equal(t, listings[1], listings[0], "%+v", c.selector)
		for _, unit := range listings[0].Units {
			if unit.Name != "none.service" {
				assert.Equal(t, "active", unit.Machine[0].SystemdActive, "%+v", c.selector)
			}
			assert.Equal(t, strings.HasSuffix(unit.Name, ".service") && unit.Name != "none.service", unit.Oneshot)
		}
	}
}

// A page that turns out to be odd half-way is read by encoding/json from its begin, and one that fails leaves nothing.
func TestPagesThatTurnOutOdd(t *testing.T) {
	collector := newCollector(Selector{Groups: []string{"a"}})
	token, err := collector.unitPage(1, []byte(`{"units":[{"name":"a"},{"name":"a2"}],"units":[{"Name":"a3"}],"nextPageToken":"x"}`))
	require.NoError(t, err)
	assert.Equal(t, "x", token)
	_, err = collector.unitPage(2, []byte(`{"units":[{"name":"a4"},{"name":1}]}`))
	require.Error(t, err)
	_, err = collector.unitPage(2, []byte(`{"units":[{"name":"a5"},{"name":"a6"`))
	require.Error(t, err)
	_, err = collector.statePage(1, []byte(`{"states":[{"name":"a"},{"name":"b"},{"name":1}]}`))
	require.Error(t, err)
	assert.Empty(t, collector.states)
	assert.Empty(t, collector.later)
	assert.Equal(t, []string{"a3"}, names(collector.look().details()))
}

// Of entries with one name the one on the later page stands, whichever page came first.
func TestLaterPageStands(t *testing.T) {
	for _, order := range [][]int{{1, 2, 3}, {3, 2, 1}, {2, 3, 1}} {
		collector := newCollector(Selector{})
		for _, page := range order {
			state := fmt.Sprintf(`{"name":"a","machineID":"m","currentState":"page %d","systemdSubState":"page %d"}`, page, page)
			_, err := collector.unitPage(page, []byte(`{"units":[{"name":"a"},`+state+`]}`))
			require.NoError(t, err)
			_, err = collector.statePage(page, []byte(`{"states":[{"name":"a","machineID":"m"},`+state+`]}`))
			require.NoError(t, err)
		}
		details := collector.look().details()
		require.Len(t, details, 1)
		assert.Equal(t, "page 3", details[0].Current)
		assert.Equal(t, "page 3", details[0].Machine[0].SystemdSub)
	}
}

// Each distinct content is read and hashed once per look.
func TestEqualContentsAreReadOnce(t *testing.T) {
	collector := newCollector(Selector{})
	var units []wireUnit
	for i := range 100 {
		units = append(units, unitOf(t, fmt.Sprintf("web@%d.service", i), fmt.Sprintf("[Unit]\nDescription=%d\n", i%3), "loaded", "loaded", ""))
	}
	body, err := json.Marshal(unitPage{Units: units})
	require.NoError(t, err)
	_, err = collector.unitPage(1, body)
	require.NoError(t, err)
	assert.Len(t, collector.contents.byText, 3)
	for i, unit := range collector.units {
		assert.Same(t, collector.units[i%3].content, unit.content)
	}
}

// What a content says is the same for each unit as if it were read for that one alone.
func FuzzSharedContentSaysTheSame(f *testing.F) {
	f.Add("web@1.service", "[X-Fleet]\nGlobal=true\nMachineMetadata=\"a=%i\" \"b=c\"\n[Service]\nType=oneshot\n[X-Squadron]\nGroup=a\nGroup=b\n")
	f.Add("a.timer", "[Service]\nType=oneshot\n[X-Fleet]\nMachineMetadata=a=b\nGlobal=%p\n")
	f.Fuzz(func(t *testing.T, name, text string) {
		options, err := unit.DeserializeOptions(strings.NewReader(text))
		if err != nil || len(options) == 0 {
			return
		}
		shared := newContent(options)
		assert.Equal(t, readFacts(name, options), shared.of(name))
		assert.Equal(t, hashOptions(options), shared.hash)
	})
}

func FuzzMayBeStamped(f *testing.F) {
	for _, seed := range []string{`["X-Squadron"]`, `["\u0058-Squadron"]`, `["\\u0058-Squadron"]`, `["\u003c\u0026\\"]`, `["X\u002DSquadron"]`, `["\"\u0058-Squadro\u006e"]`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var words []string
		if json.Unmarshal(text, &words) == nil && slices.Contains(words, "X-Squadron") {
			assert.True(t, mayBeStamped(text))
		}
	})
}

func TestMayBeStamped(t *testing.T) {
	assert.False(t, mayBeStamped([]byte(`["\u003c\u0026\u1058\\u0058\"\n"]`)))
	assert.True(t, mayBeStamped([]byte(`["\\\u0058-Squadron"]`)))
}

// jsonMaker writes JSON of about the shape of fleet's pages, with all that may be wrong or unusual in it.
type jsonMaker struct {
	*rand.Rand
	text strings.Builder
}

func (m *jsonMaker) oneOf(texts ...string) { m.text.WriteString(texts[m.IntN(len(texts))]) }

// rarely writes one of the texts once in a while, and else the plain one.
func (m *jsonMaker) rarely(plain string, texts ...string) {
	if m.IntN(40) == 0 {
		m.oneOf(texts...)
		return
	}
	m.text.WriteString(plain)
}

func (m *jsonMaker) list(open, end string, most int, entry func()) {
	m.rarely(open, " "+open+"\n")
	for i := range m.IntN(most + 1) {
		if i > 0 {
			m.rarely(",", " ,\t", "")
		}
		entry()
	}
	m.rarely(end, " "+end, "")
}

func (m *jsonMaker) string() {
	m.rarely(`"plain"`, `""`, `"a\\b\"c"`, `"\u0061\ud83d\ude00\ud800"`, "\"\xff\"", `"ä{[,:"`, `null`, `1`, `{}`, `[["]"]]`, `true`, `"`, `"\x"`)
}

func (m *jsonMaker) member(name string, value func()) {
	m.rarely(`"`+name+`"`, `"`+strings.ToUpper(name)+`"`, `"more"`, `"\u006eame"`, `"ſection"`, `"name"`, `"machineid"`, `""`)
	m.rarely(":", " : ", "")
	value()
}

func (m *jsonMaker) object(names []string, values ...func()) {
	m.list("{", "}", len(names)+1, func() {
		at := m.IntN(len(names))
		value := m.string
		if at < len(values) && values[at] != nil {
			value = values[at]
		}
		m.member(names[at], value)
	})
}

func (m *jsonMaker) page() {
	options := func() { m.list("[", "]", 3, func() { m.object(optionMembers) }) }
	units := func() { m.list("[", "]", 2, func() { m.object(unitMembers, nil, nil, nil, nil, options) }) }
	states := func() { m.list("[", "]", 2, func() { m.object(stateMembers) }) }
	m.object([]string{"units", "states", "nextPageToken"}, units, states)
	m.rarely("", " ", "{}", "x")
}

func TestScanAgreesWithEncodingJSONOnMadeUpPages(t *testing.T) {
	plain := 0
	for seed := range uint64(60_000) {
		m := jsonMaker{Rand: rand.New(rand.NewPCG(seed, 0))}
		m.page()
		if agrees(t, []byte(m.text.String())) {
			plain++
		}
		if t.Failed() {
			t.Fatal(m.text.String())
		}
	}
	assert.Greater(t, plain, 6000, "of so many pages there was something to compare")
}
