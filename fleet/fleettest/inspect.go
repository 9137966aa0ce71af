package fleettest

import (
	"fmt"
)

// UnitState is one unit of the cluster at one moment: fleet's states, and the true systemd states, which /state may
// show later.
type UnitState struct {
	// Name is the unit's name.
	Name string
	// Content is the unit file's text in its canonical serialisation, Hash its hash.
	Content, Hash string
	// Desired and Current are fleet's states. A global unit's Current is always inactive.
	Desired, Current string
	// Machine is the ID of the machine that the unit is scheduled to; empty for none and for global units.
	Machine string
	// Global says that the unit is global.
	Global bool
	// On has an entry for each machine on which systemd knows the unit, sorted by machine.
	On []Loaded
}

// Loaded is a unit's true systemd state on one machine.
type Loaded struct {
	// Machine is the machine's ID.
	Machine string
	// Active and Sub are the systemd states.
	Active, Sub string
	// Hash is the hash of the unit file that is loaded.
	Hash string
}

// Units tells the state of every unit in fleet's registry, sorted by name.
func (c *Cluster) Units() []UnitState {
	var all []UnitState
	c.locked(func() {
		for _, name := range c.names {
			all = append(all, c.unitState(c.units[name]))
		}
	})
	return all
}

// Unit tells the state of one unit, and whether there is such a unit.
func (c *Cluster) Unit(name string) (UnitState, bool) {
	var state UnitState
	var found bool
	c.locked(func() {
		if u := c.units[name]; u != nil {
			state, found = c.unitState(u), true
		}
	})
	return state, found
}

func (c *Cluster) unitState(u *clusterUnit) UnitState {
	state := UnitState{
		Name: u.name, Content: u.file.content, Hash: u.file.hash, Desired: u.desired, Current: u.current,
		Machine: u.target, Global: u.needs.global,
	}
	for _, id := range c.ids {
		if i := c.machines[id].loaded[u.name]; i != nil {
			state.On = append(state.On, Loaded{Machine: id, Active: i.active, Sub: i.sub, Hash: i.file.hash})
		}
	}
	return state
}

// Put creates or replaces a unit behind the API's back, as another client of the cluster would; desired is inactive,
// loaded or launched, and inactive where it is empty and the unit new. It fails on what the API would refuse, and nothing is changed then. It isn't counted as a request.
func (c *Cluster) Put(name, content, desired string) error {
	file, err := readUnitFile(content)
	if err != nil {
		return fmt.Errorf("put unit %q: %w", name, err)
	}
	if desired != "" && !isDesiredState(desired) {
		return fmt.Errorf("put unit %q: desired state %q is none of inactive, loaded and launched", name, desired)
	}
	var problem *apiError
	c.locked(func() {
		_, problem = c.putUnit(apiUnit{Name: name, Options: toAPIOptions(file.options), DesiredState: desired})
	})
	if problem != nil {
		return fmt.Errorf("put unit %q: %w", name, problem)
	}
	return nil
}

// Remove destroys a unit behind the API's back. It reports whether there was such a unit.
func (c *Cluster) Remove(name string) bool {
	var found bool
	c.locked(func() {
		if u := c.units[name]; u != nil {
			found = true
			c.destroy(u)
		}
	})
	return found
}
