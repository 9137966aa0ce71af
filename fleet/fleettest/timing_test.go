package fleettest_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/squadronctl/squadron/fleet/fleettest"
)

// R37: Measured takes as long as the cluster that it was measured on, for 10 and for 60 units on three machines
// (docs/testing.md).
func TestMeasuredFigures(t *testing.T) {
	second := time.Second
	for _, row := range []struct {
		units                         int
		loaded, active, stopped, gone [2]time.Duration // at least, at most
	}{
		{10, [2]time.Duration{2 * second, 4 * second}, [2]time.Duration{second, 3 * second}, [2]time.Duration{second, 3 * second}, [2]time.Duration{15 * second, 25 * second}},
		{60, [2]time.Duration{2 * second, 4 * second}, [2]time.Duration{second, 3 * second}, [2]time.Duration{second, 3 * second}, [2]time.Duration{90 * second, 110 * second}},
	} {
		b := newBench(t, fleettest.Config{Timing: fleettest.Measured()})
		name := func(i int) string { return fmt.Sprintf("web@%02d.service", i) }
		each := func(do func(string)) {
			for i := range row.units {
				do(name(i))
				b.clock.Advance(2 * time.Millisecond)
			}
		}
		takes := func(what string, bounds [2]time.Duration, path, text string, count int) {
			took := time.Duration(0)
			for ; took < 5*time.Minute; took += 100 * time.Millisecond {
				if _, body := b.ask(http.MethodGet, "/fleet/v1"+path, ""); strings.Count(body, text) == count {
					break
				}
				b.clock.Advance(100 * time.Millisecond)
			}
			assert.GreaterOrEqual(t, took, bounds[0], "%d %s", row.units, what)
			assert.LessOrEqual(t, took, bounds[1], "%d %s", row.units, what)
			t.Logf("%d units %s after %v", row.units, what, took)
		}
		each(func(name string) { b.put(name, service, "loaded") })
		takes("loaded", row.loaded, "/units", `"currentState":"loaded"`, row.units)
		each(func(name string) { b.put(name, service, "launched") })
		takes("active", row.active, "/state", `"active"`, row.units)
		each(func(name string) { b.put(name, service, "loaded") })
		takes("stopped", row.stopped, "/state", `"active"`, 0)
		each(func(name string) { b.ask(http.MethodDelete, "/fleet/v1/units/"+name, "") })
		takes("gone", row.gone, "/state", `web@`, 0)
	}
}
