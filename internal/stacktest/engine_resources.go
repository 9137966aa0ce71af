package stacktest

import (
	"context"
	"errors"
	"maps"

	"github.com/squadronctl/squadron/capability"
	"github.com/squadronctl/squadron/internal/errmask"
	"github.com/squadronctl/squadron/stack"
)

var errInUse = errors.New("in use")

// LiveNetworks is one look.
func (e *Engine) LiveNetworks(_ context.Context, name string) (map[string]string, error) {
	return e.resources("LiveNetworks", "network", name)
}

// LiveConfigs is one look.
func (e *Engine) LiveConfigs(_ context.Context, name string) (map[string]string, error) {
	return e.resources("LiveConfigs", "config", name)
}

// LiveSecrets is one look.
func (e *Engine) LiveSecrets(_ context.Context, name string) (map[string]string, error) {
	return e.resources("LiveSecrets", "secret", name)
}

func (e *Engine) resources(op, kind, name string) (map[string]string, error) {
	e.cluster.mu.Lock()
	defer e.cluster.mu.Unlock()
	if err := e.cluster.read(op + " " + name); err != nil {
		return nil, err
	}
	found := map[string]string{}
	if s := e.cluster.stacks[name]; s != nil {
		maps.Copy(found, s.resources(kind))
	}
	return found, nil
}

// RemoveService removes one service, whoever's it is.
func (e *Engine) RemoveService(_ context.Context, id string) error {
	e.cluster.mu.Lock()
	defer e.cluster.mu.Unlock()
	for stackName, s := range e.cluster.stacks {
		for name, there := range s.services {
			if there.id != id {
				continue
			}
			if stackName == e.own {
				return errmask.Maskf(capability.ErrOwnStack, "remove %s", name)
			}
			if err := e.cluster.write("remove " + name); err != nil {
				return err
			}
			delete(s.services, name)
			e.cluster.dropEmpty(stackName)
			return nil
		}
	}
	return nil
}

// RemoveNetwork refuses one that a service uses.
func (e *Engine) RemoveNetwork(_ context.Context, id string) error {
	return e.removeResource("network", id)
}

// RemoveConfig removes one config.
func (e *Engine) RemoveConfig(_ context.Context, id string) error {
	return e.removeResource("config", id)
}

// RemoveSecret removes one secret.
func (e *Engine) RemoveSecret(_ context.Context, id string) error {
	return e.removeResource("secret", id)
}

func (e *Engine) removeResource(kind, id string) error {
	e.cluster.mu.Lock()
	defer e.cluster.mu.Unlock()
	for stackName, s := range e.cluster.stacks {
		for name, there := range s.resources(kind) {
			if there != id {
				continue
			}
			if kind == "network" && e.cluster.uses(name, id) {
				return errmask.Maskf(errInUse, "remove %s", name)
			}
			if err := e.cluster.write("remove " + name); err != nil {
				return err
			}
			delete(s.resources(kind), name)
			e.cluster.dropEmpty(stackName)
			return nil
		}
	}
	return nil
}

func (c *Cluster) uses(network, id string) bool {
	for _, s := range c.stacks {
		for _, service := range s.services {
			if used := service.fields["network"]; used == network || used == id {
				return true
			}
		}
	}
	return false
}

func (p *placed) resources(kind string) map[string]string {
	switch kind {
	case "network":
		return p.networks
	case "config":
		return p.configs
	default:
		return p.secrets
	}
}

func resourcesOf(s *stack.Stack, kind string) map[string]stack.Resource {
	switch kind {
	case "network":
		return s.Networks
	case "config":
		return s.Configs
	default:
		return s.Secrets
	}
}
