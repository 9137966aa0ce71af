package fleettest

import "time"

// agentSoon lets the agent of a machine look at one unit. Where agents have no Interval that is after Load if systemd does
// not know the unit yet and after Pass if it does; otherwise at the agent's next pass, whatever brings it.
func (c *Cluster) agentSoon(m *machine, name string) {
	timing := c.config.Timing
	if timing.Interval > 0 {
		c.mark(m, name, c.now)
		c.tickSoon(m)
		return
	}
	delay := max(timing.Load, 0)
	if m.loaded[name] != nil {
		delay = max(timing.Pass, 0)
	}
	c.mark(m, name, c.now.Add(delay))
	c.after(delay, func() { c.agentPass(m) })
}

// mark puts a unit on the list of those that a machine's agent looks at from a moment on.
func (c *Cluster) mark(m *machine, name string, at time.Time) {
	if earlier, found := m.dirty[name]; m.alive && (!found || at.Before(earlier)) {
		m.dirty[name] = at
	}
}

// tickSoon has an agent make a pass an Interval after its last one.
func (c *Cluster) tickSoon(m *machine) {
	if m.ticking || !m.alive {
		return
	}
	m.ticking = true
	last, losses := m.lastPass, m.losses
	c.after(c.config.Timing.Interval-c.now.Sub(last)%c.config.Timing.Interval, func() {
		if m.losses != losses {
			return
		}
		m.ticking = false
		switch {
		case len(m.dirty) == 0:
		case m.lastPass.Equal(last):
			c.agentPass(m)
		default:
			c.tickSoon(m)
		}
	})
}

// announce is a write that all agents watch for: where they have an Interval they make a pass after a while. They don't
// see it when another write, also one of those that they do not watch for, has just woken their watch.
func (c *Cluster) announce(delay time.Duration) {
	if c.config.Timing.Interval <= 0 || c.now.Before(c.deafUntil) {
		return
	}
	delay = max(delay, 0)
	c.deafUntil = c.now.Add(delay)
	c.after(delay, func() {
		for _, id := range c.ids {
			c.agentPass(c.machines[id])
		}
	})
}

// wrote is a write that wakes the agents' watch without telling them anything.
func (c *Cluster) wrote() {
	if !c.now.Before(c.deafUntil) {
		c.deafUntil = c.now.Add(max(c.config.Timing.Pass, 0))
	}
}
