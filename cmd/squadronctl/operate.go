package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/squadronctl/squadron/cmd/squadronctl/internal/progress"
	"github.com/squadronctl/squadron/controller"
	"github.com/squadronctl/squadron/fleet"
	"github.com/squadronctl/squadron/task"
)

// noBlockSleep is the longest pause between two looks at whether all has been asked for.
const noBlockSleep = 100 * time.Millisecond

// operation is one task of the controller, and how it is followed.
type operation struct {
	// what names it: stop web.
	what string
	// create begins the task.
	create func(context.Context, *progress.Display) (*task.Task, error)
	// look is called with each status of the group while the task runs; nil for a task that tells of itself. It says
	// that all has been asked for, which is as far as --no-block waits.
	look func(*progress.Display, []fleet.UnitStatus) (asked bool)
	// status reads what look is given. A group that is not there is an empty list.
	status func(context.Context) ([]fleet.UnitStatus, error)
	// noBlock ends the command as soon as look has said that all is asked for.
	noBlock bool
	// done shows that the task has succeeded; it may be nil.
	done func(*progress.Display)
	// left says, for one who interrupts, what there is at that moment.
	left func() string
	// again is what to heed when it is called again by one who has left at once; empty for nothing.
	again string
}

// carryOut runs an operation to its end, shows how far it is, and heeds interrupts: the first cancels the task and waits
// for its end, the second leaves at once.
func (s *session) carryOut(op operation) error {
	display := s.app.display(s.app.err.out)
	end := s.app.err.show(display)
	defer end()
	ctx, cancel := s.app.context()
	created, err := op.create(ctx, display)
	cancel()
	if err != nil {
		if s.app.interrupts.first() {
			return fmt.Errorf("%s: %w before anything was changed", op.what, errInterrupted)
		}
		return err
	}
	f := follower{session: s, op: op, display: display, asked: make(chan struct{})}
	return f.follow(created.ID)
}

// follower follows one task.
type follower struct {
	session *session
	op      operation
	display *progress.Display
	asked   chan struct{} // closed once all has been asked for
}

func (f *follower) follow(id string) error {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	var group sync.WaitGroup
	ended := make(chan error, 1)
	group.Go(func() { ended <- f.wait(ctx, id) })
	if f.op.look != nil {
		group.Go(func() { f.poll(ctx) })
	}
	err := f.await(id, ended)
	if f.session.detached {
		return err
	}
	stop()
	group.Wait()
	if err == nil && f.op.done != nil {
		f.op.done(f.display)
	}
	return err
}

// wait gives the task's error once it has ended.
func (f *follower) wait(ctx context.Context, id string) error {
	ended, err := f.session.control.WaitForTask(ctx, id, nil)
	if err != nil {
		return err
	}
	return ended.Error
}

// await waits for what comes first: the end of the task, all asked for where that will do, or interrupts.
func (f *follower) await(id string, ended <-chan error) error {
	interrupts := f.session.app.interrupts
	first, asked := interrupts.context.Done(), f.asked
	if !f.op.noBlock {
		asked = nil
	}
	for {
		select {
		case err := <-ended:
			if err != nil && interrupts.first() {
				return interruptedError{err: err, left: f.op.left()}
			}
			return err
		case <-asked:
			f.session.detached = true
			return nil
		case <-first:
			first = nil
			f.display.Line(f.op.what + ": interrupted, and coming to a clean end; Ctrl-C again leaves at once")
			f.cancel(id)
		case <-interrupts.second:
			f.session.detached = true
			return hinted{fmt.Errorf("%s: left at once, %w: %s", f.op.what, errInterrupted, f.op.left()), f.op.again}
		}
	}
}

// cancel asks the task to end. One that has ended meanwhile needs no asking.
func (f *follower) cancel(id string) {
	if canceler, ok := f.session.tasks.(task.Canceler); ok {
		_ = canceler.Cancel(context.Background(), id)
	}
}

// poll looks at the group while the task runs. A look that fails is no matter of the task, which looks by itself.
func (f *follower) poll(ctx context.Context) {
	pause := f.session.app.settings.waitSleep
	if f.op.noBlock {
		pause = min(pause, noBlockSleep) // nobody looks but this
	}
	timer := time.NewTimer(0)
	defer timer.Stop()
	asked := false
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		if units, err := f.op.status(ctx); err == nil && f.op.look(f.display, units) && !asked {
			asked = true
			close(f.asked)
		}
		timer.Reset(pause)
	}
}

// interruptedError is the error of a task that was cancelled by Ctrl-C.
type interruptedError struct {
	err  error
	left string
}

func (i interruptedError) Error() string   { return "interrupted: " + i.err.Error() + "; " + i.left }
func (i interruptedError) Unwrap() []error { return []error{errInterrupted, i.err} }

// phases keeps what was last seen of the slices of a group, and tells a display of it.
type phases struct {
	group string
	mutex sync.Mutex
	last  map[string]string // by the slices' names
}

func (p *phases) note(display *progress.Display, id, phase string, done bool) {
	name := groupName(p.group, id)
	p.mutex.Lock()
	if p.last == nil {
		p.last = map[string]string{}
	}
	p.last[name] = phase
	p.mutex.Unlock()
	if display != nil {
		display.Status(name, phase, done)
	}
}

// String lists the slices by what they were seen as last.
func (p *phases) String() string {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	byPhase := map[string][]string{}
	for name, phase := range p.last {
		byPhase[phase] = append(byPhase[phase], name)
	}
	var parts []string
	for _, phase := range sortedKeys(byPhase) {
		slices.Sort(byPhase[phase])
		parts = append(parts, phase+" "+strings.Join(byPhase[phase], ", "))
	}
	if len(parts) == 0 {
		return "nothing was seen of it yet"
	}
	return "last seen: " + strings.Join(parts, "; ")
}

// orNone turns an error that says that nothing is there into an empty list.
func orNone(units []fleet.UnitStatus, err error) ([]fleet.UnitStatus, error) {
	if controller.IsUnitNotFound(err) && !errors.Is(err, context.Canceled) {
		return nil, nil
	}
	return units, err
}
