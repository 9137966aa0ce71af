package swarm

import (
	"strings"

	"github.com/moby/moby/api/types/swarm"
	"github.com/moby/moby/client"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const scriptLabel = "com.docker.stack.namespace"

func labels(more ...string) map[string]string {
	all := map[string]string{scriptLabel: "script"}
	for _, key := range more {
		all[key] = "1"
	}
	return all
}

// scriptSpec is a service that runs on the manager, with what the edits say.
func scriptSpec(name string, edits ...func(*serviceSpec)) serviceSpec {
	grace := second
	spec := serviceSpec{
		Annotations: swarm.Annotations{Name: name, Labels: labels()},
		TaskTemplate: swarm.TaskSpec{
			ContainerSpec: &swarm.ContainerSpec{Image: app1, Labels: labels(), StopGracePeriod: &grace},
			RestartPolicy: &swarm.RestartPolicy{Condition: swarm.RestartPolicyConditionAny, Delay: &grace},
			Placement:     &swarm.Placement{Constraints: []string{"node.role == manager"}},
		},
		Mode:         swarm.ServiceMode{Replicated: &swarm.ReplicatedService{}},
		EndpointSpec: &swarm.EndpointSpec{Mode: swarm.ResolutionModeDNSRR},
	}
	for _, edit := range edits {
		edit(&spec)
	}
	return spec
}

func replicas(n uint64) func(*serviceSpec) {
	return func(spec *serviceSpec) { spec.Mode.Replicated.Replicas = &n }
}

func (p *player) create(title string, spec serviceSpec) {
	p.keep(title, func() { _, _ = p.ServiceCreate(p.t.Context(), client.ServiceCreateOptions{Spec: spec}) })
}

func (p *player) inspect(title, name string) {
	p.keep(title, func() { _, _ = p.ServiceInspect(p.t.Context(), name, client.ServiceInspectOptions{}) })
}

func (p *player) service(t require.TestingT, name string) swarm.Service {
	found, err := p.ServiceInspect(p.t.Context(), name, client.ServiceInspectOptions{})
	require.NoError(t, err)
	return found.Service
}

// update changes a service; stale is how far its version is from the right one.
func (p *player) update(title, name string, stale uint64, edit func(*serviceSpec)) {
	p.t.Helper()
	for range 50 {
		found := p.service(p.t, name)
		edit(&found.Spec)
		version := swarm.Version{Index: found.Version.Index - stale}
		before := len(p.recorder.answers)
		var err error
		p.keep(title, func() {
			_, err = p.ServiceUpdate(p.t.Context(), found.ID, client.ServiceUpdateOptions{Version: version, Spec: found.Spec})
		})
		if stale > 0 || err == nil || !strings.Contains(err.Error(), "out of sequence") {
			return
		}
		p.recorder.answers = p.recorder.answers[:before] // the swarm itself wrote meanwhile
	}
	require.Fail(p.t, "each update was out of sequence")
}

func (p *player) tasks(title string, filters client.Filters) {
	p.keep(title, func() { _, _ = p.TaskList(p.t.Context(), client.TaskListOptions{Filters: filters}) })
}

// await waits until a service's update has come to a state.
func (p *player) await(name string, state swarm.UpdateState) {
	p.t.Helper()
	require.EventuallyWithT(p.t, func(c *assert.CollectT) {
		status := p.service(c, name).UpdateStatus
		require.NotNil(c, status)
		require.Equal(c, state, status.State, status.Message)
	}, settle, pause)
}

// awaitTasks waits until so many tasks of the stack are in a state.
func (p *player) awaitTasks(name string, state swarm.TaskState, count int) {
	p.t.Helper()
	require.EventuallyWithT(p.t, func(c *assert.CollectT) {
		filters := make(client.Filters).Add("label", scriptLabel+"=script")
		if name != "" {
			filters = make(client.Filters).Add("service", name)
		}
		tasks, err := p.TaskList(p.t.Context(), client.TaskListOptions{Filters: filters})
		require.NoError(c, err)
		found := 0
		for _, task := range tasks.Items {
			if state == "" || task.Status.State == state && task.DesiredState == swarm.TaskStateRunning || task.Status.State == state && state == swarm.TaskStateRejected {
				found++
			}
		}
		require.Equal(c, count, found)
	}, settle, pause)
}
