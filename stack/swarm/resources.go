package swarm

import (
	"context"
	"fmt"
	"slices"

	"github.com/containerd/errdefs"
	"github.com/moby/moby/api/types/swarm"
	"github.com/moby/moby/client"

	"github.com/squadronctl/squadron/capability"
	"github.com/squadronctl/squadron/internal/errmask"
	"github.com/squadronctl/squadron/stack"
)

// LiveNetworks implements capability.ResourceLister: all of the namespace's, whoever owns them.
func (e *Engine) LiveNetworks(ctx context.Context, stackName string) (map[string]string, error) {
	const operation = "list the networks of stack %.256q"
	if err := checkStackName(stackName); err != nil {
		return nil, errmask.Maskf(err, operation, stackName)
	}
	found, err := e.api.NetworkList(ctx, client.NetworkListOptions{Filters: ofStack(stackName)})
	if err != nil {
		return nil, errmask.Maskf(classed(ctx, err), operation, stackName)
	}
	ids := map[string]string{}
	for _, network := range found.Items {
		if network.Labels[labelNamespace] == stackName {
			ids[network.Name] = network.ID
		}
	}
	return ids, nil
}

// LiveConfigs implements capability.ResourceLister; see LiveNetworks.
func (e *Engine) LiveConfigs(ctx context.Context, stackName string) (map[string]string, error) {
	const operation = "list the configs of stack %.256q"
	if err := checkStackName(stackName); err != nil {
		return nil, errmask.Maskf(err, operation, stackName)
	}
	found, err := e.api.ConfigList(ctx, client.ConfigListOptions{Filters: ofStack(stackName)})
	if err != nil {
		return nil, errmask.Maskf(classed(ctx, err), operation, stackName)
	}
	ids := map[string]string{}
	for _, config := range found.Items {
		ids[config.Spec.Name] = config.ID
	}
	return ids, nil
}

// LiveSecrets implements capability.ResourceLister; see LiveNetworks.
func (e *Engine) LiveSecrets(ctx context.Context, stackName string) (map[string]string, error) {
	const operation = "list the secrets of stack %.256q"
	if err := checkStackName(stackName); err != nil {
		return nil, errmask.Maskf(err, operation, stackName)
	}
	found, err := e.api.SecretList(ctx, client.SecretListOptions{Filters: ofStack(stackName)})
	if err != nil {
		return nil, errmask.Maskf(classed(ctx, err), operation, stackName)
	}
	ids := map[string]string{}
	for _, secret := range found.Items {
		ids[secret.Spec.Name] = secret.ID
	}
	return ids, nil
}

// RemoveService implements capability.ResourceRemover. It returns when the service's tasks have ended that are not on a node that is
// down. A service that is of no stack is refused with an error of stack.IsForeignStack, as it is with the others; one of the calling
// program's own stack with capability.ErrOwnStack.
func (e *Engine) RemoveService(ctx context.Context, id string) error {
	return errmask.Maskf(classed(ctx, e.anew().removeService(ctx, id)), "remove service %.64q", id)
}

func (e *Engine) removeService(ctx context.Context, id string) error {
	found, err := e.api.ServiceInspect(ctx, id, client.ServiceInspectOptions{})
	if err != nil {
		return unlessGone(err)
	}
	name := found.Service.Spec.Labels[labelNamespace]
	switch {
	case name == "":
		return ofNoStack()
	case e.isOwn(name):
		return capability.ErrOwnStack
	}
	unlock, err := e.locks.Lock(ctx, name)
	if err != nil {
		return err
	}
	defer unlock()
	if found, err = e.api.ServiceInspect(ctx, found.Service.ID, client.ServiceInspectOptions{}); err != nil { // what was waited for may have removed it
		return unlessGone(err)
	}
	if found.Service.Spec.Labels[labelNamespace] != name {
		return becameAnothers(found.Service.Spec.Name)
	}
	return e.removeServices(ctx, name, []swarm.Service{found.Service})
}

