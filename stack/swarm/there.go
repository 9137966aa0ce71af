package swarm

import (
	"context"

	"github.com/moby/moby/api/types/network"
	"github.com/moby/moby/api/types/swarm"
	"github.com/moby/moby/client"

	"github.com/squadronctl/squadron/internal/errmask"
	"github.com/squadronctl/squadron/stack/swarm/internal/compose"
)

// there is what the cluster has under a stack's namespace, and under the names that its manifest uses. All is by name.
type there struct {
	services map[string]swarm.Service
	networks map[string]network.Summary
	configs  map[string]swarm.Config
	secrets  map[string]swarm.Secret
	list     networkList
}

// thing is one thing that is there, as far as it is asked whose it is.
type thing struct {
	kind, name string
	labels     map[string]string
}

// inNamespace gives what carries the label of a namespace.
func (t *there) inNamespace(name string) []thing {
	var found []thing
	for thing := range t.all {
		if thing.labels[labelNamespace] == name {
			found = append(found, thing)
		}
	}
	return found
}

// all goes over everything.
func (t *there) all(yield func(thing) bool) {
	for name, service := range t.services {
		if !yield(thing{"service", name, service.Spec.Labels}) {
			return
		}
	}
	for name, network := range t.networks {
		if !yield(thing{"network", name, network.Labels}) {
			return
		}
	}
	for name, config := range t.configs {
		if !yield(thing{"config", name, config.Spec.Labels}) {
			return
		}
	}
	for name, secret := range t.secrets {
		if !yield(thing{"secret", name, secret.Spec.Labels}) {
			return
		}
	}
}

// readThere reads what there is of a stack, and of what a manifest names. made is nil where there is no manifest.
func (c *core) readThere(ctx context.Context, name string, made *compose.Stack) (*there, error) {
	var services, configs, secrets []string
	if made != nil {
		services = names(made.Services)
		for _, config := range made.Configs {
			configs = append(configs, config.Name)
		}
		for _, secret := range made.Secrets {
			secrets = append(secrets, secret.Name)
		}
	}
	return c.read(ctx, lookUps(name, services), lookUps(name, configs), lookUps(name, secrets))
}

// readAll reads all that these filters select, and all networks.
func (c *core) readAll(ctx context.Context, filters client.Filters) (*there, error) {
	once := []client.Filters{filters}
	return c.read(ctx, once, once, once)
}

// lookUps are the listings that have all of a namespace, and all of these names: the API filters by the one or the other.
func lookUps(namespace string, names []string) []client.Filters {
	filters := []client.Filters{ofStack(namespace)}
	if len(names) > 0 {
		filters = append(filters, make(client.Filters).Add("name", names...))
	}
	return filters
}

// read makes the listings of each kind, and one of the networks.
func (c *core) read(ctx context.Context, services, configs, secrets []client.Filters) (*there, error) {
	list, err := c.readNetworks(ctx)
	if err != nil {
		return nil, err
	}
	t := &there{
		services: map[string]swarm.Service{}, networks: list.byName,
		configs: map[string]swarm.Config{}, secrets: map[string]swarm.Secret{}, list: list,
	}
	for _, filters := range services {
		found, err := c.services(ctx, filters)
		if err != nil {
			return nil, err
		}
		for _, service := range found {
			t.services[service.Spec.Name] = service
		}
	}
	for _, filters := range configs {
		found, err := c.api.ConfigList(ctx, client.ConfigListOptions{Filters: filters})
		if err != nil {
			return nil, errmask.Maskf(err, "list the configs")
		}
		for _, config := range found.Items {
			t.configs[config.Spec.Name] = config
		}
	}
	for _, filters := range secrets {
		found, err := c.api.SecretList(ctx, client.SecretListOptions{Filters: filters})
		if err != nil {
			return nil, errmask.Maskf(err, "list the secrets")
		}
		for _, secret := range found.Items {
			t.secrets[secret.Spec.Name] = secret
		}
	}
	return t, nil
}
