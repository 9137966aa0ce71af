package controller

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync"
	"time"
)

// UpdatePhase is what happens to a slice or a unit in an update.
type UpdatePhase string

// The phases. In an update that goes well an old slice is planned, stopping and destroyed; a new one is submitting,
// starting, cooling down and running.
const (
	// PhasePlanned: the slice was found, and is to be replaced or removed.
	PhasePlanned UpdatePhase = "planned"
	// PhaseKept: the slice was found, and is as wanted or not to be touched.
	PhaseKept UpdatePhase = "kept"
	// PhaseSubmitting: the slice is being created.
	PhaseSubmitting UpdatePhase = "submitting"
	// PhaseStarting: its units are there, and were asked to run.
	PhaseStarting UpdatePhase = "starting"
	// PhaseCoolingDown: it was seen running, and has still to be seen so in WaitCount looks, to pass its check, and to run
	// for ReadySecs.
	PhaseCoolingDown UpdatePhase = "cooling down"
	// PhaseRunning: it runs, and counts; said of an old slice too that runs again.
	PhaseRunning UpdatePhase = "running"
	// PhaseDown: it no longer runs, without the update's doing, or it is not known whether it does.
	PhaseDown UpdatePhase = "down"
	// PhaseStopping: the update takes it away.
	PhaseStopping UpdatePhase = "stopping"
	// PhaseDestroyed: it is gone.
	PhaseDestroyed UpdatePhase = "destroyed"
	// PhaseFailed: it won't run, or an operation on it failed; Err says why.
	PhaseFailed UpdatePhase = "failed"
	// PhaseRolledBack: it has its old content back, and runs if it did before.
	PhaseRolledBack UpdatePhase = "rolled back"
	// PhasePaused, PhaseResumed and PhaseRollingBack are of the update itself; they name no slice. Err of PhaseRollingBack
	// is why.
	PhasePaused      UpdatePhase = "paused"
	PhaseResumed     UpdatePhase = "resumed"
	PhaseRollingBack UpdatePhase = "rolling back"
)

// UpdateEvent is one step of an update. The events of all slices together, in their order, tell how many slices there are
// and run at any time: a slice is there from its first event until it is destroyed, and counts as running where the last
// event about it as a whole says so.
type UpdateEvent struct {
	// Time is when the update did or saw it.
	Time time.Time
	// Group is the request's group.
	Group string
	// Slice is the ID of the slice, empty for an instance group, and where the event is of the update itself.
	Slice string
	// Unit is the unit that the event is about; empty where it is about the slice as a whole.
	Unit string
	// Phase is what happened.
	Phase UpdatePhase
	// Running says that the slice counts as running now, as MinAlive has it.
	Running bool
	// Err is why, for failures; nil else.
	Err error
	// Counts are the numbers of the group with this event.
	Counts UpdateCounts
}

// UpdateCounts are how many slices of a group there are.
type UpdateCounts struct {
	// Existing is how many are there, those being taken away included.
	Existing int
	// Running is how many of them count as running, as MinAlive has it.
	Running int
	// Removing is how many are being taken away.
	Removing int
}

// String puts an event on one line, without its time.
func (e UpdateEvent) String() string {
	subject := "group " + e.Group
	switch {
	case e.Unit != "":
		subject = e.Unit
	case !e.Phase.ofUpdate():
		subject = "slice " + sliceName(e.Slice)
	}
	text := fmt.Sprintf("%s: %s (%d there, %d running, %d going)", subject, e.Phase, e.Counts.Existing, e.Counts.Running, e.Counts.Removing)
	if e.Err != nil {
		text += fmt.Sprintf(": %v", e.Err)
	}
	return text
}

func (p UpdatePhase) ofUpdate() bool {
	return p == PhasePaused || p == PhaseResumed || p == PhaseRollingBack
}

// progress gives events to the caller, in order, without holding up who has them. A nil progress drops them.
type progress struct {
	controller *controller
	group      string
	tell       func(UpdateEvent)

	mutex  sync.Mutex
	queue  []UpdateEvent
	slices map[string]slicePhase
	counts UpdateCounts
	closed bool
	wake   chan struct{} // holds a token while there may be something to do
	done   chan struct{} // closed when the last event was delivered
}

type slicePhase struct {
	phase   UpdatePhase
	running bool
}

// newProgress begins to deliver events; close ends it.
func newProgress(c *controller, group string, tell func(UpdateEvent)) *progress {
	if tell == nil {
		return nil
	}
	p := &progress{controller: c, group: group, tell: tell, slices: map[string]slicePhase{}, wake: make(chan struct{}, 1), done: make(chan struct{})}
	go p.deliver()
	return p
}

