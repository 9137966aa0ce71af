package swarm

import (
	"testing"
	"time"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/swarm"
	"github.com/stretchr/testify/assert"

	"github.com/squadronctl/squadron/stack"
)

// taskAt is a task of service s, made so many seconds after the first.
func taskAt(second, slot int, node string, state, desired swarm.TaskState, err string) swarm.Task {
	task := swarm.Task{ID: node + string(state), Slot: slot, NodeID: node, ServiceID: "s", DesiredState: desired}
	task.CreatedAt = time.Unix(int64(second), 0)
	task.Status = swarm.TaskStatus{State: state, Err: err}
	return task
}

func TestStates(t *testing.T) {
	const running, shutdown = swarm.TaskStateRunning, swarm.TaskStateShutdown
	two := uint64(2)
	replicated := swarm.ServiceMode{Replicated: &swarm.ReplicatedService{Replicas: &two}}
	global := swarm.ServiceMode{Global: &swarm.GlobalService{}}
	ok := taskAt(1, 1, "a", running, running, "")
	for name, c := range map[string]struct {
		mode   swarm.ServiceMode
		update swarm.UpdateState
		tasks  []swarm.Task // the newest first
		want   stack.ServiceState
	}{
		"runs": {replicated, "", []swarm.Task{taskAt(1, 2, "b", running, running, ""), ok},
			stack.ServiceState{Running: 2, Status: stack.StatusRunning}},
		"without tasks": {replicated, "", nil, stack.ServiceState{Status: stack.StatusStarting}},
		"a node is down": {replicated, "", []swarm.Task{taskAt(1, 2, "down", running, running, ""), ok},
			stack.ServiceState{Running: 1, Status: stack.StatusStarting, Message: "node lost is down"}},
		"a node is down, and another has the copy": {replicated, "", []swarm.Task{
			taskAt(2, 2, "b", running, running, ""), taskAt(1, 2, "down", running, shutdown, ""), ok,
		}, stack.ServiceState{Running: 2, Status: stack.StatusRunning}},
		"no node fits": {replicated, "", []swarm.Task{taskAt(1, 2, "", swarm.TaskStatePending, running, "no suitable node"), ok},
			stack.ServiceState{Running: 1, Status: stack.StatusStarting, Message: "no suitable node"}},
		"failed once": {replicated, "", []swarm.Task{
			taskAt(2, 2, "b", swarm.TaskStateReady, swarm.TaskStateReady, ""), taskAt(1, 2, "b", swarm.TaskStateFailed, shutdown, "exit 1"), ok,
		}, stack.ServiceState{Running: 1, Status: stack.StatusStarting, Message: "exit 1"}},
		"failed twice": {replicated, "", []swarm.Task{
			taskAt(3, 2, "b", swarm.TaskStateReady, swarm.TaskStateReady, ""), taskAt(2, 2, "b", swarm.TaskStateFailed, shutdown, "exit 2"),
			taskAt(1, 2, "b", swarm.TaskStateRejected, shutdown, "exit 1"), ok,
		}, stack.ServiceState{Running: 1, Status: stack.StatusFailed, Message: "exit 2"}},
		"given up": {replicated, "", []swarm.Task{taskAt(1, 2, "b", swarm.TaskStateFailed, shutdown, "exit 1"), ok},
			stack.ServiceState{Running: 1, Status: stack.StatusFailed, Message: "exit 1"}},
		"replaced while it runs": {replicated, swarm.UpdateStateUpdating, []swarm.Task{
			taskAt(2, 2, "b", swarm.TaskStatePreparing, running, ""), taskAt(1, 2, "b", running, running, ""), ok,
		}, stack.ServiceState{Running: 2, Status: stack.StatusStarting, Message: "the update is under way"}},
		"paused": {replicated, swarm.UpdateStatePaused, []swarm.Task{taskAt(1, 2, "b", running, running, ""), ok},
			stack.ServiceState{Running: 2, Status: stack.StatusFailed, Message: "paused: why"}},
		"global": {global, "", []swarm.Task{
			taskAt(1, 0, "a", running, running, ""), taskAt(1, 0, "b", swarm.TaskStateStarting, running, ""), taskAt(1, 0, "down", running, running, ""),
			taskAt(1, 0, "drained", shutdown, shutdown, ""),
		}, stack.ServiceState{Running: 1, Status: stack.StatusStarting}},
	} {
		service := swarm.Service{ID: "s", Spec: swarm.ServiceSpec{Annotations: swarm.Annotations{Name: "web_app"}, Mode: c.mode}}
		if c.update != "" {
			service.UpdateStatus = &swarm.UpdateStatus{State: c.update, Message: "why"}
		}
		there := look{tasks: map[string][]swarm.Task{"s": c.tasks}, down: map[string]string{"down": "lost"}}
		c.want.Name, c.want.Desired = "web_app", 2
		assert.Equal(t, c.want, there.state(&service), name)
	}
}

// Whatever an API leaves out, no panic comes of it.
func TestWhatAnAPILeavesOut(t *testing.T) {
	null := &swarm.ContainerSpec{
		Configs: []*swarm.ConfigReference{nil}, Secrets: []*swarm.SecretReference{nil}, Ulimits: []*container.Ulimit{nil},
	}
	for _, spec := range []swarm.ServiceSpec{{}, {TaskTemplate: swarm.TaskSpec{ContainerSpec: null}}} {
		service := swarm.Service{ID: "s", Spec: spec}
		there := look{tasks: map[string][]swarm.Task{"s": {{}, {ServiceID: "s"}}, "gone": {{ServiceID: "gone"}}}}
		state := there.state(&service)
		assert.Equal(t, 1, state.Desired)
		assert.Equal(t, stack.StatusStarting, state.Status)
		assert.Equal(t, "replicated", fieldsOf(&spec)["mode"])
		assert.Zero(t, watchOf(&spec, &spec))
		assert.False(t, isMoving(&service))
	}
}
