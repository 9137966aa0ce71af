package fleettest

import "time"

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

// agentSoon lets the agent of a machine look at one unit: after Load where systemd does not know the unit yet, after
// Pass where it does.
func (c *Cluster) agentSoon(m *machine, name string) {
	delay := c.config.Timing.Load
	if m.loaded[name] != nil {
		delay = c.config.Timing.Pass
	}
	losses := m.losses
	c.after(delay, func() {
		if m.alive && m.losses == losses {
			c.agentPass(m, name)
		}
	})
}

// agentPass brings what a machine has of one unit a step towards what the registry wants. Every step but the last has
// another pass behind it.
func (c *Cluster) agentPass(m *machine, name string) {
	have, u := m.loaded[name], c.units[name]
	want := u != nil && u.desired != inactive && agentKnows(name) && (u.target == m.ID || c.globalOn(m, u))
	switch {
	case have == nil && want:
		c.load(m, u)
	case have == nil || have.unloading:
	case !want || have.file.hash != u.file.hash:
		c.unload(have)
	case u.desired == launched && !have.launched:
		c.launch(have, u)
	case u.desired == loaded && have.launched:
		have.launched = false
		c.forgetLaunched(m, name)
		c.systemdStop(have)
	}
}

func (c *Cluster) load(m *machine, u *clusterUnit) {
	i := &instance{machine: m, name: u.name, file: u.file}
	m.loaded[u.name] = i
	c.setSystemd(i, "inactive", "dead")
	if u.desired == launched {
		c.launch(i, u)
	}
}

// launch writes launched first and has systemd start the unit then, so launched says nothing about having run.
func (c *Cluster) launch(i *instance, u *clusterUnit) {
	i.launched = true
	u.launchedOn = i.machine.ID
	c.refreshCurrent(i.name)
	c.systemdStart(i)
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
	c.expire(i.name, i.machine.ID, c.config.Timing.StateLinger)
	c.agentSoon(i.machine, i.name)
}

func (c *Cluster) forgetLaunched(m *machine, name string) {
	if u := c.units[name]; u != nil && u.launchedOn == m.ID {
		u.launchedOn = ""
		c.refreshCurrent(name)
	}
}

// publishSoon has a machine publish a unit's state at its next tick, at once where there is no tick.
func (c *Cluster) publishSoon(i *instance) {
	tick := c.config.Timing.Publish
	if tick <= 0 {
		c.publish(i)
		return
	}
	if i.publishing {
		return
	}
	i.publishing = true
	c.after(untilTick(c.now.Sub(c.epoch), tick), func() {
		i.publishing = false
		c.publish(i)
	})
}

// untilTick is how far the next tick is; on a tick it is 0.
func untilTick(elapsed, tick time.Duration) time.Duration {
	if rest := elapsed % tick; rest != 0 {
		return tick - rest
	}
	return 0
}

// publish puts a unit's state where /state shows it. A unit that is being unloaded is no longer watched by its agent.
func (c *Cluster) publish(i *instance) {
	if i.machine.loaded[i.name] != i || i.unloading {
		return
	}
	entries := c.states[i.name]
	if entries == nil {
		entries = map[string]*stateEntry{}
		c.states[i.name] = entries
		c.stateNames.insert(i.name)
	}
	entries[i.machine.ID] = &stateEntry{hash: i.file.hash, active: i.active, sub: i.sub}
	c.refreshCurrent(i.name)
}

// expire takes an entry out of /state after a while, unless another was published over it by then.
func (c *Cluster) expire(name, id string, after time.Duration) {
	entry := c.states[name][id]
	if entry == nil {
		return
	}
	c.after(after, func() {
		entries := c.states[name]
		if entries[id] != entry {
			return
		}
		delete(entries, id)
		if len(entries) == 0 {
			delete(c.states, name)
			c.stateNames.remove(name)
		}
		c.refreshCurrent(name)
	})
}
