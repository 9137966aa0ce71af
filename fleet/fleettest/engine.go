package fleettest

import (
	"cmp"
	"maps"
	"slices"
)

// place is the engine's look at one unit: it takes it from a machine that can't have it any longer, and gives it to the
// least loaded one that can.
func (c *Cluster) place(name string) {
	u := c.units[name]
	if u == nil || u.needs.global {
		return
	}
	if m := c.machines[u.target]; m != nil && (u.desired == inactive || !m.listed || !c.able(m, u)) {
		c.unschedule(u)
	}
	if u.desired == inactive {
		return
	}
	if u.target == "" {
		m := c.leastLoaded(func(m *machine) bool { return c.able(m, u) })
		setMember(c.waiting, name, m == nil)
		if m != nil {
			c.schedule(u, m)
		}
	}
	c.pushReplaced(u)
}

// able says whether a unit may run on a machine beside the units that are scheduled there.
func (c *Cluster) able(m *machine, u *clusterUnit) bool {
	if !u.needs.suits(m) {
		return false
	}
	for _, peer := range u.needs.peers {
		if m.scheduled[peer] == nil && !c.globalOn(m, c.units[peer]) {
			return false
		}
	}
	if c.excluded(m, u) {
		return false
	}
	for name := range c.globals {
		if global := c.units[name]; excludes(global, u) && c.globalOn(m, global) {
			return false
		}
	}
	return true
}

// excluded says that a unit conflicts with one that is scheduled to the machine, whichever of the two says so.
func (c *Cluster) excluded(m *machine, u *clusterUnit) bool {
	if len(u.needs.conflicts) == 0 {
		for name := range c.excluding {
			if other := m.scheduled[name]; other != nil && excludes(other, u) {
				return true
			}
		}
		return false
	}
	for _, other := range m.scheduled {
		if excludes(other, u) {
			return true
		}
	}
	return false
}

func excludes(a, b *clusterUnit) bool {
	return a.name != b.name && (anyGlobMatches(a.needs.conflicts, b.name) || anyGlobMatches(b.needs.conflicts, a.name))
}

// globalOn says that a global unit is meant for the machine. It makes room for the scheduled units that it conflicts
// with; that global units exclude one another is not simulated.
func (c *Cluster) globalOn(m *machine, u *clusterUnit) bool {
	return u != nil && u.needs.global && u.needs.suits(m) && !c.excluded(m, u)
}

// leastLoaded chooses among the listed machines that one may take: the one with the fewest units, and of those the one
// with the smallest ID.
func (c *Cluster) leastLoaded(may func(*machine) bool) *machine {
	var candidates []*machine
	load := map[string]int{}
	for _, id := range c.ids {
		m := c.machines[id]
		if !m.listed || !may(m) {
			continue
		}
		candidates = append(candidates, m)
		load[id] = len(m.scheduled)
		for name := range c.globals {
			if c.globalOn(m, c.units[name]) {
				load[id]++
			}
		}
	}
	if len(candidates) == 0 {
		return nil
	}
	return slices.MinFunc(candidates, func(a, b *machine) int { return cmp.Compare(load[a.ID], load[b.ID]) })
}

// schedule gives a unit to a machine.
func (c *Cluster) schedule(u *clusterUnit, m *machine) {
	u.target = m.ID
	m.scheduled[u.name] = u
	c.emitUnit(Scheduled, u)
	c.refreshCurrent(u.name)
	c.announce(c.config.Timing.Load)
	c.agentSoon(m, u.name)
	c.neighboursChanged(m)
}

// unschedule takes a unit from its machine.
func (c *Cluster) unschedule(u *clusterUnit) {
	m := c.machines[u.target]
	u.target = ""
	if !m.alive {
		u.launchedOn = "" // a working agent sees to that itself
	}
	delete(m.scheduled, u.name)
	c.emitUnit(Unscheduled, u)
	c.refreshCurrent(u.name)
	c.announce(c.config.Timing.Pass)
	c.agentSoon(m, u.name)
	c.neighboursChanged(m)
}

// neighboursChanged lets those think again whose place depends on what else is on the machine.
func (c *Cluster) neighboursChanged(m *machine) {
	if len(c.excluding) > 0 {
		for _, global := range sortedKeys(c.globals) {
			c.agentSoon(m, global)
		}
	}
	c.recheckSoon()
}

// recheckSoon has the engine look again at the units that wait for a machine and at those that follow others.
func (c *Cluster) recheckSoon() {
	if c.recheck || len(c.waiting)+len(c.following) == 0 {
		return
	}
	c.recheck = true
	c.after(c.config.Timing.Schedule, func() {
		c.recheck = false
		again := maps.Clone(c.waiting)
		maps.Copy(again, c.following)
		for _, name := range sortedKeys(again) {
			c.place(name)
		}
	})
}

// pushReplaced moves away from a unit's machine what the unit replaces. A pair that replace each other stays.
func (c *Cluster) pushReplaced(u *clusterUnit) {
	m := c.machines[u.target]
	if m == nil || len(u.needs.replaces) == 0 {
		return
	}
	for _, name := range sortedKeys(m.scheduled) {
		other := m.scheduled[name]
		if other == u || u.pushed[name] || !anyGlobMatches(u.needs.replaces, name) ||
			anyGlobMatches(other.needs.replaces, u.name) {
			continue
		}
		to := c.leastLoaded(func(candidate *machine) bool { return candidate != m })
		if to == nil {
			return
		}
		if u.pushed == nil {
			u.pushed = map[string]bool{}
		}
		u.pushed[name] = true
		c.unschedule(other)
		c.schedule(other, to)
		// Whether the unit may run there was not asked. The engine's next look finds that out.
		c.after(c.config.Timing.Schedule, func() { c.place(name) })
	}
}
