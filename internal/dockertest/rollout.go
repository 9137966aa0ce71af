package dockertest

import (
	"fmt"
	"slices"
	"time"

	"github.com/moby/moby/api/types/swarm"
)

const (
	defaultMonitor = 5 * time.Second
	// reaction is how long the Swarm takes to notice what is written to a service.
	reaction = 50 * time.Millisecond
)

// rollout is an update of a service's tasks under way. It is over once the service has another, or none.
type rollout struct {
	config   swarm.UpdateConfig
	back     bool // to the previous spec
	queue    []slot
	total    int
	working  int
	waitsFor map[string]bool // tasks, by ID, that have to come to running
	failed   map[slot]bool
}

// rollOut replaces the tasks that were made from another spec.
func (s *Swarm) rollOut(sv *service, back bool) {
	r := &rollout{back: back, waitsFor: map[string]bool{}, failed: map[slot]bool{}}
	r.config = swarm.UpdateConfig{Parallelism: 1, FailureAction: swarm.UpdateFailureActionPause}
	config := sv.Spec.UpdateConfig
	if back {
		config = sv.Spec.RollbackConfig
	}
	if config != nil {
		r.config = *config
	}
	if r.config.Monitor == 0 {
		r.config.Monitor = defaultMonitor
	}
	s.orchestrate(sv)
	has := s.slots(sv)
	for _, at := range sortedSlots(has) {
		if has[at] == nil || !s.clean(sv, at) {
			r.queue = append(r.queue, at)
		}
	}
	r.total = len(r.queue)
	sv.restarts, sv.given = map[slot]int{}, map[slot]bool{}
	for _, at := range r.queue {
		if has[at] == nil { // stays a slot until its turn comes
			sv.given[at] = true
		}
	}
	if r.total > 0 && !back {
		sv.UpdateStatus = &swarm.UpdateStatus{
			State: swarm.UpdateStateUpdating, StartedAt: s.moment(), Message: "update in progress",
		}
		s.written(&sv.Meta)
	}
	if r.total == 0 && !back {
		return
	}
	sv.rollout = r
	s.work(sv, r)
}

// clean says whether a slot has a task that was made from the service's spec. Others that it has beside it are retired.
func (s *Swarm) clean(sv *service, at slot) bool {
	all := s.activeAt(sv, at)
	clean := slices.ContainsFunc(all, func(t *task) bool { return !t.dirty(sv) })
	for _, t := range all {
		if clean && t.dirty(sv) {
			s.retire(t, swarm.TaskStateShutdown)
		}
	}
	return clean
}

// later rolls a spec out once the Swarm has noticed it, unless another is written until then. What is said of the update
// begins then too: the first look after a write shows none.
func (s *Swarm) later(sv *service, back bool) {
	sv.writes++
	write := sv.writes
	s.after(reaction, func() {
		if s.services[sv.ID] == sv && sv.writes == write {
			s.rollOut(sv, back)
		}
	})
}

func (s *Swarm) moment() *time.Time {
	now := s.now.UTC()
	return &now
}

// work takes as many slots as may be replaced at once.
func (s *Swarm) work(sv *service, r *rollout) {
	if sv.rollout != r {
		return
	}
	for len(r.queue) > 0 && (r.config.Parallelism == 0 || r.working < int(r.config.Parallelism)) {
		at := r.queue[0]
		r.queue = r.queue[1:]
		old, there := s.slots(sv)[at]
		if !there || old != nil && !old.dirty(sv) { // gone, or restarted with the new spec, meanwhile
			continue
		}
		r.working++
		s.replace(sv, r, at, old)
	}
	if r.working > 0 || len(r.queue) > 0 {
		return
	}
	if r.total == 0 {
		s.finish(sv, r)
		return
	}
	s.after(r.config.Monitor, func() { s.finish(sv, r) })
}

// replace gives a slot to a new task, before or after the old one has stopped.
func (s *Swarm) replace(sv *service, r *rollout, at slot, old *task) {
	delete(sv.given, at)
	var t *task
	switch {
	case old == nil:
		t = s.newTask(sv, at, 0)
	case r.config.Order == swarm.UpdateOrderStartFirst:
		before := s.activeAt(sv, at)
		t = s.newTask(sv, at, 0)
		t.replaces = before
	default:
		hold := s.stopTime(old)
		s.vacate(sv, at, swarm.TaskStateShutdown)
		t = s.newTask(sv, at, hold)
	}
	r.waitsFor[t.ID] = true
}

// settled is a task that runs, or never will: an update may go on to the next slot.
func (s *Swarm) settled(t *task) {
	sv := s.services[t.ServiceID]
	if sv == nil || sv.rollout == nil || !sv.rollout.waitsFor[t.ID] {
		return
	}
	r := sv.rollout
	delete(r.waitsFor, t.ID)
	s.after(r.config.Delay, func() {
		r.working--
		s.work(sv, r)
	})
}

// failed is a task that failed. One that did within the update's monitor time counts against the update.
func (s *Swarm) failed(sv *service, t *task) {
	r := sv.rollout
	if r == nil || t.dirty(sv) || !t.started.IsZero() && s.now.Sub(t.started) > r.config.Monitor {
		return
	}
	r.failed[t.place] = true
	if float32(len(r.failed))/float32(max(1, r.total)) <= r.config.MaxFailureRatio {
		return
	}
	cause := fmt.Sprintf("due to failure or early termination of task %s", t.ID)
	switch {
	case r.config.FailureAction == swarm.UpdateFailureActionContinue:
	case r.config.FailureAction == swarm.UpdateFailureActionRollback && !r.back && sv.PreviousSpec != nil:
		s.rollBack(sv, "update rolled back "+cause)
	case r.back:
		s.pause(sv, swarm.UpdateStateRollbackPaused, "update paused "+cause)
	default:
		s.pause(sv, swarm.UpdateStatePaused, "update paused "+cause)
	}
}

func (s *Swarm) pause(sv *service, state swarm.UpdateState, message string) {
	sv.rollout = nil
	s.setStatus(sv, state, message)
}

func (s *Swarm) setStatus(sv *service, state swarm.UpdateState, message string) {
	status := swarm.UpdateStatus{State: state, Message: message}
	if sv.UpdateStatus != nil {
		status.StartedAt = sv.UpdateStatus.StartedAt
	}
	if status.StartedAt == nil {
		status.StartedAt = s.moment()
	}
	if state == swarm.UpdateStateCompleted || state == swarm.UpdateStateRollbackCompleted {
		status.CompletedAt = s.moment()
	}
	sv.UpdateStatus = &status
	s.written(&sv.Meta)
}

// rollBack has a service go back to its previous spec, as Swarm does by itself.
func (s *Swarm) rollBack(sv *service, message string) {
	sv.Spec, sv.PreviousSpec = *sv.PreviousSpec, nil
	sv.rollout = nil
	sv.writes++
	s.setStatus(sv, swarm.UpdateStateRollbackStarted, message)
	s.allocateEndpoint(sv)
	s.rollOut(sv, true)
}

func (s *Swarm) finish(sv *service, r *rollout) {
	if sv.rollout != r {
		return
	}
	sv.rollout = nil
	if r.back {
		s.setStatus(sv, swarm.UpdateStateRollbackCompleted, "rollback completed")
		return
	}
	s.setStatus(sv, swarm.UpdateStateCompleted, "update completed")
}
