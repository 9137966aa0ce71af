package controller_test

import (
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/squadronctl/squadron/controller"
	"github.com/squadronctl/squadron/fleet/fleettest"
)

// boundsCheck follows every change that a cluster sees, and holds each moment of an update against R22. It goes by what
// happened in the cluster alone.
type boundsCheck struct {
	mutex    sync.Mutex // changes come from whichever goroutine looks at the cluster
	group    string
	opts     controller.UpdateOptions
	wanted   int
	found    int
	slices   map[string]*checkedSlice
	lost     map[string]time.Time // slices that failed or were lost without the update's doing, and when
	findings []string
	minimum  int  // fewest slices that ran at any moment
	greatest int  // most slices that existed
	switched bool // the update has been asked for
	deficit  int  // how many slices fewer than MinAlive ran at the call, which the states on the cluster may not show yet
}

type checkedSlice struct {
	units map[string]*checkedUnit
}

type checkedUnit struct {
	desired string
	active  map[string]string // by machine
	taken   bool              // the update has asked it to stop, or destroyed it
}

func newBoundsCheck(group string, opts controller.UpdateOptions, wanted int) *boundsCheck {
	return &boundsCheck{group: group, opts: opts, wanted: wanted, slices: map[string]*checkedSlice{}, lost: map[string]time.Time{}}
}

// want says how many slices there are to be at the end, where that was not known before.
func (c *boundsCheck) want(slices int) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.wanted = slices
}

// begin is called when the update is about to be asked for: from here on the bounds hold.
func (c *boundsCheck) begin() {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.switched = true
	for id, at := range c.lost {
		// What was lost just before the call may still be shown as running.
		if time.Since(at) > time.Second {
			delete(c.lost, id)
		}
	}
	for _, slice := range c.slices {
		for _, unit := range slice.units {
			unit.taken = false // by another update, which is no more
		}
	}
	c.found = c.existing()
	c.minimum, c.greatest = c.running(), c.found
	c.deficit = max(0, c.opts.MinAlive-c.running())
	if c.wanted == 0 {
		c.wanted = c.found
	}
}

func (c *boundsCheck) take(change fleettest.Change) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if change.Unit == "" || !strings.HasPrefix(change.Unit, c.group+"-") {
		return
	}
	id := change.Unit[strings.Index(change.Unit, "@")+1 : strings.LastIndex(change.Unit, ".")]
	slice := c.slices[id]
	if slice == nil {
		slice = &checkedSlice{units: map[string]*checkedUnit{}}
		c.slices[id] = slice
	}
	ranBefore := slice.runs()
	unit := slice.units[change.Unit]
	if unit == nil {
		unit = &checkedUnit{active: map[string]string{}}
		slice.units[change.Unit] = unit
	}
	switch change.Kind {
	case fleettest.Destroyed:
		unit.taken, unit.desired = true, ""
	case fleettest.SystemdChanged:
		unit.active[change.Machine] = change.Active
	case fleettest.Unloaded:
		delete(unit.active, change.Machine)
	default:
		if c.switched && unit.desired == "launched" && change.Desired != "launched" {
			unit.taken = true
		}
		unit.desired = change.Desired
	}
	happened := change.Kind == fleettest.SystemdChanged || change.Kind == fleettest.Unloaded
	if happened && ranBefore && !slice.runs() && !slice.taken() {
		c.lost[id] = change.Time
	}
	if c.switched {
		c.check(change)
	}
}

func (c *boundsCheck) check(change fleettest.Change) {
	running, existing, removing := c.running(), c.existing(), c.removing()
	c.minimum, c.greatest = min(c.minimum, running), max(c.greatest, existing)
	if floor := c.opts.MinAlive - len(c.lost) - c.deficit; running < floor {
		c.find(change, "%d slices run, and %d have to (%d lost)", running, c.opts.MinAlive, len(c.lost))
	}
	if limit := max(c.found, c.wanted) + c.opts.MaxGrowth; existing > limit {
		c.find(change, "%d slices exist, and %d may", existing, limit)
	}
	if c.opts.MinAlive > 0 && removing > c.opts.MinAlive {
		c.find(change, "%d slices are being removed, and %d may", removing, c.opts.MinAlive)
	}
}

func (c *boundsCheck) find(change fleettest.Change, format string, args ...any) {
	c.findings = append(c.findings, fmt.Sprintf("%v %s %s: ", change.Time.Format(time.TimeOnly), change.Kind, change.Unit)+fmt.Sprintf(format, args...))
}

func (c *boundsCheck) running() int {
	n := 0
	for _, slice := range c.slices {
		if slice.runs() {
			n++
		}
	}
	return n
}

func (c *boundsCheck) existing() int {
	n := 0
	for _, slice := range c.slices {
		if slice.exists() {
			n++
		}
	}
	return n
}

func (c *boundsCheck) removing() int {
	n := 0
	for _, slice := range c.slices {
		if slice.exists() && slice.taken() {
			n++
		}
	}
	return n
}

func (s *checkedSlice) exists() bool {
	for _, unit := range s.units {
		if unit.desired != "" {
			return true
		}
	}
	return false
}

func (s *checkedSlice) taken() bool {
	for _, unit := range s.units {
		if unit.taken {
			return true
		}
	}
	return false
}

// runs says whether all units of the slice that are in the registry run, and there are any.
func (s *checkedSlice) runs() bool {
	any := false
	for _, unit := range s.units {
		if unit.desired == "" {
			continue
		}
		any = true
		if !unit.runs() {
			return false
		}
	}
	return any
}

func (u *checkedUnit) runs() bool {
	for _, active := range u.active {
		if active == "active" {
			return true
		}
	}
	return false
}
