package fleettest

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/squadronctl/squadron/fleet"
)

func machineName(i int) string { return fmt.Sprintf("m%d", i) }

// machineID gives IDs that differ within their first eight characters, which fleet takes for an ID as well.
func machineID(i int) string { return fmt.Sprintf("%08x%024x", i, i) }

// AddMachine adds a machine that is well. A known one gets the address and metadata given, and is restored where it was
// lost.
func (c *Cluster) AddMachine(m fleet.Machine) {
	c.locked(func() {
		if known := c.machines[m.ID]; known != nil {
			known.Machine = cloneMachine(m)
			c.restore(known)
		} else {
			c.addMachine(m)
		}
		c.machinesChanged()
	})
}

// KillMachine is the sudden loss of a machine: what ran there runs no longer, and nobody has been told. Timing says how
// long /machines and /state go on showing it; then its units go elsewhere. It reports whether there was such a machine,
// well until now.
func (c *Cluster) KillMachine(id string) bool {
	var found bool
	c.locked(func() {
		if m := c.machines[id]; m != nil && m.alive {
			found = true
			c.kill(m)
		}
	})
	return found
}

// RestoreMachine brings a lost machine back, freshly booted: no unit is loaded there, and its agent begins to load those
// that it is meant to have. It reports whether there was such a machine, lost until now.
func (c *Cluster) RestoreMachine(id string) bool {
	var found bool
	c.locked(func() {
		if m := c.machines[id]; m != nil && !m.alive {
			found = true
			c.restore(m)
			c.machinesChanged()
		}
	})
	return found
}

// FailUnit has a unit fail at once wherever it is active or activating, as if its main process had crashed. There is no
// automatic restart after that. It reports whether the unit was active anywhere.
func (c *Cluster) FailUnit(name string) bool {
	var found bool
	c.locked(func() {
		for _, id := range c.ids {
			i := c.machines[id].loaded[name]
			if i == nil || i.stopped() || i.active == "deactivating" {
				continue
			}
			found = true
			i.step++
			c.setSystemd(i, "failed", "failed")
		}
	})
	return found
}

func (c *Cluster) addMachine(data fleet.Machine) {
	m := &machine{
		Machine: cloneMachine(data), alive: true, listed: true,
		scheduled: map[string]*clusterUnit{}, loaded: map[string]*instance{}, dirty: map[string]time.Time{}, lastPass: c.now,
		phase: time.Duration(len(c.ids)) * c.config.Timing.Republish / 5,
	}
	c.machines[data.ID] = m
	c.ids.insert(data.ID)
	c.emitMachine(MachineAdded, m)
}

// cloneMachine gives a copy that shares no memory, and whose metadata can be written to.
func cloneMachine(m fleet.Machine) fleet.Machine {
	metadata := map[string]string{}
	maps.Copy(metadata, m.Metadata)
	return fleet.Machine{ID: m.ID, IP: slices.Clone(m.IP), Metadata: metadata}
}

func (c *Cluster) kill(m *machine) {
	m.alive = false
	m.losses++
	c.emitMachine(MachineLost, m)
	gone := m.loaded
	m.loaded = map[string]*instance{}
	m.dirty = map[string]time.Time{}
	for _, name := range sortedKeys(gone) {
		c.emitInstance(Unloaded, gone[name])
	}
	for _, name := range c.stateNames {
		c.expire(name, m.ID, c.config.Timing.MachineTTL, false)
	}
	losses := m.losses
	c.after(cmp.Or(c.config.Timing.LaunchedTTL, c.config.Timing.MachineTTL), func() {
		for _, name := range sortedKeys(m.scheduled) {
			if !m.alive && m.losses == losses {
				c.forgetLaunched(m, name)
			}
		}
	})
	c.after(c.config.Timing.MachineGone, func() {
		if m.alive || m.losses != losses {
			return
		}
		m.listed = false
		c.emitMachine(MachineGone, m)
		c.machinesChanged()
	})
}

func (c *Cluster) restore(m *machine) {
	if m.alive {
		return
	}
	m.alive, m.listed, m.stuck, m.ticking = true, true, false, false
	m.lastPass = c.now
	for _, name := range sortedKeys(m.scheduled) {
		c.forgetLaunched(m, name)
	}
	c.emitMachine(MachineRestored, m)
}

// machinesChanged has the engine look at every unit, and every agent that works at what may concern it: units that are
// scheduled to it and global ones.
func (c *Cluster) machinesChanged() {
	for _, name := range c.names {
		if c.units[name].needs.global {
			for _, id := range c.ids {
				c.agentSoon(c.machines[id], name)
			}
			continue
		}
		c.after(c.config.Timing.Schedule, func() { c.place(name) })
		if m := c.machines[c.units[name].target]; m != nil {
			c.agentSoon(m, name)
		}
	}
}
