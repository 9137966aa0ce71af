package dockertest

import (
	"cmp"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"time"

	"github.com/moby/moby/api/types/swarm"
)

// task is a task of a service.
type task struct {
	swarm.Task
	order    uint64 // in which tasks were made
	place    slot
	labels   map[string]string // the service's when the task was made: it is by these that lists are filtered
	endpoint *swarm.EndpointSpec
	node     string    // where it goes; NodeID tells it once it is assigned
	holdTo   time.Time // it does not start before
	started  time.Time // when it came to running
	image    string
	replaces []*task // stopped once this one runs
}

// keptTasks is how many tasks of a slot are kept, the one that runs among them.
const keptTasks = 5

// stages are the states that a task goes through.
var stages = []struct {
	state   swarm.TaskState
	message string
}{
	{swarm.TaskStatePending, "pending task scheduling"},
	{swarm.TaskStateAssigned, "scheduler assigned task to node"},
	{swarm.TaskStateAccepted, "accepted"},
	{swarm.TaskStatePreparing, "preparing"},
	{swarm.TaskStateReady, "prepared"},
	{swarm.TaskStateStarting, "starting"},
	{swarm.TaskStateRunning, "started"},
}

func (s *Swarm) taskRoutes() []route {
	return []route{
		{"GET /tasks", "TaskList", "", s.listTasks},
		{"GET /tasks/{id}", "TaskInspect", "task", func(c call) (int, any, error) {
			id, err := find(s.tasks, func(t *task) string { return taskName(t, s.services[t.ServiceID]) }, c.PathValue("id"))
			if err != nil {
				return 0, nil, lookupError(err, "task", c.PathValue("id"))
			}
			return http.StatusOK, s.tasks[id].Task, nil
		}},
	}
}

// listTasks knows the filters id, name, service, node, label and desired-state. A service or node that is not there is an
// error, as with Docker.
func (s *Swarm) listTasks(c call) (int, any, error) {
	f, err := c.filters("id", "name", "service", "node", "label", "desired-state")
	if err != nil {
		return 0, nil, err
	}
	services, nodes := map[string]bool{}, map[string]bool{}
	for _, key := range f["service"] {
		sv, err := s.findService(key)
		if err != nil {
			return 0, nil, err
		}
		services[sv.ID] = true
	}
	for _, key := range f["node"] {
		id, err := s.findNode(key)
		if err != nil {
			return 0, nil, err
		}
		nodes[id] = true
	}
	for _, state := range f["desired-state"] {
		if !slices.Contains([]string{"running", "shutdown", "accepted", "ready", "remove"}, state) {
			return 0, nil, statusf(http.StatusInternalServerError, "Invalid desired-state filter: '%s'", state)
		}
	}
	tasks := []swarm.Task{}
	for _, id := range sortedIDs(s.tasks) {
		t := s.tasks[id]
		if (len(services) == 0 || services[t.ServiceID]) && (len(nodes) == 0 || nodes[t.NodeID]) && f.prefix("id", id) &&
			f.prefix("name", taskName(t, s.services[t.ServiceID])) && f.labels("label", t.labels) &&
			f.exactly("desired-state", string(t.DesiredState)) {
			tasks = append(tasks, t.Task)
		}
	}
	return http.StatusOK, tasks, nil
}

// active says whether a task is wanted.
func (t *task) active() bool {
	return t.DesiredState == swarm.TaskStateReady || t.DesiredState == swarm.TaskStateRunning
}

// ended says whether a task's container is no more, or will never be.
func (t *task) ended() bool {
	return slices.Contains([]swarm.TaskState{
		swarm.TaskStateComplete, swarm.TaskStateShutdown, swarm.TaskStateFailed, swarm.TaskStateRejected,
	}, t.Status.State)
}

// dirty says whether a task was made from another spec than the service has now.
func (t *task) dirty(sv *service) bool {
	template := clone(sv.Spec.TaskTemplate)
	template.Runtime = ""
	return !reflect.DeepEqual(clone(t.Spec), template) || !reflect.DeepEqual(t.endpoint, sv.Spec.EndpointSpec)
}

// tasksOf gives the tasks of a service, the oldest first.
func (s *Swarm) tasksOf(serviceID string) []*task {
	var tasks []*task
	for _, t := range s.tasks {
		if t.ServiceID == serviceID {
			tasks = append(tasks, t)
		}
	}
	slices.SortFunc(tasks, func(a, b *task) int {
		return cmp.Compare(a.order, b.order)
	})
	return tasks
}