// RemoveNetwork implements capability.ResourceRemover. A network of the own stack that a service of it is attached to is refused with
// capability.ErrOwnStack, and so are configs and secrets that it uses.
func (e *Engine) RemoveNetwork(ctx context.Context, id string) error {
	const operation = "remove network %.64q"
	e = e.anew()
	found, err := e.api.NetworkInspect(ctx, id, client.NetworkInspectOptions{})
	if err != nil {
		return errmask.Maskf(classed(ctx, unlessGone(err)), operation, id)
	}
	err = e.mayRemove(ctx, found.Network.Labels, func(spec *swarm.ServiceSpec) bool {
		return slices.ContainsFunc(spec.TaskTemplate.Networks, func(n swarm.NetworkAttachmentConfig) bool { return n.Target == found.Network.ID })
	})
	if err == nil {
		err = unlessGone(e.removeNetwork(ctx, found.Network.ID))
	}
	return errmask.Maskf(classed(ctx, err), operation, id)
}

// RemoveConfig implements capability.ResourceRemover; see RemoveNetwork.
func (e *Engine) RemoveConfig(ctx context.Context, id string) error {
	const operation = "remove config %.64q"
	e = e.anew()
	found, err := e.api.ConfigInspect(ctx, id, client.ConfigInspectOptions{})
	if err != nil {
		return errmask.Maskf(classed(ctx, unlessGone(err)), operation, id)
	}
	err = e.mayRemove(ctx, found.Config.Spec.Labels, func(spec *swarm.ServiceSpec) bool {
		container := spec.TaskTemplate.ContainerSpec
		return container != nil && slices.ContainsFunc(container.Configs, func(c *swarm.ConfigReference) bool { return c != nil && c.ConfigID == found.Config.ID })
	})
	if err == nil {
		_, err = e.api.ConfigRemove(ctx, found.Config.ID, client.ConfigRemoveOptions{})
		err = unlessGone(err)
	}
	return errmask.Maskf(classed(ctx, err), operation, id)
}

// RemoveSecret implements capability.ResourceRemover; see RemoveNetwork.
func (e *Engine) RemoveSecret(ctx context.Context, id string) error {
	const operation = "remove secret %.64q"
	e = e.anew()
	found, err := e.api.SecretInspect(ctx, id, client.SecretInspectOptions{})
	if err != nil {
		return errmask.Maskf(classed(ctx, unlessGone(err)), operation, id)
	}
	err = e.mayRemove(ctx, found.Secret.Spec.Labels, func(spec *swarm.ServiceSpec) bool {
		container := spec.TaskTemplate.ContainerSpec
		return container != nil && slices.ContainsFunc(container.Secrets, func(s *swarm.SecretReference) bool { return s != nil && s.SecretID == found.Secret.ID })
	})
	if err == nil {
		_, err = e.api.SecretRemove(ctx, found.Secret.ID, client.SecretRemoveOptions{})
		err = unlessGone(err)
	}
	return errmask.Maskf(classed(ctx, err), operation, id)
}

// mayRemove refuses to remove what is of no stack, and what a service of the own stack uses.
func (e *Engine) mayRemove(ctx context.Context, labels map[string]string, uses func(*swarm.ServiceSpec) bool) error {
	name := labels[labelNamespace]
	switch {
	case name == "":
		return ofNoStack()
	case !e.isOwn(name):
		return nil
	}
	services, err := e.services(ctx, ofStack(name))
	if err != nil {
		return err
	}
	for i := range services {
		if uses(&services[i].Spec) {
			return fmt.Errorf("service %s uses it: %w", services[i].Spec.Name, capability.ErrOwnStack)
		}
	}
	return nil
}

func ofNoStack() error { return fmt.Errorf("%w: %w", stack.ErrForeignStack, errNotInStack) }

// unlessGone makes it no error that a thing is not there any more.
func unlessGone(err error) error {
	if errdefs.IsNotFound(err) {
		return nil
	}
	return err
}
