package swarm

import (
	"context"
	"slices"
	"strings"

	"github.com/moby/moby/api/types/network"
	"github.com/moby/moby/api/types/swarm"
	"github.com/moby/moby/client"

	"github.com/squadronctl/squadron/internal/errmask"
	"github.com/squadronctl/squadron/stack"
)

// LookOnce lists services, tasks, nodes and networks once, and gives an Engine whose reads of these go by that (reconcile.OnceLooker).
// What it writes it writes as the Engine does that it is of.
func (e *Engine) LookOnce(ctx context.Context) (stack.Backend, error) {
	seen, err := e.anew().seen(ctx)
	if err != nil {
		return nil, errmask.Maskf(classed(ctx, err), "look at the swarm")
	}
	fresh, once := e.anew().core, *e.core
	once.api, once.fresh = seen, fresh
	once.networks = &networkNames{predefined: fresh.networks.known()}
	changed := *e
	changed.core = &once
	return &changed, nil
}

// anew is the engine whose reads all look at the cluster.
func (e *Engine) anew() *Engine {
	if e.fresh == nil {
		return e
	}
	changed := *e
	changed.core = e.fresh
	return &changed
}

// seen is the API as it was at one moment, as far as the reads of many stacks go. A listing by names goes to the cluster.
type seen struct {
	API
	services []swarm.Service
	tasks    []swarm.Task
	nodes    []swarm.Node
	networks []network.Summary
}

func (e *Engine) seen(ctx context.Context) (seen, error) {
	there, err := e.lookAt(ctx, "")
	if err != nil {
		return seen{}, err
	}
	networks, err := e.api.NetworkList(ctx, client.NetworkListOptions{})
	if err != nil {
		return seen{}, errmask.Maskf(err, "list the networks")
	}
	return seen{API: e.api, services: there.services, tasks: there.allTasks, nodes: there.nodes, networks: networks.Items}, nil
}

// ServiceList lists the services of all stacks as they were.
func (s seen) ServiceList(ctx context.Context, options client.ServiceListOptions) (client.ServiceListResult, error) {
	if !byLabel(options.Filters) {
		return s.API.ServiceList(ctx, options)
	}
	found := []swarm.Service{}
	for _, service := range s.services {
		if hasLabels(options.Filters, service.Spec.Labels) {
			found = append(found, service)
		}
	}
	return client.ServiceListResult{Items: found}, nil
}

// TaskList lists the tasks of all stacks' services as they were.
func (s seen) TaskList(ctx context.Context, options client.TaskListOptions) (client.TaskListResult, error) {
	if !byLabel(options.Filters) {
		return s.API.TaskList(ctx, options)
	}
	of := map[string]bool{}
	for _, service := range s.services {
		of[service.ID] = hasLabels(options.Filters, service.Spec.Labels)
	}
	found := []swarm.Task{}
	for _, task := range s.tasks {
		if of[task.ServiceID] {
			found = append(found, task)
		}
	}
	return client.TaskListResult{Items: found}, nil
}

// NodeList lists the nodes as they were.
func (s seen) NodeList(ctx context.Context, options client.NodeListOptions) (client.NodeListResult, error) {
	if len(options.Filters) > 0 {
		return s.API.NodeList(ctx, options)
	}
	return client.NodeListResult{Items: slices.Clone(s.nodes)}, nil
}

// NetworkList lists the networks as they were.
func (s seen) NetworkList(ctx context.Context, options client.NetworkListOptions) (client.NetworkListResult, error) {
	if len(options.Filters) > 0 {
		return s.API.NetworkList(ctx, options)
	}
	return client.NetworkListResult{Items: slices.Clone(s.networks)}, nil
}

// byLabel says whether a listing is of stacks, and by nothing but labels.
func byLabel(filters client.Filters) bool { return len(filters) == 1 && len(filters["label"]) > 0 }

// hasLabels says whether labels are as all of the filters want.
func hasLabels(filters client.Filters, labels map[string]string) bool {
	for filter := range filters["label"] {
		name, value, valued := strings.Cut(filter, "=")
		if has, there := labels[name]; !there || valued && has != value {
			return false
		}
	}
	return true
}
