package stacktest

import (
	"context"
	"maps"
	"slices"

	"github.com/squadronctl/squadron/stack"
)

// StackServices is nil also when the read fails.
func (e *Engine) StackServices(ctx context.Context, name string) []stack.ServiceState {
	states, err := e.ReadStackServices(ctx, name)
	if err != nil || len(states) == 0 {
		return nil
	}
	return states
}

// ReadStackServices is one look.
func (e *Engine) ReadStackServices(_ context.Context, name string) ([]stack.ServiceState, error) {
	e.cluster.mu.Lock()
	defer e.cluster.mu.Unlock()
	if err := e.cluster.read("ReadStackServices " + name); err != nil {
		return nil, err
	}
	return e.cluster.states(name), nil
}

// ReadStacks is one look.
func (e *Engine) ReadStacks(_ context.Context, names []string) (map[string][]stack.ServiceState, error) {
	e.cluster.mu.Lock()
	defer e.cluster.mu.Unlock()
	if err := e.cluster.read("ReadStacks"); err != nil {
		return nil, err
	}
	all := make(map[string][]stack.ServiceState, len(names))
	for _, name := range names {
		all[name] = e.cluster.states(name)
	}
	return all, nil
}

// OwnedStacks is one look.
func (e *Engine) OwnedStacks(_ context.Context, owner string) ([]string, error) {
	e.cluster.mu.Lock()
	defer e.cluster.mu.Unlock()
	if err := e.cluster.read("OwnedStacks"); err != nil {
		return nil, err
	}
	var names []string
	for name, s := range e.cluster.stacks {
		if s.owner == owner {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names, nil
}

// DesiredServices needs the networks that the manifest calls external.
func (e *Engine) DesiredServices(_ context.Context, manifest, name string) (*stack.Stack, error) {
	want, err := parse(manifest, name)
	if err != nil {
		return nil, err
	}
	return &want.Stack, nil
}

// LiveServices is one look.
func (e *Engine) LiveServices(_ context.Context, name string) (map[string]stack.Service, error) {
	e.cluster.mu.Lock()
	defer e.cluster.mu.Unlock()
	if err := e.cluster.read("LiveServices " + name); err != nil {
		return nil, err
	}
	return e.cluster.live(name), nil
}

// LiveStacks is one look.
func (e *Engine) LiveStacks(_ context.Context, names []string) (map[string]map[string]stack.Service, error) {
	e.cluster.mu.Lock()
	defer e.cluster.mu.Unlock()
	if err := e.cluster.read("LiveStacks"); err != nil {
		return nil, err
	}
	all := make(map[string]map[string]stack.Service, len(names))
	for _, name := range names {
		all[name] = e.cluster.live(name)
	}
	return all, nil
}

// LookOnce is one look. The engine that it gives reads what was there then, and each read may be made to fail.
func (e *Engine) LookOnce(context.Context) (stack.Backend, error) {
	e.cluster.mu.Lock()
	defer e.cluster.mu.Unlock()
	if err := e.cluster.read("LookOnce"); err != nil {
		return nil, err
	}
	seen := e.cluster.snapshot()
	return e.with(func(e *Engine) { e.cluster = seen }), nil
}

// snapshot is a cluster of its own, as this one is at the moment. The caller holds the lock.
func (c *Cluster) snapshot() *Cluster {
	seen := NewCluster()
	seen.networks, seen.nodes, seen.failRead = maps.Clone(c.networks), c.nodes, c.failRead
	for name, s := range c.stacks {
		placed := placed{
			owner: s.owner, services: make(map[string]*service, len(s.services)),
			networks: maps.Clone(s.networks), configs: maps.Clone(s.configs), secrets: maps.Clone(s.secrets),
		}
		for service, there := range s.services {
			copied := *there
			copied.fields = maps.Clone(there.fields)
			placed.services[service] = &copied
		}
		seen.stacks[name] = &placed
	}
	return seen
}

func (c *Cluster) live(name string) map[string]stack.Service {
	services := map[string]stack.Service{}
	if s := c.stacks[name]; s != nil {
		for name, there := range s.services {
			services[name] = stack.Service{ID: there.id, Fields: maps.Clone(there.fields)}
		}
	}
	return services
}

// LiveNetworkNames gives every network.
func (e *Engine) LiveNetworkNames(context.Context) (map[string]string, error) {
	e.cluster.mu.Lock()
	defer e.cluster.mu.Unlock()
	if err := e.cluster.read("LiveNetworkNames"); err != nil {
		return nil, err
	}
	names := map[string]string{}
	for name, id := range e.cluster.networks {
		names[id] = name
	}
	return names, nil
}

// DeclaredResources asks the cluster nothing.
func (e *Engine) DeclaredResources(_ context.Context, manifest, name string) (*stack.Stack, error) {
	want, err := parse(manifest, name)
	if err != nil {
		return nil, err
	}
	return &want.Stack, nil
}

// SwarmNodes is no look.
func (e *Engine) SwarmNodes(context.Context) (int, error) {
	e.cluster.mu.Lock()
	defer e.cluster.mu.Unlock()
	if e.cluster.failRead != nil {
		if err := e.cluster.failRead("SwarmNodes"); err != nil {
			return 0, err
		}
	}
	return e.cluster.nodes, nil
}
