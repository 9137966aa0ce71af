package fleettest

import "time"

// Timing says how long the simulated cluster takes. All durations may be zero, which means at once; negative ones count
// as zero.
type Timing struct {
	// Interval is how often an agent makes a pass without being told to. Zero: agents need no pass of their own, since they
	// see every write, and Load and Pass are the times of each unit by itself.
	//
	// With an Interval an agent looks at all its units in one pass. What makes it begin one is a desired state or a choice of
	// a machine being written, Pass or Load later; of units that are created, replaced or destroyed it is not told, nor of
	// what is written within Pass of any other write. Such units wait for the next pass, an Interval after the last. A pass
	// that unloads a unit ends there, as it does with today's systemd: of several units on a machine one is unloaded every
	// Interval, unless other writes bring passes in between, and the machine starts and stops nothing meanwhile.
	Interval time.Duration
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
	// Republish is how often a machine publishes again what has not changed. Zero: never, nor is there need to. Above zero,
	// a machine that unloads a unit removes the entries of all other machines with its own, and does so again at its next
	// Republish, as a fleetd does. They are back at the next Republish of these machines, or when their states change.
	Republish time.Duration
	// MachineGone is from the loss of a machine until /machines lacks it and the engine takes its units elsewhere.
	MachineGone time.Duration
	// MachineTTL is from the loss of a machine until its entries leave /state.
	MachineTTL time.Duration
	// LaunchedTTL is from the loss of a machine until fleet no longer says of its units that they are launched; as long as
	// MachineTTL where zero.
	LaunchedTTL time.Duration
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
		LaunchedTTL: 300 * time.Millisecond,
	}
}

// Measured is as long as a real cluster of three machines takes (docs/testing.md has the figures): a unit is loaded 3 s
// after its submit, runs 1 to 2 s after its start, and has stopped 1 to 2 s after its stop. A destroyed one leaves /state
// within 6 s, and of several on a machine one every 5 s; a lost machine's after 30 s.
func Measured() Timing {
	return Timing{
		Interval:    5 * time.Second,
		Schedule:    1500 * time.Millisecond,
		Load:        time.Second,
		Pass:        time.Second,
		Activate:    100 * time.Millisecond,
		Start:       5 * time.Millisecond,
		Stop:        5 * time.Millisecond,
		Publish:     time.Second,
		Republish:   24 * time.Second,
		StateLinger: 500 * time.Millisecond,
		MachineGone: 15 * time.Second,
		MachineTTL:  30 * time.Second,
		LaunchedTTL: 30 * time.Second,
	}
}
