// Package fleettest is a whole fleet cluster in one process, for tests and for first steps without a cluster.
//
// Cluster is the cluster: an http.Handler that speaks fleet's HTTP API, schedules units onto simulated machines, and
// walks each unit through the fleet and systemd states that a real cluster shows. Server puts one behind a real
// listener, in the shape of net/http/httptest; Transport reaches one without any network, so that the real client runs
// inside a testing/synctest bubble. Faults is a layer of its own over any handler: latency, errors, hangs, broken
// connections.
//
// # Time
//
// A Cluster has no goroutines and no timers. Writes and faults put transitions on a queue, each with the moment it is
// due, and whatever looks at the cluster (a request, a call of one of its methods) first carries out all that is due, in
// the order of time. So it works with the real clock, with a bubble's, and with one of the test's own (Config.Now), and
// what happened between two looks is reported at the time it would have happened.
//
// # Limits
//
// What a Cluster answers is held against a real one, call by call and state by state. These differences are known:
//
//   - A unit file is never executed: what a service does when it is started is for Config.Behave to say, and Type= other than
//     oneshot, ExecStartPre=, conditions and dependencies on other units mean nothing. Nor is it looked at otherwise: every
//     unit file can be loaded, so the load state is always loaded (of a scope not-found).
//   - Timers and sockets start no service, and need none. Restarts have no start limit.
//   - A machine is well, lost, or stuck by a unit that no agent can bear; there is nothing between. A stop that takes its time
//     does so once: a unit of the same name is loaded after it and not beside it.
//   - A request is of one moment. A real listing that is read while a unit is created or destroyed can show it without its
//     desired or its current state: the fault Torn answers so. Nor does an engine ever look at a unit half-written: a real one
//     may give a new unit that is to be inactive a machine, until its next pass.
//   - Global units don't exclude one another. Of a pair where one replaces the other, the one that was moved away and has no
//     other place comes back and stays, where a real engine moves it for ever.
//   - All agents see the same writes at the same moment, and a pass takes no time. In a real cluster each agent misses some that
//     others see, and a pass that starts many units takes seconds.
//   - The discovery document is its head only, and there are no metrics.
package fleettest

import (
	"net"
	"time"

	"github.com/squadronctl/squadron/fleet"
)

// Config is what NewCluster and NewServer need. Zero fields mean their defaults.
type Config struct {
	// Machines are the cluster's machines; three of DefaultMachines by default. IDs must differ and none be empty.
	Machines []fleet.Machine
	// Timing says how long the cluster takes for what it does. The zero Timing is Instant: states follow at once.
	Timing Timing
	// PageLimit is how many entries a page of a listing has; 100 by default, 65535 at most.
	PageLimit int
	// Now is the cluster's clock; time.Now by default. It is called with the cluster locked, so it must not call the
	// cluster. A clock that goes backwards stands still.
	Now func() time.Time
	// Behave says what a unit does on a machine, each time it is started there; DefaultBehavior by default. It is called
	// with the cluster locked, so it must not call the cluster.
	Behave func(Start) Behavior
	// Log is where a Server says what its Close is waiting for; nil means silence. A Cluster has nothing to say.
	Log func(string)
}

// DefaultMachines gives the first n machines of an endless row, n at most 250: IDs of 32 hexadecimal digits, addresses
// of the documentation's network 192.0.2.0/24, and the metadata name=m1 (m2, …) and zone=a (b, c, a, …).
func DefaultMachines(n int) []fleet.Machine {
	var machines []fleet.Machine
	for i := 1; i <= min(n, 250); i++ {
		machines = append(machines, fleet.Machine{
			ID:       machineID(i),
			IP:       net.IPv4(192, 0, 2, byte(i)),
			Metadata: map[string]string{"name": machineName(i), "zone": string(rune('a' + (i-1)%3))},
		})
	}
	return machines
}

func withDefaults(config Config) Config {
	if config.Machines == nil {
		config.Machines = DefaultMachines(3)
	}
	if config.PageLimit <= 0 {
		config.PageLimit = defaultPageLimit
	}
	config.PageLimit = min(config.PageLimit, maxPageLimit)
	if config.Now == nil {
		config.Now = time.Now
	}
	if config.Behave == nil {
		config.Behave = DefaultBehavior
	}
	return config
}
