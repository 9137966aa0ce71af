package fleettest

import (
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/squadronctl/squadron/fleet"
)

// Cluster is a simulated fleet cluster and the HTTP API to it. Make one with NewCluster. It is safe for use by many
// goroutines at once, and there is nothing to close.
type Cluster struct {
	config Config
	mux    *http.ServeMux

	mu    sync.Mutex
	now   time.Time // how far the simulation has come
	epoch time.Time // the machines' ticks are counted from here
	queue eventQueue

	units     map[string]*clusterUnit
	names     sortedNames     // of units
	waiting   map[string]bool // units that no machine can take
	following map[string]bool // units with MachineOf or Replaces
	excluding map[string]bool // units with Conflicts
	globals   map[string]bool
	machines  map[string]*machine
	ids       sortedNames     // of machines
	recheck   bool            // a look of the engine at waiting and following units is due
	spoiled   map[string]bool // units that a fleetd can't read back
	deafUntil time.Time       // until then, agents don't see what is written

	states     map[string]map[string]*stateEntry // what /state shows, by unit and machine
	stateNames sortedNames

	counts  Counts
	changes changeFeed
}

// clusterUnit is a unit as fleet's registry has it.
type clusterUnit struct {
	name    string
	file    unitFile
	desired string
	current string // as last reported by refreshCurrent
	// target is the ID of the machine that the engine has chosen, launchedOn that of the machine whose agent has written
	// launched. Both are empty for none.
	target     string
	launchedOn string
	needs      requirements
	// pushed names the units that were moved away for this one (Replaces), each of them once only, lest a circle of
	// replacements goes on for ever.
	pushed map[string]bool
}

// machine is a host and its agent.
type machine struct {
	fleet.Machine
	alive  bool // the agent works
	listed bool // the registry still has it
	losses int  // how often it was lost, to tell whether it still is the same loss
	stuck  bool // the agent does nothing any more, nor does it publish anything
	// dirty are the units that the agent has to look at, each from a moment on; lastPass is when it did last, and ticking
	// says that its next pass by itself is on the queue.
	dirty    map[string]time.Time
	lastPass time.Time
	ticking  bool
	phase    time.Duration // by how much its Republish comes earlier than that of the first machine
	// scheduled are the units that the engine has given to it, loaded those that systemd knows there.
	scheduled map[string]*clusterUnit
	loaded    map[string]*instance
}

// stateEntry is a unit's state as its machine last published it.
type stateEntry struct {
	hash, active, sub, load string
}

// The states that fleet itself knows.
const (
	inactive = "inactive"
	loaded   = "loaded"
	launched = "launched"
)

// NewCluster makes a cluster without units, whose machines are all well.
func NewCluster(config Config) *Cluster {
	config = withDefaults(config)
	now := config.Now()
	c := &Cluster{
		config:    config,
		now:       now,
		epoch:     now,
		units:     map[string]*clusterUnit{},
		waiting:   map[string]bool{},
		following: map[string]bool{},
		excluding: map[string]bool{},
		globals:   map[string]bool{},
		spoiled:   map[string]bool{},
		machines:  map[string]*machine{},
		states:    map[string]map[string]*stateEntry{},
	}
	for _, m := range config.Machines {
		c.addMachine(m)
	}
	c.mux = newMux(c)
	return c
}

// locked brings the simulation to the present, runs f in it, and carries out what f caused and is due at once.
func (c *Cluster) locked(f func()) {
	func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.advance()
		f()
		c.advance()
	}()
	c.changes.deliver()
}

// advance carries out all that is due by now, in the order of time.
func (c *Cluster) advance() {
	now := c.config.Now()
	for {
		e, ok := c.queue.next(now)
		if !ok {
			break
		}
		if e.due.After(c.now) {
			c.now = e.due
		}
		e.run()
	}
	if now.After(c.now) {
		c.now = now
	}
}

// after puts a transition on the queue.
func (c *Cluster) after(d time.Duration, run func()) {
	c.queue.add(c.now.Add(max(d, 0)), run)
}

