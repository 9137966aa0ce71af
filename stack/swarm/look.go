package swarm

import (
	"cmp"
	"context"
	"slices"

	"github.com/moby/moby/api/types/swarm"
	"github.com/moby/moby/client"

	"github.com/squadronctl/squadron/internal/errmask"
)

// look is what there was of one stack, or of all, at one moment.
type look struct {
	services []swarm.Service         // sorted by name
	tasks    map[string][]swarm.Task // by the service's ID, the newest first
	down     map[string]string       // the names of the nodes that are down, by ID
	allTasks []swarm.Task
	nodes    []swarm.Node
}

// lookAt reads services, tasks and nodes: three listings, of one stack, or of all where name is empty.
func (c *core) lookAt(ctx context.Context, name string) (look, error) {
	filters := ofStack(name)
	if name == "" {
		filters = make(client.Filters).Add("label", labelNamespace)
	}
	services, err := c.services(ctx, filters)
	if err != nil {
		return look{}, err
	}
	tasks, err := c.api.TaskList(ctx, client.TaskListOptions{Filters: filters})
	if err != nil {
		return look{}, errmask.Maskf(err, "list the tasks")
	}
	nodes, err := c.api.NodeList(ctx, client.NodeListOptions{})
	if err != nil {
		return look{}, errmask.Maskf(err, "list the nodes")
	}
	l := look{
		services: services, tasks: map[string][]swarm.Task{}, down: map[string]string{}, allTasks: tasks.Items, nodes: nodes.Items,
	}
	for _, task := range tasks.Items {
		l.tasks[task.ServiceID] = append(l.tasks[task.ServiceID], task)
	}
	for _, of := range l.tasks {
		slices.SortStableFunc(of, func(a, b swarm.Task) int { return b.CreatedAt.Compare(a.CreatedAt) })
	}
	for _, node := range nodes.Items {
		if node.Status.State == swarm.NodeStateDown {
			l.down[node.ID] = cmp.Or(node.Description.Hostname, node.ID)
		}
	}
	return l, nil
}

// services lists services, sorted by name.
func (c *core) services(ctx context.Context, filters client.Filters) ([]swarm.Service, error) {
	found, err := c.api.ServiceList(ctx, client.ServiceListOptions{Filters: filters})
	if err != nil {
		return nil, errmask.Maskf(err, "list the services")
	}
	slices.SortFunc(found.Items, func(a, b swarm.Service) int { return cmp.Compare(a.Spec.Name, b.Spec.Name) })
	return found.Items, nil
}

// service gives a service by its name.
func (l look) service(name string) (swarm.Service, bool) {
	i := slices.IndexFunc(l.services, func(s swarm.Service) bool { return s.Spec.Name == name })
	if i < 0 {
		return swarm.Service{}, false
	}
	return l.services[i], true
}
