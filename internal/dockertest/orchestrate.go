package dockertest

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/moby/moby/api/types/swarm"
)

const defaultRestartDelay = 5 * time.Second

// orchestrate makes the tasks that a service lacks, and retires those that it has too many.
func (s *Swarm) orchestrate(sv *service) {
	has := s.slots(sv)
	wanted := map[slot]bool{}
	if sv.Spec.Mode.Global != nil {
		for _, n := range s.nodes {
			if takes(n) && fits(n, constraints(sv)) {
				wanted[slot{node: n.ID}] = true
			}
		}
	} else {
		wanted = wantedSlots(sv, has)
	}
	for _, at := range sortedSlots(has) {
		if !wanted[at] {
			s.vacate(sv, at, swarm.TaskStateRemove)
		}
	}
	maps.DeleteFunc(sv.given, func(at slot, _ bool) bool { return !wanted[at] })
	for _, at := range sortedSlots(wanted) {
		if _, ok := has[at]; !ok {
			s.newTask(sv, at, 0)
		}
	}
}

// vacate retires all wanted tasks of a slot.
func (s *Swarm) vacate(sv *service, at slot, to swarm.TaskState) {
	for _, t := range s.activeAt(sv, at) {
		s.retire(t, to)
	}
}

// activeAt gives the wanted tasks of a slot, the oldest first; during an update there can be several.
func (s *Swarm) activeAt(sv *service, at slot) []*task {
	return slices.DeleteFunc(s.tasksOf(sv.ID), func(t *task) bool { return t.place != at || !t.active() })
}

// slots are the slots of a service and their tasks; nil for one whose task ended and is not started again.
func (s *Swarm) slots(sv *service) map[slot]*task {
	has := map[slot]*task{}
	for at := range sv.given {
		has[at] = nil
	}
	for _, t := range s.tasksOf(sv.ID) {
		if t.active() {
			has[t.place] = t
		}
	}
	return has
}

// wantedSlots keeps the lowest of the slots that there are, and fills up from below.
func wantedSlots(sv *service, has map[slot]*task) map[slot]bool {
	replicas := int(*sv.Spec.Mode.Replicated.Replicas)
	wanted := map[slot]bool{}
	for _, at := range sortedSlots(has) {
		if len(wanted) < replicas {
			wanted[at] = true
		}
	}
	for number := 1; len(wanted) < replicas; number++ {
		wanted[slot{number: number}] = true
	}
	return wanted
}

func sortedSlots[T any](of map[slot]T) []slot {
	return slices.SortedFunc(maps.Keys(of), func(a, b slot) int {
		return cmp.Or(cmp.Compare(a.number, b.number), cmp.Compare(a.node, b.node))
	})
}

// retire has a task stop. to is shutdown, or remove for one of which nothing is kept.
func (s *Swarm) retire(t *task, to swarm.TaskState) {
	if t.DesiredState == swarm.TaskStateRemove {
		return
	}
	t.DesiredState = to
	s.written(&t.Meta)
	s.settled(t)
	if t.ended() || t.node == "" {
		s.stopped(t)
		return
	}
	s.after(s.stopTime(t), func() { s.stopped(t) })
}

// stopTime is how long a task takes to stop: nothing where it never started.
func (s *Swarm) stopTime(t *task) time.Duration {
	if t.Status.ContainerStatus == nil || t.ended() {
		return 0
	}
	return s.config.Timing.Stop
}

// stopped is a retired task whose container has stopped. Its node may have been lost meanwhile.
func (s *Swarm) stopped(t *task) {
	if n := s.nodes[t.node]; n != nil && n.Status.State != swarm.NodeStateReady && !t.ended() {
		return
	}
	if t.DesiredState == swarm.TaskStateRemove {
		delete(s.tasks, t.ID)
		return
	}
	if !t.ended() {
		s.enter(t, swarm.TaskStateShutdown, "shutdown", "")
	}
}

// end is the end of a task that was wanted. The service's policy says whether another takes its place.
func (s *Swarm) end(t *task, state swarm.TaskState, message, problem string, code int) {
	t.DesiredState = swarm.TaskStateShutdown
	if t.Status.ContainerStatus != nil {
		t.Status.ContainerStatus.ExitCode, t.Status.ContainerStatus.PID = code, 0
	}
	s.enter(t, state, message, problem)
	sv := s.services[t.ServiceID]
	if sv == nil {
		return
	}
	s.settled(t)
	if state != swarm.TaskStateComplete || restartPolicy(sv).Condition == swarm.RestartPolicyConditionAny {
		s.failed(sv, t)
	}
	s.restart(sv, t)
}

func restartPolicy(sv *service) swarm.RestartPolicy {
	policy := swarm.RestartPolicy{Condition: swarm.RestartPolicyConditionAny}
	if sv.Spec.TaskTemplate.RestartPolicy != nil {
		policy = *sv.Spec.TaskTemplate.RestartPolicy
	}
	if policy.Delay == nil {
		delay := defaultRestartDelay
		policy.Delay = &delay
	}
	return policy
}

// restart gives the slot of a task that ended to another, unless the policy says that it is done.
func (s *Swarm) restart(sv *service, t *task) {
	policy := restartPolicy(sv)
	again := policy.Condition == swarm.RestartPolicyConditionAny ||
		policy.Condition == swarm.RestartPolicyConditionOnFailure && t.Status.State != swarm.TaskStateComplete
	if policy.MaxAttempts != nil && *policy.MaxAttempts > 0 && sv.restarts[t.place] >= int(*policy.MaxAttempts) {
		again = false
	}
	if s.slots(sv)[t.place] != nil { // a rollback has given it away already, or the predecessor still runs
		return
	}
	if !again {
		sv.given[t.place] = true
		return
	}
	sv.restarts[t.place]++
	s.newTask(sv, t.place, *policy.Delay)
}

// settle looks at all services after nodes have changed.
func (s *Swarm) settle() {
	for _, id := range sortedIDs(s.services) {
		sv := s.services[id]
		for _, t := range s.tasksOf(id) {
			if t.active() && t.node != "" && s.nodes[t.node].Status.State != swarm.NodeStateReady {
				s.retire(t, swarm.TaskStateShutdown)
				if sv.Spec.Mode.Global == nil && s.slots(sv)[t.place] == nil {
					s.newTask(sv, t.place, *restartPolicy(sv).Delay)
				}
			}
		}
		s.orchestrate(sv)
		for _, t := range s.tasksOf(id) {
			if t.active() && t.node == "" {
				s.schedule(t, sv)
			}
		}
	}
}