// put creates a unit, or replaces the content of a known one.
func (c *Cluster) put(name string, file unitFile, desired string) {
	old := c.units[name]
	u := &clusterUnit{name: name, file: file, desired: desired, current: inactive, needs: parseRequirements(name, file)}
	kind := Created
	if old != nil {
		kind = Replaced
		u.target, u.launchedOn, u.current = old.target, old.launchedOn, old.current
	} else {
		c.names.insert(name)
	}
	c.units[name] = u
	c.wrote()
	setMember(c.following, name, u.needs.follows())
	setMember(c.excluding, name, len(u.needs.conflicts) > 0)
	setMember(c.globals, name, u.needs.global)
	delete(c.waiting, name)
	c.emitUnit(kind, u)
	if m := c.machines[u.target]; m != nil {
		m.scheduled[name] = u
		if u.needs.global {
			c.unschedule(u)
		}
	}
	c.unitChanged(u)
}

// setDesired changes the desired state of a known unit.
func (c *Cluster) setDesired(u *clusterUnit, desired string) {
	if u.desired == desired {
		return
	}
	u.desired = desired
	c.emitUnit(DesiredChanged, u)
	c.announce(c.config.Timing.Pass)
	c.unitChanged(u)
}

// unitChanged sets the engine and the agents going after a write.
func (c *Cluster) unitChanged(u *clusterUnit) {
	if !u.needs.global {
		c.after(c.config.Timing.Schedule, func() { c.place(u.name) })
	}
	for _, id := range c.ids {
		if m := c.machines[id]; u.needs.global || u.target == id || m.loaded[u.name] != nil {
			c.agentSoon(m, u.name)
		}
	}
	c.recheckSoon()
}

// spoil makes a unit one that a fleetd can't read back: it can be neither read nor listed, changed or removed.
func (c *Cluster) spoil(u *clusterUnit) {
	c.destroy(u)
	c.spoiled[u.name] = true
}

// destroy removes a unit from the registry; its machines follow.
func (c *Cluster) destroy(u *clusterUnit) {
	c.wrote()
	delete(c.units, u.name)
	delete(c.waiting, u.name)
	delete(c.following, u.name)
	delete(c.excluding, u.name)
	delete(c.globals, u.name)
	c.names.remove(u.name)
	if m := c.machines[u.target]; m != nil {
		delete(m.scheduled, u.name)
	}
	c.emitUnit(Destroyed, u)
	for _, id := range c.ids {
		if m := c.machines[id]; m.loaded[u.name] != nil || kindOf(u.name) != managed {
			c.agentSoon(m, u.name)
		}
	}
	c.recheckSoon()
}

// currentOf is the current state that fleet works out from a unit's target, the published state and who wrote launched.
// An entry left over from an earlier unit of the name counts like any other.
func (c *Cluster) currentOf(u *clusterUnit) string {
	switch {
	case u.target == "" || c.states[u.name][u.target] == nil:
		return inactive
	case u.launchedOn != u.target:
		return loaded
	default:
		return launched
	}
}

// refreshCurrent reports a change of a unit's current state.
func (c *Cluster) refreshCurrent(name string) {
	u := c.units[name]
	if u == nil {
		return
	}
	if current := c.currentOf(u); current != u.current {
		u.current = current
		c.emitUnit(CurrentChanged, u)
	}
}

// sortedNames is a set of strings in order.
type sortedNames []string

func (s *sortedNames) insert(name string) {
	if i, found := slices.BinarySearch(*s, name); !found {
		*s = slices.Insert(*s, i, name)
	}
}

func (s *sortedNames) remove(name string) {
	if i, found := slices.BinarySearch(*s, name); found {
		*s = slices.Delete(*s, i, i+1)
	}
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for key := range m {
		keys = append(keys, key)
	}
	slices.SortFunc(keys, strings.Compare)
	return keys
}

func setMember(set map[string]bool, name string, member bool) {
	if member {
		set[name] = true
	} else {
		delete(set, name)
	}
}
