package fleettest

import (
	"slices"
	"time"
)

// instance is a unit as systemd knows it on one machine.
type instance struct {
	machine *machine
	name    string
	file    unitFile

	active, sub string
	// launched is what the agent remembers of the unit: whether it has started it last, or stopped it.
	launched bool
	// unloading says that the unit is to be forgotten once it has stopped; its state isn't published any more.
	unloading bool
	// startAgain says that a start was asked for while the unit was stopping.
	startAgain bool
	publishing bool // the next tick is awaited
	step       int  // counts what was asked of systemd, so that transitions of an earlier wish lapse
	attempt    int
	behavior   Behavior
}

// agentPass brings what a machine has of the units that are due a step towards what the registry wants: it unloads, then
// loads, stops and starts, each in the order of names. What could not be done is left for the next pass.
func (c *Cluster) agentPass(m *machine) {
	if !m.alive || m.stuck {
		return
	}
	m.lastPass = c.now
	names := m.takeDue(c.now)
	for _, step := range []func(*machine, string) bool{c.passUnload, c.passLoad, c.passStop, c.passStart} {
		for _, name := range names {
			if !step(m, name) {
				c.putOff(m, names)
				return
			}
		}
	}
}

// takeDue takes the units off a machine's list that are to be looked at by now.
func (m *machine) takeDue(now time.Time) []string {
	var names []string
	for name, at := range m.dirty {
		if !at.After(now) {
			names = append(names, name)
			delete(m.dirty, name)
		}
	}
	slices.Sort(names)
	return names
}

// putOff leaves units for the next pass.
func (c *Cluster) putOff(m *machine, names []string) {
	for _, name := range names {
		c.mark(m, name, c.now)
	}
	if c.config.Timing.Interval > 0 && !m.stuck {
		c.tickSoon(m)
	}
}

// wanted gives the unit that a machine's agent should have under the name, nil for none.
func (c *Cluster) wanted(m *machine, name string) *clusterUnit {
	if u := c.units[name]; u != nil && u.desired != inactive && (u.target == m.ID || c.globalOn(m, u)) {
		return u
	}
	return nil
}

// passUnload unloads a unit that is not wanted, or wanted with another content. It is false where that ends the pass:
// an agent asks systemd to forget the failure of a unit that it has just stopped, which systemd refuses for one that it
// has forgotten altogether by then, and that is any but a failed one.
func (c *Cluster) passUnload(m *machine, name string) bool {
	have, want := m.loaded[name], c.wanted(m, name)
	if have == nil || have.unloading || keeps(name) || want != nil && want.file.hash == have.file.hash {
		return true
	}
	failed := have.active == "failed"
	c.unload(have)
	return failed || c.config.Timing.Interval <= 0
}

// passLoad loads a unit. It is false where the unit's kind ends the pass, or the agent.
func (c *Cluster) passLoad(m *machine, name string) bool {
	have, want := m.loaded[name], c.wanted(m, name)
	if at, later := m.dirty[name]; want == nil || later && at.After(c.now) {
		return true
	}
	kind := kindOf(name)
	switch {
	case kind == deadly:
		m.stuck = true
		return false
	case kind == blocking:
		return false
	case have == nil:
		i := &instance{machine: m, name: name, file: want.file}
		m.loaded[name] = i
		c.setSystemd(i, "inactive", "dead")
	case keeps(name) && have.file.hash != want.file.hash:
		have.file = want.file
		c.publishSoon(have)
	}
	return true
}

func (c *Cluster) passStop(m *machine, name string) bool {
	have, want := m.loaded[name], c.wanted(m, name)
	if have == nil || have.unloading || want == nil || want.desired != loaded || !have.launched || keeps(name) {
		return true
	}
	have.launched = false
	c.forgetLaunched(m, name)
	c.systemdStop(have)
	return true
}

// keeps says that an agent never stops or unloads the unit.
func keeps(name string) bool { return kindOf(name) == unmanaged || kindOf(name) == unstartable }

// passStart writes launched first and has systemd start the unit then, so launched says nothing about having run. It is
// false where that ends the pass.
func (c *Cluster) passStart(m *machine, name string) bool {
	have, want := m.loaded[name], c.wanted(m, name)
	if have == nil || have.unloading || want == nil || want.desired != launched || have.launched {
		return true
	}
	want.launchedOn = m.ID
	c.wrote()
	c.refreshCurrent(name)
	if kindOf(name) == unstartable {
		return false
	}
	have.launched = true
	c.systemdStart(have)
	return true
}

func (c *Cluster) unload(i *instance) {
	i.unloading = true
	i.launched = false
	c.forgetLaunched(i.machine, i.name)
	if c.systemdStop(i); i.stopped() {
		c.unloadStopped(i)
	}
}

// unloadStopped forgets a unit. Its last published state lingers.
func (c *Cluster) unloadStopped(i *instance) {
	delete(i.machine.loaded, i.name)
	c.emitInstance(Unloaded, i)
	c.expire(i.name, i.machine.ID, c.config.Timing.StateLinger, c.config.Timing.Republish > 0)
	if c.config.Timing.Republish > 0 {
		c.removeAgain(i.machine, i.name)
	}
	c.agentSoon(i.machine, i.name)
}

func (c *Cluster) forgetLaunched(m *machine, name string) {
	if u := c.units[name]; u != nil && u.launchedOn == m.ID {
		u.launchedOn = ""
		c.wrote()
		c.refreshCurrent(name)
	}
}
