package controller

import (
	"context"
	"sync"

	"github.com/squadronctl/squadron/internal/errmask"
	"github.com/squadronctl/squadron/task"
)

// Pauser holds up updates. The value of NewController satisfies it.
type Pauser interface {
	// Pause makes an Update or Scale of this controller take up no further slice, and take away none that runs. What is
	// under way is brought to its end: a slice that is being created may become ready, one that is being removed goes, and
	// gets its successor. No time limit but SliceTimeout and that of a removal runs meanwhile. A paused update that fails
	// or is cancelled ends as any other; a rollback is held up as an update is. Pause does not wait for any of that;
	// pausing twice is pausing once. A task that is not known gives an error for which task.IsTaskObjectNotFound is true;
	// one that has ended, or is no Update or Scale of this controller, IsInvalidArgument.
	Pause(ctx context.Context, taskID string) error
	// Resume lets a paused update go on. One that is not paused is left as it is; errors as for Pause.
	Resume(ctx context.Context, taskID string) error
}

var _ Pauser = (*controller)(nil)

// updateControl is what can be asked of an update from outside while it runs.
type updateControl struct {
	mutex  sync.Mutex
	hold   bool
	events *progress
}

func (u *updateControl) paused() bool {
	u.mutex.Lock()
	defer u.mutex.Unlock()
	return u.hold
}

// tell says where pauses are to be reported.
func (u *updateControl) tell(events *progress) {
	u.mutex.Lock()
	defer u.mutex.Unlock()
	u.events = events
	if u.hold {
		events.update(PhasePaused, nil)
	}
}

func (u *updateControl) set(hold bool) {
	u.mutex.Lock()
	defer u.mutex.Unlock()
	if u.hold == hold {
		return
	}
	u.hold = hold
	phase := PhaseResumed
	if hold {
		phase = PhasePaused
	}
	u.events.update(phase, nil)
}

// Pause implements Pauser.
func (c *controller) Pause(ctx context.Context, taskID string) error {
	return errmask.Maskf(c.setPaused(ctx, taskID, true), "pause task %s", taskID)
}

// Resume implements Pauser.
func (c *controller) Resume(ctx context.Context, taskID string) error {
	return errmask.Maskf(c.setPaused(ctx, taskID, false), "resume task %s", taskID)
}

func (c *controller) setPaused(ctx context.Context, taskID string, paused bool) error {
	if err := c.configured(); err != nil {
		return err
	}
	if control := c.busy.controlOf(taskID); control != nil {
		control.set(paused)
		return nil
	}
	found, err := c.config.TaskService.FetchState(ctx, taskID)
	switch {
	case err != nil:
		return err
	case task.HasFinalStatus(found):
		return errmask.Maskf(errInvalidArgument, "it has ended")
	default:
		return errmask.Maskf(errInvalidArgument, "it is no update of this controller")
	}
}
