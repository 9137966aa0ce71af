package parity

import (
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// testGenerated sends generated sequences of calls to both, each on names of its own, and compares the answers (R37, R39).
// Where units are and how far they have come is compared by TestOrderOfStates: here a real cluster is behind.
func testGenerated(t *testing.T, p pair) {
	require.NoError(t, flag.Set("rapid.checks", strconv.Itoa(*sequences)))
	count := 0
	rapid.Check(t, func(t *rapid.T) {
		count++
		s := newSequence(t, p, count)
		defer s.end(t)
		for range 30 {
			c := s.draw(t)
			real, double := send(p.real, c), send(p.double, c)
			require.True(t, s.visible(real).equal(s.visible(double)), "%s\nreal      %s\nfleettest %s", c, real, double)
		}
		require.Equal(t, s.listing(t, p.real), s.listing(t, p.double))
	})
}

// sequence draws calls on a few units.
type sequence struct {
	pair
	names, contents []string
}

// newSequence chooses the names, odd ones among them, and the options.
func newSequence(t *rapid.T, p pair, count int) *sequence {
	s := &sequence{pair: p}
	shapes := []string{"%s.service", "%s@1.service", "%s@10.0.0.7.service", `%s-a\x2db@x:y.service`, "%s.timer", "%s@1.socket", "%s.mount",
		"%s@.service", "%s@1@2.service", "%s.target", "%s@1.mount", "%s", "%s.", "%s.exe", "%s é.service", "@%s.service", "%s%%2Fx.service"}
	for _, shape := range rapid.SliceOfNDistinct(rapid.SampledFrom(shapes), 3, 3, rapid.ID[string]).Draw(t, "names") {
		s.names = append(s.names, fmt.Sprintf(shape, fmt.Sprintf("gen%04d", count)))
	}
	s.contents = rapid.SliceOfN(rapid.Custom(drawOptions), 4, 4).Draw(t, "contents")
	return s
}

// drawOptions draws the JSON of a unit's options.
func drawOptions(t *rapid.T) string {
	long := strings.Repeat("x", 2048)
	lines := rapid.SliceOfN(rapid.OneOf(
		rapid.Just(sleepA), rapid.Just(sleepB), rapid.Custom(drawOption),
		rapid.SampledFrom([]string{
			"X-Fleet.MachineID=x", "X-Fleet.MachineID=", "X-Fleet.MachineOf=gen.service", "X-Fleet.Conflicts=gen*", "X-Fleet.Global=true", "X-Fleet.Global=no",
			"X-Fleet.Replaces=gen*", "X-Fleet.MachineMetadata=zone=a", `X-Fleet.MachineMetadata="zone=a" "zone=b"`, "X-Fleet.Conflicts=%p*",
			"Service.Y=" + long[:2046], "Service.Y=" + long, "Service.Y=" + long[:1500] + "\\\n" + long[:1500],
		}),
	), 0, 4).Draw(t, "options")
	return options(lines...)
}

// drawOption draws a section, a name and a value out of characters that mean something to the parser of unit files.
func drawOption(t *rapid.T) string {
	text := func(label string, chars ...string) string {
		return strings.Join(rapid.SliceOfN(rapid.SampledFrom(chars), 0, 5).Draw(t, label), "")
	}
	return text("section", "A", "X-", "b", " ", "[", "é") + "." + text("name", "N", "o", "#", " ", ";", "[") + "=" +
		text("value", "v", " ", "\\", "\n", "\\\n", "\r", "=", "#", ";", "é", `"`, "\t")
}

// draw draws a call. What it must not come to on a real cluster is a template or a unit of an unknown type that an agent
// is given: the agent does nothing any more.
func (s *sequence) draw(t *rapid.T) call {
	name := rapid.SampledFrom(s.names).Draw(t, "name")
	path := base + "/units/" + strings.ReplaceAll(url.PathEscape(name), "%252F", "%2F")
	state := rapid.SampledFrom([]string{"inactive", "inactive", "inactive", "inactive", "loaded", "launched", "", "running"}).Draw(t, "state")
	if strings.Contains(name, "@.") && state != "running" {
		state = "inactive"
	}
	content := rapid.SampledFrom(s.contents).Draw(t, "content")
	switch rapid.SampledFrom([]string{"put", "put", "put", "state", "state", "get", "get", "delete", "delete", "states", "post", "type", "body"}).Draw(t, "call") {
	case "put":
		return call{http.MethodPut, path, `{"desiredState":"` + state + `","options":` + content + `}`, ""}
	case "state":
		return call{http.MethodPut, path, desire(state), ""}
	case "get":
		return call{http.MethodGet, path, "", ""}
	case "delete":
		return call{http.MethodDelete, path, "", ""}
	case "states":
		return call{http.MethodGet, base + "/state?machineID=none&unitName=" + url.QueryEscape(name), "", ""}
	case "post":
		return call{rapid.SampledFrom([]string{"POST", "PATCH", "OPTIONS", "HEAD"}).Draw(t, "method"), path, "", ""}
	case "type":
		return call{http.MethodPut, path, desire("inactive"), rapid.SampledFrom([]string{"-", "text/plain", "application/json; charset=utf-8", "application/json,x"}).Draw(t, "type")}
	default:
		return call{http.MethodPut, path, rapid.SampledFrom([]string{`{`, `[]`, `null`, `{"name":"x.service"}`, `{"options":[1]}`, `{"desiredState":1}`, `{} x`}).Draw(t, "body"), ""}
	}
}

// visible leaves out of a unit what a real cluster comes to later.
func (s *sequence) visible(r reply) reply {
	value, ok := parse(r.body)
	unit, isUnit := value.(map[string]any)
	if !ok || !isUnit || unit["name"] == nil {
		return r
	}
	r.body, r.length = visibleUnit(unit), ""
	return r
}

func visibleUnit(unit map[string]any) string {
	delete(unit, "currentState")
	delete(unit, "machineID")
	text, err := json.Marshal(unit)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// listing lists the sequence's own units out of all pages.
func (s *sequence) listing(t *rapid.T, endpoint string) []string {
	var units []string
	for token, page := "", 0; page == 0 || token != ""; page++ {
		path := "/units"
		if token != "" {
			path += "?nextPageToken=" + token
		}
		answer := send(endpoint, getCall(path))
		var body struct {
			NextPageToken string
			Units         []map[string]any
		}
		require.NoError(t, json.Unmarshal([]byte(answer.body), &body), answer)
		for _, unit := range body.Units {
			if name, _ := unit["name"].(string); slices.Contains(s.names, name) {
				units = append(units, visibleUnit(unit))
			}
		}
		token = body.NextPageToken
	}
	return units
}

// end removes the sequence's units.
func (s *sequence) end(t *rapid.T) {
	for _, name := range s.names {
		path := base + "/units/" + url.PathEscape(name)
		send(s.double, call{http.MethodDelete, path, "", ""})
		if answer := send(s.real, call{http.MethodDelete, path, "", ""}); strings.HasPrefix(answer.status, "500") {
			s.forget(t, name)
		}
	}
}
