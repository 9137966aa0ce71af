package swarm

import (
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/moby/moby/api/types/swarm"
)

// copyState is how one copy of a service is.
type copyState int

const (
	copyStarting copyState = iota
	copyRunning
	copyFailed
)

// copyOf is one copy of a service: a slot of a replicated one, a node of a global one.
type copyOf struct {
	state copyState
	// newest is the task that stands for the copy.
	newest swarm.Task
	// failures are those of its tasks, of the same spec as the newest, that have failed one after the other, the newest first.
	failures []swarm.Task
	// restarted says that a task of the same spec has ended by itself before the newest.
	restarted bool
	// onDown is the node that the newest task is on, where that is down.
	onDown string
}

// copies are those of one service.
type copies struct {
	desired int
	all     []copyOf
	ending  int // tasks that run and are not to
}

// copies sorts a service's tasks into its copies.
func (l look) copies(service *swarm.Service) copies {
	var found copies
	byCopy, order := map[string][]swarm.Task{}, []string{}
	for _, task := range l.tasks[service.ID] {
		if isOver(task.DesiredState) && task.Status.State == swarm.TaskStateRunning && l.down[task.NodeID] == "" {
			found.ending++
		}
		key := fmt.Sprintf("%d %s", task.Slot, task.NodeID)
		if task.Slot != 0 { // replicated
			key = fmt.Sprint(task.Slot)
		}
		if byCopy[key] == nil {
			order = append(order, key)
		}
		byCopy[key] = append(byCopy[key], task)
	}
	global := service.Spec.Mode.Global != nil || service.Spec.Mode.GlobalJob != nil
	for _, key := range order {
		c, there := l.copyOf(service, byCopy[key])
		switch {
		case !there || global && c.onDown != "":
			continue
		case global:
			found.desired++
		}
		found.all = append(found.all, c)
	}
	switch mode := service.Spec.Mode; {
	case global:
	case mode.ReplicatedJob != nil:
		found.desired = int(valueOf(mode.ReplicatedJob.TotalCompletions, valueOf(mode.ReplicatedJob.MaxConcurrent, 1)))
	default:
		found.desired = int(replicas(mode))
	}
	return found
}

// copyOf judges a copy by its tasks, the newest first. It is not there any more where Swarm ended its newest task and wants no
// other.
func (l look) copyOf(service *swarm.Service, tasks []swarm.Task) (copyOf, bool) {
	c := copyOf{newest: tasks[0]}
	for _, task := range tasks { // a newer task may wait for the one that runs to be replaced
		if task.Status.State == swarm.TaskStateRunning && !isOver(task.DesiredState) {
			c.newest = task
			break
		}
	}
	c.onDown = l.down[c.newest.NodeID]
	c.restarted = slices.ContainsFunc(tasks, func(task swarm.Task) bool {
		return task.ID != c.newest.ID && hasEndedByItself(task.Status.State) && reflect.DeepEqual(task.Spec, c.newest.Spec)
	})
	for _, task := range tasks {
		if !isFailed(task.Status.State) || !reflect.DeepEqual(task.Spec, c.newest.Spec) {
			if task.ID == c.newest.ID {
				continue
			}
			break
		}
		c.failures = append(c.failures, task)
	}
	switch state := c.newest.Status.State; {
	case c.onDown != "":
		c.state = copyStarting
	case state == swarm.TaskStateRunning && !isOver(c.newest.DesiredState):
		c.state = copyRunning
	case state == swarm.TaskStateComplete && staysEnded(service):
		c.state = copyRunning
	case state == swarm.TaskStateComplete || isFailed(state):
		c.state = copyFailed
	case isOver(c.newest.DesiredState):
		return c, false
	case len(c.failures) >= failuresToBeFailed:
		c.state = copyFailed
	}
	return c, true
}

// mayEndAgain says whether a copy runs a task that has just come after one that ended by itself.
func (c copyOf) mayEndAgain() bool {
	return c.state == copyRunning && c.restarted && time.Since(c.newest.Status.Timestamp) < justStarted
}

func hasEndedByItself(state swarm.TaskState) bool {
	return state == swarm.TaskStateComplete || isFailed(state)
}

// failuresToBeFailed is how many failures in a row make a copy failed whose next task is already on its way.
const failuresToBeFailed = 2

// isOver says whether Swarm wants a task to run no more.
func isOver(desired swarm.TaskState) bool {
	switch desired {
	case swarm.TaskStateShutdown, swarm.TaskStateRemove, swarm.TaskStateFailed, swarm.TaskStateRejected,
		swarm.TaskStateOrphaned:
		return true
	}
	return false
}

func isFailed(state swarm.TaskState) bool {
	return state == swarm.TaskStateFailed || state == swarm.TaskStateRejected
}

// staysEnded says whether a task that has ended well is not started again.
func staysEnded(service *swarm.Service) bool {
	if service.Spec.Mode.ReplicatedJob != nil || service.Spec.Mode.GlobalJob != nil {
		return true
	}
	policy := service.Spec.TaskTemplate.RestartPolicy
	return policy != nil && (policy.Condition == swarm.RestartPolicyConditionNone || policy.Condition == swarm.RestartPolicyConditionOnFailure)
}

// count is how many copies are in a state.
func (c copies) count(state copyState) int {
	n := 0
	for _, one := range c.all {
		if one.state == state {
			n++
		}
	}
	return n
}

// newestFailure says why a service does not run, as far as a task tells.
func (c copies) newestFailure() string {
	var at time.Time
	why := ""
	for _, one := range c.all {
		if one.state == copyRunning {
			continue
		}
		failed := one.newest
		if len(one.failures) > 0 {
			failed = one.failures[0]
		}
		if text := one.why(failed); text != "" && !failed.CreatedAt.Before(at) {
			at, why = failed.CreatedAt, text
		}
	}
	return why
}

// why is what a task of a copy says.
func (c copyOf) why(task swarm.Task) string {
	switch {
	case c.onDown != "":
		return "node " + c.onDown + " is down"
	case task.Status.Err != "":
		return task.Status.Err
	case task.Status.State == swarm.TaskStateComplete:
		return "the task has ended"
	case isFailed(task.Status.State):
		return "the task has " + task.Status.Message
	}
	return ""
}
