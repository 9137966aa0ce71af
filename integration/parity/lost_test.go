package parity

import (
	"context"
	"testing"
	"time"

	"github.com/squadronctl/squadron/fleet/fleettest"
)

// testLost compares what is seen of two units when the machine that they are on is lost and comes back: one that must be
// on that machine, and one that may be on another (R37, R39).
func testLost(t *testing.T, _ pair) {
	m3 := calm.Machines()[2]
	lose := act{does: "lose the machine", then: 3 * time.Second, do: func(l *life) error {
		if double, ok := l.world.(doubleWorld); ok {
			double.KillMachine(m3.ID)
			return nil
		}
		return m3.Kill()
	}}
	back := act{does: "bring it back", until: is("launched/launched", "active/running"), then: 3 * time.Second, do: func(l *life) error {
		if double, ok := l.world.(doubleWorld); ok {
			double.RestoreMachine(m3.ID)
			return nil
		}
		ctx, cancel := context.WithTimeout(t.Context(), lifeLimit)
		defer cancel()
		return m3.Start(ctx)
	}}
	// A machine is missed 15 to 30 s after its loss, its states and what it launched each 6 to 30 s after.
	var timings []fleettest.Timing
	for _, gone := range []time.Duration{16 * time.Second, 27 * time.Second} {
		for _, ends := range [][2]time.Duration{{8, 12}, {12, 8}, {8, 20}, {20, 8}, {20, 23}, {23, 20}, {29, 29}} {
			timing := fleettest.Measured()
			timing.MachineGone, timing.MachineTTL, timing.LaunchedTTL = gone, ends[0]*time.Second, ends[1]*time.Second
			timings = append(timings, timing)
		}
	}

	at := offsets(5*time.Second, 2*time.Second)

	pinned := lose
	pinned.until = func(f frame) bool { return f == "launched/inactive" }
	compareLife(t, calm, "pinned@1.service", []act{
		put("submit launched", putUnit("launched", sleepA, "X-Fleet.MachineMetadata=name=m3"), is("active/running"), 2*time.Second),
		pinned, back,
	}, at, timings...)

	moves := lose
	began := false // the machine is still listed when the unit looks well for the last time before it is moved
	moves.until = func(f frame) bool {
		began = began || !is("launched/launched", "active/running")(f) || is("elsewhere")(f)
		return began && is("launched/launched", "active/running")(f) && !is("elsewhere")(f)
	}
	compareLife(t, calm, "moves@1.service", []act{
		beside("filler.service", "an excluding unit on m2", putUnit("loaded", sleepA, "X-Fleet.MachineMetadata=name=m2", "X-Fleet.Conflicts=moves*")),
		put("submit launched", putUnit("launched", sleepA, `X-Fleet.MachineMetadata="name=m2" "name=m3"`), is("active/running"), 2*time.Second),
		without("filler.service", 12*time.Second),
		{does: "begin", do: func(*life) error { began = false; return nil }, until: anything},
		moves, back,
	}, at, timings...)
}
