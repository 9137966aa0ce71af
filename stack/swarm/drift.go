package swarm

import (
	"context"

	"github.com/moby/moby/api/types/swarm"
	"github.com/moby/moby/client"

	"github.com/squadronctl/squadron/internal/errmask"
	"github.com/squadronctl/squadron/stack"
)

// DesiredServices implements capability.LiveDrift. The services are by name, and what has Swarm's default has no field:
//
//   - image, command[0], args[0], env.NAME, user, dir, hostname, init, hosts[0], container-label.NAME, stop-grace-period and so on
//     for what runs; healthcheck.test[0], healthcheck.interval, …; dns.nameservers[0], …
//   - mode and replicas; update.…, rollback.…, restart.…, placement.…, resources.limits.cpus, …; logging.driver,
//     logging.option.NAME; label.NAME, without those that say whose the service is
//   - ports[0] as "8080:80/tcp ingress", sorted; endpoint-mode
//   - networks[0], with networks[0].aliases: a network's ID, and its name while it is not there, or where it is one of Docker's own
//   - mounts[0], configs[0] and secrets[0], with what belongs to each, sorted.
//
// Files that the manifest names have to be there. Which ID a network has is known by one listing for five seconds. A bad manifest
// is a *stack.ManifestError.
func (e *Engine) DesiredServices(ctx context.Context, manifest, stackName string) (*stack.Stack, error) {
	const operation = "read what stack %.256q declares"
	made, err := e.load(manifest, stackName)
	if err != nil {
		return nil, errmask.Maskf(err, operation, stackName)
	}
	list, err := e.recentNetworks(ctx)
	if err != nil {
		return nil, errmask.Maskf(classed(ctx, err), operation, stackName)
	}
	desired := namesOf(made)
	for i := range made.Services {
		spec := &made.Services[i].Spec
		compared, err := e.compared(ctx, list, spec)
		if err != nil {
			return nil, errmask.Maskf(classed(ctx, err), operation, stackName)
		}
		desired.Services[spec.Name] = stack.Service{Fields: compared}
	}
	return desired, nil
}

// DeclaredResources implements capability.DeclaredLister. It asks no cluster, and of a manifest that Pack made it needs no file.
// Services, networks, configs and secrets have no fields; what the manifest calls external is said to be.
func (e *Engine) DeclaredResources(_ context.Context, manifest, stackName string) (*stack.Stack, error) {
	declared, err := e.declared(manifest, stackName)
	return declared, errmask.Maskf(err, "read what stack %.256q declares", stackName)
}

// LiveServices implements capability.LiveDrift: all services of the namespace, whoever owns them, with the fields that
// DesiredServices tells of.
func (e *Engine) LiveServices(ctx context.Context, stackName string) (map[string]stack.Service, error) {
	const operation = "read what there is of stack %.256q"
	if err := checkStackName(stackName); err != nil {
		return nil, errmask.Maskf(err, operation, stackName)
	}
	live, err := e.live(ctx, ofStack(stackName), []string{stackName})
	if err != nil {
		return nil, errmask.Maskf(classed(ctx, err), operation, stackName)
	}
	return live[stackName], nil
}

// LiveStacks is LiveServices for many stacks in one look at the cluster (reconcile.DriftReader). With a nil error each of the names
// is in the map, a stack that is not there with an empty one; with an error none is.
func (e *Engine) LiveStacks(ctx context.Context, stackNames []string) (map[string]map[string]stack.Service, error) {
	const operation = "read what there is of %d stacks"
	for _, name := range stackNames {
		if err := checkStackName(name); err != nil {
			return nil, errmask.Maskf(err, operation, len(stackNames))
		}
	}
	if len(stackNames) == 0 {
		return map[string]map[string]stack.Service{}, nil
	}
	live, err := e.live(ctx, make(client.Filters).Add("label", labelNamespace), stackNames)
	if err != nil {
		return nil, errmask.Maskf(classed(ctx, err), operation, len(stackNames))
	}
	return live, nil
}

// live reads the services of stacks, and networks where one of them is attached to any.
func (e *Engine) live(ctx context.Context, filters client.Filters, of []string) (map[string]map[string]stack.Service, error) {
	services, err := e.services(ctx, filters)
	if err != nil {
		return nil, err
	}
	live := make(map[string]map[string]stack.Service, len(of))
	for _, name := range of {
		live[name] = map[string]stack.Service{}
	}
	list, err := e.recentNetworks(ctx)
	if err != nil {
		return nil, err
	}
	for i := range services {
		service := &services[i]
		into, asked := live[service.Spec.Labels[labelNamespace]]
		if !asked {
			continue
		}
		if into[service.Spec.Name], err = e.liveService(ctx, list, service); err != nil {
			return nil, err
		}
	}
	return live, nil
}

func (e *Engine) liveService(ctx context.Context, list networkList, service *swarm.Service) (stack.Service, error) {
	compared, err := e.compared(ctx, list, &service.Spec)
	return stack.Service{ID: service.ID, Version: service.Version.Index, Fields: compared}, err
}
