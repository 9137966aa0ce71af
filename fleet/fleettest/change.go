package fleettest

import (
	"sync"
	"time"
)

// ChangeKind says what changed.
type ChangeKind string

// The kinds of changes.
const (
	// Created, Replaced and Destroyed are what became of a unit in fleet's registry.
	Created   ChangeKind = "created"
	Replaced  ChangeKind = "replaced"
	Destroyed ChangeKind = "destroyed"
	// DesiredChanged and CurrentChanged are changes of a unit's fleet states. A Created or Replaced tells the desired
	// state as well.
	DesiredChanged ChangeKind = "desired-changed"
	CurrentChanged ChangeKind = "current-changed"
	// Scheduled and Unscheduled are the engine's: a unit got a machine, or lost it.
	Scheduled   ChangeKind = "scheduled"
	Unscheduled ChangeKind = "unscheduled"
	// SystemdChanged is a change of a unit's true systemd state on one machine, the first one when it is loaded included.
	SystemdChanged ChangeKind = "systemd-changed"
	// Unloaded is the end of a unit on one machine: systemd does not know it there any longer, or the machine was lost.
	Unloaded ChangeKind = "unloaded"
	// MachineAdded, MachineLost, MachineGone and MachineRestored are what became of a machine; gone is when a lost one
	// leaves /machines.
	MachineAdded    ChangeKind = "machine-added"
	MachineLost     ChangeKind = "machine-lost"
	MachineGone     ChangeKind = "machine-gone"
	MachineRestored ChangeKind = "machine-restored"
)

// Change is one thing that happened in the cluster. It tells the true states, at the moment they came to be; what
// /state shows follows later.
type Change struct {
	// Time is the cluster's time of the change.
	Time time.Time
	// Kind says what changed.
	Kind ChangeKind
	// Unit is the unit's name; empty for changes of machines.
	Unit string
	// Machine is the ID of the machine: for SystemdChanged and Unloaded the one it happened on, for other changes of
	// units the one that the unit is scheduled to, if any.
	Machine string
	// Desired and Current are the unit's fleet states after the change; empty for a unit that is no longer in the
	// registry, and for changes of machines. After Destroyed they are those that it had.
	Desired, Current string
	// Active and Sub are the systemd states after a SystemdChanged; empty otherwise.
	Active, Sub string
	// Hash is the hash of the unit file: after SystemdChanged and Unloaded of the one loaded on the machine, otherwise of
	// the one in the registry.
	Hash string
}

// changeFeed hands changes to hooks in order, one at a time, with the cluster unlocked.
type changeFeed struct {
	mu         sync.Mutex
	hooks      []func(Change)
	pending    []Change
	delivering bool
}

// OnChange has a function called for every change from now on, in order. Calls never overlap, so the function needs no
// lock of its own against itself. It is called with the cluster unlocked, from whatever goroutine looked at the cluster,
// and may use the cluster; changes it causes itself are handed out after it returns. When a request or an inspection is
// over, the changes it found have been handed out, unless another goroutine is just handing out.
func (c *Cluster) OnChange(hook func(Change)) {
	c.locked(func() {})
	c.changes.mu.Lock()
	defer c.changes.mu.Unlock()
	c.changes.hooks = append(c.changes.hooks, hook)
}

// Advance carries out all that is due by now, which also every request and every inspection does.
func (c *Cluster) Advance() {
	c.locked(func() {})
}

func (f *changeFeed) add(change Change) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.hooks) > 0 {
		f.pending = append(f.pending, change)
	}
}

// deliver hands out what is pending. Whoever comes while another delivers leaves it to that one.
func (f *changeFeed) deliver() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.delivering {
		return
	}
	f.delivering = true
	defer func() { f.delivering = false }()
	for len(f.pending) > 0 {
		change := f.pending[0]
		f.pending = f.pending[1:]
		f.call(f.hooks, change)
	}
}

// call runs the hooks unlocked, and locks again also when one of them ends its goroutine, as a failing test's does.
func (f *changeFeed) call(hooks []func(Change), change Change) {
	f.mu.Unlock()
	defer f.mu.Lock()
	for _, hook := range hooks {
		hook(change)
	}
}

func (c *Cluster) emitUnit(kind ChangeKind, u *clusterUnit) {
	c.changes.add(Change{
		Time: c.now, Kind: kind, Unit: u.name, Machine: u.target,
		Desired: u.desired, Current: u.current, Hash: u.file.hash,
	})
}

func (c *Cluster) emitInstance(kind ChangeKind, i *instance) {
	change := Change{Time: c.now, Kind: kind, Unit: i.name, Machine: i.machine.ID, Hash: i.file.hash}
	if kind == SystemdChanged {
		change.Active, change.Sub = i.active, i.sub
	}
	if u := c.units[i.name]; u != nil {
		change.Desired, change.Current = u.desired, u.current
	}
	c.changes.add(change)
}

func (c *Cluster) emitMachine(kind ChangeKind, m *machine) {
	c.changes.add(Change{Time: c.now, Kind: kind, Machine: m.ID})
}