// newTask makes a task, which does not start before hold has passed.
func (s *Swarm) newTask(sv *service, at slot, hold time.Duration) *task {
	t := &task{
		place: at, labels: clone(sv.Spec.Labels), node: at.node, holdTo: s.now.Add(hold),
		image: sv.Spec.TaskTemplate.ContainerSpec.Image,
	}
	if sv.Spec.EndpointSpec != nil {
		endpoint := clone(*sv.Spec.EndpointSpec)
		t.endpoint = &endpoint
	}
	t.ID, t.ServiceID, t.Slot, t.NodeID = s.newID(), sv.ID, at.number, at.node
	t.order = s.made
	t.Labels = map[string]string{}
	t.Spec = clone(sv.Spec.TaskTemplate)
	t.Spec.Runtime = ""
	t.DesiredState = swarm.TaskStateReady
	if hold == 0 {
		t.DesiredState = swarm.TaskStateRunning
	}
	s.tasks[t.ID] = t
	s.enter(t, swarm.TaskStateNew, "created", "")
	s.forget(sv, at)
	s.schedule(t, sv)
	return t
}

// forget drops the oldest tasks of a slot that have ended.
func (s *Swarm) forget(sv *service, at slot) {
	var of []*task
	for _, t := range s.tasksOf(sv.ID) {
		if t.place == at {
			of = append(of, t)
		}
	}
	for _, t := range of[:max(0, len(of)-keptTasks)] {
		if t.ended() {
			delete(s.tasks, t.ID)
		}
	}
}

// schedule finds a node for a task, and has the task go on from there.
func (s *Swarm) schedule(t *task, sv *service) {
	if t.node == "" {
		id, why := s.place(sv)
		if id == "" {
			s.enter(t, swarm.TaskStatePending, stages[0].message, why)
			return
		}
		t.node = id
	}
	s.after(s.config.Timing.Start/time.Duration(len(stages)), func() { s.advance(t, 0) })
}

// enter is a task coming to a state.
func (s *Swarm) enter(t *task, state swarm.TaskState, message, problem string) {
	t.Status.State, t.Status.Message, t.Status.Err, t.Status.Timestamp = state, message, problem, s.now.UTC()
	s.written(&t.Meta)
}

// advance brings a task to a stage and plans the next one.
func (s *Swarm) advance(t *task, stage int) {
	to := stages[stage]
	if !t.active() || t.ended() {
		return
	}
	if to.state == swarm.TaskStateStarting {
		if wait := t.holdTo.Sub(s.now); wait > 0 {
			s.after(wait, func() { s.advance(t, stage) })
			return
		}
		t.DesiredState = swarm.TaskStateRunning
	}
	outcome := s.outcome(t.image)
	switch to.state {
	case swarm.TaskStateAssigned:
		t.NodeID = t.node
		if t.place.node != "" {
			to.message = "scheduler confirmed task can run on preassigned node"
		}
	case swarm.TaskStateReady:
		if outcome == Rejected {
			s.end(t, swarm.TaskStateRejected, "preparing", "No such image: "+t.image, 0)
			return
		}
	case swarm.TaskStateStarting:
		t.Status.ContainerStatus = &swarm.ContainerStatus{ContainerID: longID("container " + t.ID)}
	case swarm.TaskStateRunning:
		if outcome == Hangs {
			return
		}
		t.Status.ContainerStatus.PID = 1000 + int(s.index)
		t.started = s.now
	}
	s.enter(t, to.state, to.message, "")
	if stage+1 < len(stages) {
		s.after(s.config.Timing.Start/time.Duration(len(stages)), func() { s.advance(t, stage+1) })
		return
	}
	s.runs(t, outcome)
}

func (s *Swarm) outcome(image string) Outcome {
	if s.config.Behave == nil {
		return Runs
	}
	return s.config.Behave(image)
}

// runs is a task that came to running.
func (s *Swarm) runs(t *task, outcome Outcome) {
	switch outcome {
	case Fails:
		s.after(s.config.Timing.Run, func() { s.exit(t, 1) })
	case Completes:
		s.after(s.config.Timing.Run, func() { s.exit(t, 0) })
	}
	for _, old := range t.replaces {
		if old.active() {
			s.retire(old, swarm.TaskStateShutdown)
		}
	}
	t.replaces = nil
	s.settled(t)
}

// exit is the end of a container by itself.
func (s *Swarm) exit(t *task, code int) {
	if !t.active() || t.ended() || s.nodes[t.node].Status.State != swarm.NodeStateReady {
		return
	}
	if code == 0 {
		s.end(t, swarm.TaskStateComplete, "finished", "", 0)
		return
	}
	s.end(t, swarm.TaskStateFailed, "started", fmt.Sprintf("task: non-zero exit (%d)", code), code)
}
