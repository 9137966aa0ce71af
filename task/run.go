package task

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/squadronctl/squadron/internal/errmask"
)

// finishTries is how often a Storage is offered a final state.
const finishTries = 5

var errGoexit = errors.New("action ended its goroutine by runtime.Goexit")

// run is the goroutine of a task. The end of the task is in a deferred call because Goexit runs nothing else.
func (s *service) run(ctx context.Context, taskID string, action Action) {
	err := errGoexit
	defer func() {
		s.finish(ctx, taskID, err)
		s.end(taskID)
	}()
	err = s.act(ctx, taskID, action)
}

// act calls the action and turns a panic into its error. The stack is logged, since the error does not carry it.
func (s *service) act(ctx context.Context, taskID string, action Action) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = panicError(p)
			s.logger.Critical(ctx, "action of task %s: %v\n%s", taskID, err, debug.Stack())
		}
	}()
	return action(ctx)
}

func panicError(p any) error {
	if err, ok := p.(error); ok {
		return fmt.Errorf("panic: %w", err)
	}
	return fmt.Errorf("panic: %v", p)
}

// finish stores how the task ended. Nobody is there to take an error, so what is lost is logged.
func (s *service) finish(ctx context.Context, taskID string, actionErr error) {
	final := finalTask(taskID, actionErr)
	stored, err := s.write(ctx, final)
	for try := 1; err != nil && try < finishTries && s.pauseUnlessDown(); try++ {
		stored, err = s.write(ctx, final)
	}
	switch {
	case err != nil && s.keepUnstored(final):
		s.logger.Error(ctx, "final state of task %s could not be stored, and is kept until it can be: %v", taskID, err)
	case err != nil:
		s.logger.Error(ctx, "final state of task %s is lost (%s, error: %v): %v", taskID, final.FinalStatus, actionErr, err)
	case actionErr != nil && stored != final:
		s.logger.Error(ctx, "action of task %s failed after the task was marked as %s: %v", taskID, stored.FinalStatus, actionErr)
	}
}

// maxUnstored is how many final states are kept for a Storage that takes none.
const maxUnstored = 1000

// keepUnstored keeps a final state that the Storage did not take, if there is room.
func (s *service) keepUnstored(final *Task) bool {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if len(s.unstored) >= maxUnstored {
		return false
	}
	if s.unstored == nil {
		s.unstored = map[string]*Task{}
	}
	s.unstored[final.ID] = final
	return true
}

// retryUnstored gives the final state that the Storage did not take, nil where there is none, and offers it once more.
func (s *service) retryUnstored(taskID string) *Task {
	s.mutex.Lock()
	final := s.unstored[taskID]
	s.mutex.Unlock()
	if final == nil {
		return nil
	}
	if s.set(final) == nil {
		s.mutex.Lock()
		delete(s.unstored, taskID)
		s.mutex.Unlock()
	}
	return final
}

// pauseUnlessDown waits for WaitSleep; it reports false, at once, when the service is shut down.
func (s *service) pauseUnlessDown() bool {
	timer := time.NewTimer(s.waitSleep)
	defer timer.Stop()
	select {
	case <-s.ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

// begin notes a task as running, unless the service is shut down.
func (s *service) begin(taskID string, cancel context.CancelCauseFunc) bool {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.down {
		return false
	}
	s.running[taskID] = cancel
	return true
}

// end undoes begin, and ends the context of the task.
func (s *service) end(taskID string) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.running[taskID](nil)
	delete(s.running, taskID)
	if s.down && len(s.running) == 0 {
		close(s.idle)
	}
}

func (s *service) Cancel(ctx context.Context, taskID string) error {
	s.mutex.Lock()
	cancel, ok := s.running[taskID]
	s.mutex.Unlock()
	if ok {
		cancel(causeCancelled)
		return nil
	}
	stored, err := s.FetchState(ctx, taskID)
	if err != nil {
		return errmask.Maskf(err, "cancel task")
	}
	if !HasFinalStatus(stored) {
		return errmask.Maskf(errors.New("this service does not run it"), "cancel task %s", taskID)
	}
	return nil
}

func (s *service) Shutdown(ctx context.Context) error {
	left := s.shut()
	s.stop(causeShutdown)
	if left == 0 {
		return nil
	}
	select {
	case <-s.idle:
		return nil
	case <-ctx.Done():
		return errmask.Maskf(ctx.Err(), "shut down task service: wait for its actions")
	}
}

// shut makes the service take no further task and returns how many still run.
func (s *service) shut() int {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.down = true
	return len(s.running)
}