// slice notes what became of a slice as a whole, unless that was the last that was said of it.
func (p *progress) slice(id string, phase UpdatePhase, running bool, err error) {
	if p == nil {
		return
	}
	p.mutex.Lock()
	defer p.mutex.Unlock()
	before, known := p.slices[id]
	now := slicePhase{phase: phase, running: running}
	if known && before == now || !known && phase == PhaseDestroyed {
		return
	}
	p.count(before, -1, known)
	if phase == PhaseDestroyed {
		delete(p.slices, id)
	} else {
		p.slices[id] = now
		p.count(now, 1, true)
	}
	p.add(UpdateEvent{Slice: id, Phase: phase, Running: running, Err: err})
}

// count adds a slice to the numbers, or takes it from them.
func (p *progress) count(s slicePhase, n int, known bool) {
	if !known {
		return
	}
	p.counts.Existing += n
	if s.running {
		p.counts.Running += n
	}
	if s.phase == PhaseStopping {
		p.counts.Removing += n
	}
}

// phaseOf gives what was last said of a slice; empty where nothing was.
func (p *progress) phaseOf(id string) UpdatePhase {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	return p.slices[id].phase
}

// unit notes what became of one unit.
func (p *progress) unit(slice, name string, phase UpdatePhase, err error) {
	if p == nil {
		return
	}
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.add(UpdateEvent{Slice: slice, Unit: name, Phase: phase, Running: p.slices[slice].running, Err: err})
}

// update notes what became of the update itself.
func (p *progress) update(phase UpdatePhase, err error) {
	if p == nil {
		return
	}
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.add(UpdateEvent{Phase: phase, Err: err})
}

// add puts an event into the queue, with the lock held.
func (p *progress) add(event UpdateEvent) {
	if p.closed {
		return
	}
	event.Time, event.Group, event.Counts = time.Now(), p.group, p.counts
	p.queue = append(p.queue, event)
	p.rouse()
}

func (p *progress) rouse() {
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// close waits until all events have been delivered, for CleanupTimeout at most.
func (p *progress) close(ctx context.Context) {
	if p == nil {
		return
	}
	p.mutex.Lock()
	p.closed = true
	p.rouse()
	p.mutex.Unlock()
	if !within(p.done, p.controller.config.CleanupTimeout) {
		p.controller.config.Logger.Warning(ctx, "group %s: the last events of the update are still being delivered to Progress", p.group)
	}
}

// deliver is the goroutine that calls the caller.
func (p *progress) deliver() {
	defer close(p.done)
	for range p.wake {
		p.mutex.Lock()
		events, last := p.queue, p.closed
		p.queue = nil
		p.mutex.Unlock()
		for _, event := range events {
			p.call(event)
		}
		if last {
			return
		}
	}
}

func (p *progress) call(event UpdateEvent) {
	defer func() {
		if r := recover(); r != nil {
			p.controller.config.Logger.Critical(context.Background(), "Progress of the update of group %s: panic: %v\n%s", p.group, r, debug.Stack())
		}
	}()
	p.tell(event)
}

// reportViews says of each slice what the last look changed.
func (r *updateRun) reportViews(s situation) {
	if r.events == nil {
		return
	}
	for _, v := range s.slices {
		if before := r.events.phaseOf(v.id); !v.removing && !v.failed {
			r.events.slice(v.id, r.phase(v, before), v.counts(), nil)
		}
	}
}

// phase says what a slice is at, given what was last said of it.
func (r *updateRun) phase(v sliceView, before UpdatePhase) UpdatePhase {
	switch {
	case before == "" && v.own:
		return PhaseStarting
	case before == "" && v.isNew, before == "" && !v.replaceable:
		return PhaseKept
	case before == "":
		return PhasePlanned
	case v.isNew && v.own && v.ready && r.restores():
		return PhaseRolledBack
	case v.isNew && v.own && v.ready:
		return PhaseRunning
	case v.isNew && v.own && v.running:
		return PhaseCoolingDown
	case v.isNew && v.own:
		return PhaseStarting
	case (before == PhasePlanned || before == PhaseKept) && v.counts() == r.events.counted(v.id):
		return before
	case v.counts():
		return PhaseRunning
	default:
		return PhaseDown
	}
}

// counted says whether the slice was last said to run.
func (p *progress) counted(id string) bool {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	return p.slices[id].running
}
