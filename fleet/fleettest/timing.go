package fleettest

import "time"

// Timing says how long the simulated cluster takes. All durations may be zero, which means at once; negative ones count
// as zero.
type Timing struct {
	// Schedule is from a write, or a change of the machines, until the engine has chosen a unit's machine.
	Schedule time.Duration
	// Load is from the choice of a machine until its agent has loaded the unit.
	Load time.Duration
	// Pass is from a write until the agent of a unit's machine acts on it: writes launched, begins to stop it, begins to
	// unload it.
	Pass time.Duration
	// Activate is from launched until systemd begins to start the unit: so long fleet says launched and systemd
	// inactive.
	Activate time.Duration
	// Start is how long systemd says activating of a service; StartDelay of its Behavior comes on top.
	Start time.Duration
	// Stop is how long systemd says deactivating of a service.
	Stop time.Duration
	// Publish is the tick at which a machine publishes the states that /state shows.
	Publish time.Duration
	// StateLinger is how long a unit's entry stays in /state after the unit was unloaded.
	StateLinger time.Duration
	// MachineGone is from the loss of a machine until /machines lacks it and the engine takes its units elsewhere.
	MachineGone time.Duration
	// MachineTTL is from the loss of a machine until its entries leave /state.
	MachineTTL time.Duration
}

// Instant is a cluster that takes no time: whatever a request causes has happened when it is answered. It is the zero
// Timing.
func Instant() Timing { return Timing{} }

// Fast is a cluster for trying things out: a unit's whole life can be watched, and takes well under a second.
func Fast() Timing {
	return Timing{
		Schedule:    20 * time.Millisecond,
		Load:        40 * time.Millisecond,
		Pass:        20 * time.Millisecond,
		Activate:    20 * time.Millisecond,
		Start:       60 * time.Millisecond,
		Stop:        60 * time.Millisecond,
		Publish:     10 * time.Millisecond,
		StateLinger: 100 * time.Millisecond,
		MachineGone: 150 * time.Millisecond,
		MachineTTL:  300 * time.Millisecond,
	}
}

// Measured is as long as a real cluster of three machines took for ten units: loaded after 3 s, running 2 s after the
// start, stopped after 2 s, states gone 20 s after a destroy, a lost machine's after 30 s.
func Measured() Timing {
	return Timing{
		Schedule:    time.Second,
		Load:        1500 * time.Millisecond,
		Pass:        500 * time.Millisecond,
		Activate:    200 * time.Millisecond,
		Start:       500 * time.Millisecond,
		Stop:        500 * time.Millisecond,
		Publish:     time.Second,
		StateLinger: 19 * time.Second,
		MachineGone: 15 * time.Second,
		MachineTTL:  30 * time.Second,
	}
}
