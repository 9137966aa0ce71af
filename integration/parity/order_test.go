package parity

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/squadronctl/squadron/fleet/fleettest"
	"github.com/squadronctl/squadron/integration/cluster"
)

// lifeLimit is how long one act of a life may take.
const lifeLimit = 2 * time.Minute

// R37, R39: the states that fleettest with its measured timing walks a unit through are those of a real cluster, in the
// same order.
func TestOrderOfStates(t *testing.T) {
	t.Parallel()
	for name, acts := range lives() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			// Which of two machines' ticks comes first is chance.
			other := fleettest.Measured()
			other.StateLinger = 0
			// How soon a unit is started is systemd's.
			late := fleettest.Measured()
			late.Activate = 1500 * time.Millisecond
			within := 5 * time.Second // how far an agent's pass is away
			if name == "moved@1.service" {
				within = 25 * time.Second // how far a Republish is away
			}
			compareLife(t, busy, name, acts, offsets(within, time.Second/2), fleettest.Measured(), other, late)
		})
	}
}

// offsets are times within a span, so far apart.
func offsets(within, apart time.Duration) (all []time.Duration) {
	for offset := time.Duration(0); offset < within; offset += apart {
		all = append(all, offset)
	}
	return all
}

// compareLife leads a unit through its acts on a real cluster, and then on doubles with one of the timings each that
// differ in how long the cluster has been up by then, until one of them shows the same film. A busy host makes the real
// cluster late at times, and then frames that should be short are long. That happens once and not each time, so a
// difference is one that three lives in a row show.
func compareLife(t *testing.T, real *cluster.Cluster, name string, acts []act, offsets []time.Duration, timings ...fleettest.Timing) {
	var differences []string
	for range 3 {
		difference := differenceInLife(t, real, name, acts, offsets, timings)
		if difference == "" {
			return
		}
		differences = append(differences, difference)
	}
	require.Fail(t, "no double shows the same", "%s", strings.Join(differences, "\n"))
}

// differenceInLife is one try of compareLife. It gives the film of the real life, and that of the last double.
func differenceInLife(t *testing.T, real *cluster.Cluster, name string, acts []act, offsets []time.Duration, timings []fleettest.Timing) string {
	endpoint := real.Endpoint()
	film, err := newLife(realWorld{endpoint.String()}, name).lead(acts, lifeLimit)
	require.NoError(t, err, "real\n%s", show(film))
	machines := machinesOf(t, endpoint.String())
	var double []shown
	for _, timing := range timings {
		for _, offset := range offsets {
			w := newDoubleWorld(fleettest.Config{Machines: machines, Timing: timing, Behave: behave}, offset)
			double, err = newLife(w, name).lead(acts, lifeLimit)
			if err == nil && explains(film, double) {
				return ""
			}
		}
	}
	return fmt.Sprintf("real\n%s\nfleettest (%v)\n%s", show(film), err, show(double))
}

// behave is what can't be read off the unit files of the lives.
func behave(start fleettest.Start) fleettest.Behavior {
	behavior := fleettest.DefaultBehavior(start)
	switch start.Name {
	case "slow@1.service":
		behavior.StartDelay = 12 * time.Second
	case "once@1.service":
		behavior.StartDelay = 12 * time.Second
	}
	return behavior
}
