package parity

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// testCalls sends the same calls to both and compares the answers (R37, R39).
func testCalls(t *testing.T, p pair) {
	seen := map[string]bool{}
	for _, c := range calls() {
		known := knownCalls[c.method+" "+c.path]
		real, double := p.answers(c, known != "")
		switch same := real.equal(double); {
		case known == "":
			assert.True(t, same, "%s\nreal      %s\nfleettest %s", c, real, double)
		case same:
			assert.Fail(t, "a known difference is gone", "%s: %s", c, known)
		default:
			seen[known] = true
		}
	}
	assert.Len(t, seen, len(knownCalls), "known differences that no call shows")
	p.forget(t, "unknown.service", "newline.service")
}

// testPages compares listings over several pages, with totals on both sides of a page's end (R20a, R37).
func testPages(t *testing.T, p pair) {
	name := func(i int) string { return fmt.Sprintf("page@%03d.service", i) }
	t.Cleanup(func() {
		for i := 0; t.Failed() && i < 250; i++ { // or the parts that come after would find them in their listings
			send(p.real, deleteCall(name(i)))
			send(p.double, deleteCall(name(i)))
		}
	})
	for i := range 250 {
		p.both(t, putCall(name(i), putUnit("inactive", sleepA)))
		if i == 98 || i == 99 || i == 100 || i == 199 || i == 249 {
			for token := ""; ; {
				path := "/units"
				if token != "" {
					path += "?nextPageToken=" + token
				}
				real := p.both(t, getCall(path))
				value, ok := parse(real.body)
				require.True(t, ok, real)
				if token, ok = value.(map[string]any)["nextPageToken"].(string); !ok {
					break
				}
			}
		}
	}
	for i := range 250 {
		require.Equal(t, "204 No Content", p.both(t, deleteCall(name(i))).status)
	}
	p.both(t, call{http.MethodGet, base + "/units", "", ""})
}

// passLimit is how long a real engine may take to set right what it did by what was half written.
const passLimit = 20 * time.Second

// answers sends a call to both. What is read is read again for a while where the answers differ, unless that is known: fleetd
// writes a new unit first and then what state it is to have, and an engine's pass between the two gives even a unit that is
// to be inactive a machine, and takes it away with the next pass (registry.EtcdRegistry.CreateUnit, engine.Reconciler).
func (p pair) answers(c call, differ bool) (real, double reply) {
	for end := time.Now().Add(passLimit); ; time.Sleep(200 * time.Millisecond) {
		real, double = send(p.real, c), send(p.double, c)
		if differ || c.method != http.MethodGet || real.equal(double) || time.Now().After(end) {
			return real, double
		}
	}
}

// both sends a call to both, compares the answers, and gives the real one.
func (p pair) both(t require.TestingT, c call) reply {
	real, double := p.answers(c, false)
	require.True(t, real.equal(double), "%s\nreal      %s\nfleettest %s", c, real, double)
	return real
}
