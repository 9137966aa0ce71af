package task

import (
	"context"
	"time"

	"github.com/squadronctl/squadron/internal/errmask"
)

func (s *service) WaitForFinalStatus(ctx context.Context, taskID string, closer <-chan struct{}) (*Task, error) {
	var final <-chan struct{}
	if s.watcher != nil {
		var stop func()
		final, stop = s.watcher.Watch(taskID)
		defer stop()
	}
	for {
		t, err := s.FetchState(ctx, taskID)
		if err != nil {
			return nil, errmask.Maskf(err, "wait for final status")
		}
		if HasFinalStatus(t) {
			return t, nil
		}
		closed, err := s.pause(ctx, closer, final)
		if err != nil {
			return nil, errmask.Maskf(err, "wait for final status of task %s", taskID)
		}
		if closed {
			return nil, nil
		}
		select {
		case <-final:
			final = nil // should the task not be final all the same, it is looked at every WaitSleep
		default:
		}
	}
}

// pause returns when it is time for another look: when final is closed, and after WaitSleep, since a Storage that
// notifies may also be one that did not take the final state. It reports true when closer has ended it.
func (s *service) pause(ctx context.Context, closer, final <-chan struct{}) (bool, error) {
	timer := time.NewTimer(s.waitSleep)
	defer timer.Stop()
	select {
	case <-closer:
		return true, nil
	case <-ctx.Done():
		return false, ctx.Err()
	case <-final:
		return false, nil
	case <-timer.C:
		return false, nil
	}
}
