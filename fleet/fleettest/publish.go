package fleettest

import "time"

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

// publish puts a unit's state where /state shows it. A unit that is being unloaded is no longer watched by its agent, and
// an agent that is stuck watches nothing.
func (c *Cluster) publish(i *instance) {
	if i.machine.loaded[i.name] != i || i.unloading || i.machine.stuck {
		return
	}
	entries := c.states[i.name]
	if entries == nil {
		entries = map[string]*stateEntry{}
		c.states[i.name] = entries
		c.stateNames.insert(i.name)
	}
	entries[i.machine.ID] = &stateEntry{hash: i.file.hash, active: i.active, sub: i.sub, load: i.loadState()}
	c.refreshCurrent(i.name)
}

// loadState is systemd's load state. There is no such thing as the file of a scope, which only programs can make.
func (i *instance) loadState() string {
	if unitType(i.name) == "scope" {
		return "not-found"
	}
	return "loaded"
}

// expire takes an entry out of /state after a while, unless another was published over it by then. Where it takes those of
// all machines with it, these publish theirs again at their next Republish, or when they change.
func (c *Cluster) expire(name, id string, after time.Duration, all bool) {
	entry := c.states[name][id]
	if entry == nil {
		return
	}
	c.after(after, func() {
		switch {
		case c.states[name][id] != entry:
		case all:
			c.removeStates(name)
		default:
			c.removeState(name, id)
		}
	})
}

func (c *Cluster) removeState(name, id string) {
	entries := c.states[name]
	delete(entries, id)
	if len(entries) == 0 {
		delete(c.states, name)
		c.stateNames.remove(name)
	}
	c.refreshCurrent(name)
}

// removeStates takes a unit's entries of all machines out of /state. Those that have it loaded publish theirs again.
func (c *Cluster) removeStates(name string) {
	for _, id := range sortedKeys(c.states[name]) {
		c.removeState(name, id)
		if m := c.machines[id]; m.loaded[name] != nil {
			i := m.loaded[name]
			c.after(c.untilRepublish(m), func() { c.publish(i) })
		}
	}
}

// removeAgain has a machine remove a unit's states once more when it publishes all that it knows next: what it knows of a
// unit that it unloaded is that there is none.
func (c *Cluster) removeAgain(m *machine, name string) {
	losses := m.losses
	c.after(c.untilRepublish(m), func() {
		if m.losses == losses && !m.stuck && m.loaded[name] == nil {
			c.removeStates(name)
		}
	})
}

// untilRepublish is how far a machine's next Republish is. Those of different machines fall apart.
func (c *Cluster) untilRepublish(m *machine) time.Duration {
	tick := c.config.Timing.Republish
	return untilTick(c.now.Sub(c.epoch)+m.phase, tick)
}
