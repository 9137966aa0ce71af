package swarm

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/containerd/errdefs"
	"github.com/moby/moby/api/types/swarm"
	"github.com/moby/moby/client"

	"github.com/squadronctl/squadron/capability"
	"github.com/squadronctl/squadron/internal/errmask"
	"github.com/squadronctl/squadron/stack"
)

// RemoveStack implements stack.Backend. What is under the namespace counts as the stack's when it carries an owner's label, or when
// it carries none and a revision that the store has of that owner declares it. The rest stays. Where the labels of several owners
// are there nothing is removed, and the error is one of stack.IsForeignStack. It returns when the tasks have ended that are not on
// a node that is down, and configs, secrets and networks are gone; volumes stay. What another stack uses can't be removed, and is
// an error after all else is gone.
func (e *Engine) RemoveStack(ctx context.Context, name string) error {
	return errmask.Maskf(classed(ctx, e.anew().removeStack(ctx, name)), "remove stack %.256q", name)
}

func (e *Engine) removeStack(ctx context.Context, name string) error {
	if err := checkStackName(name); err != nil {
		return err
	}
	if e.isOwn(name) {
		return capability.ErrOwnStack
	}
	unlock, err := e.locks.Lock(ctx, name)
	if err != nil {
		return err
	}
	defer unlock()
	found, err := e.readThere(ctx, name, nil)
	if err != nil {
		return err
	}
	ours, err := e.owned(ctx, name, found.inNamespace(name))
	if err != nil || len(ours) == 0 {
		return err
	}
	var services []swarm.Service
	for _, service := range found.services {
		if ours["service "+service.Spec.Name] {
			services = append(services, service)
		}
	}
	if err := e.removeServices(ctx, name, services); err != nil {
		return err
	}
	return e.removeRest(ctx, name, found, ours)
}

// owned picks what of a namespace is its sole owner's, as "kind name".
func (c *core) owned(ctx context.Context, name string, inside []thing) (map[string]bool, error) {
	owner, ours := "", map[string]bool{}
	for _, thing := range inside {
		switch of := thing.labels[labelOwner]; {
		case of == "":
			continue
		case owner != "" && of != owner:
			return nil, fmt.Errorf("%w: it has several owners: %s", stack.ErrForeignStack, listStrangers(inside))
		default:
			owner = of
		}
		ours[thing.kind+" "+thing.name] = true
	}
	if owner == "" || len(ours) == len(inside) {
		return ours, nil
	}
	revisions, err := c.config.Store.Revisions(ctx, owner, name)
	if err != nil {
		return nil, err
	}
	for _, revision := range revisions {
		declared, err := c.declared(revision.Manifest, name)
		if err != nil {
			continue // it proves nothing; what it declared may stay
		}
		proven := provenBy(declared)
		for _, thing := range inside {
			if key := thing.kind + " " + thing.name; thing.labels[labelOwner] == "" && proven[key] {
				ours[key] = true
			}
		}
	}
	return ours, nil
}

// provenBy are the things that a revision made, as "kind name".
func provenBy(declared *stack.Stack) map[string]bool {
	proven := map[string]bool{}
	for name := range declared.Services {
		proven["service "+name] = true
	}
	for kind, of := range map[string]map[string]stack.Resource{
		"network": declared.Networks, "config": declared.Configs, "secret": declared.Secrets,
	} {
		for name, resource := range of {
			if !resource.External {
				proven[kind+" "+name] = true
			}
		}
	}
	return proven
}

// removeServices removes services of a stack, and waits until their tasks have ended.
func (c *core) removeServices(ctx context.Context, name string, services []swarm.Service) error {
	slices.SortFunc(services, func(a, b swarm.Service) int { return strings.Compare(a.Spec.Name, b.Spec.Name) })
	ids := map[string]bool{}
	for _, service := range services {
		if err := c.isStill(ctx, &service); err != nil {
			return err
		}
		_, err := c.api.ServiceRemove(ctx, service.ID, client.ServiceRemoveOptions{})
		if err != nil && !errdefs.IsNotFound(err) {
			return errmask.Maskf(err, "remove service %s", service.Spec.Name)
		}
		c.logger.Info(ctx, "stack %s: service %s removed", name, service.Spec.Name)
		c.rolledBack.forget(service.Spec.Name)
		ids[service.ID] = true
	}
	if len(ids) == 0 {
		return nil
	}
	for since := time.Now(); ; {
		left, err := c.runningTasks(ctx, name, ids)
		switch {
		case err != nil:
			return errmask.Maskf(err, "wait for the tasks to end")
		case left == 0:
			return nil
		case time.Since(since) >= c.config.WaitTimeout:
			return fmt.Errorf("%d tasks have not ended within %s", left, c.config.WaitTimeout)
		}
		if err := pause(ctx, c.config.PollInterval); err != nil {
			return errmask.Maskf(err, "wait for %d tasks to end", left)
		}
	}
}

// isStill looks once more whose a service is, since a removal says of no version that it is meant for.
func (c *core) isStill(ctx context.Context, service *swarm.Service) error {
	now, err := c.api.ServiceInspect(ctx, service.ID, client.ServiceInspectOptions{})
	switch {
	case errdefs.IsNotFound(err):
		return nil
	case err != nil:
		return errmask.Maskf(err, "read service %s", service.Spec.Name)
	}
	for _, label := range []string{labelNamespace, labelOwner} {
		if now.Service.Spec.Labels[label] != service.Spec.Labels[label] {
			return becameAnothers(service.Spec.Name)
		}
	}
	return nil
}

func becameAnothers(service string) error {
	return fmt.Errorf("%w: service %s has become another's", stack.ErrForeignStack, service)
}

// runningTasks counts the tasks of services that have not ended. Of a node that is down nobody knows.
func (c *core) runningTasks(ctx context.Context, name string, ids map[string]bool) (int, error) {
	there, err := c.lookAt(ctx, name)
	if err != nil {
		return 0, err
	}
	left := 0
	for id := range ids {
		for _, task := range there.tasks[id] {
			if !hasEnded(task.Status.State) && there.down[task.NodeID] == "" {
				left++
			}
		}
	}
	return left, nil
}

// hasEnded says whether a task runs no more, or will never have run.
func hasEnded(state swarm.TaskState) bool {
	switch state {
	case swarm.TaskStateComplete, swarm.TaskStateShutdown, swarm.TaskStateFailed, swarm.TaskStateRejected, swarm.TaskStateRemove,
		swarm.TaskStateOrphaned:
		return true
	}
	return false
}

// removeRest removes configs, secrets and networks, as many as can be.
func (c *core) removeRest(ctx context.Context, name string, found *there, ours map[string]bool) error {
	var errs []error
	removed := func(kind, of string, err error) {
		switch {
		case errdefs.IsNotFound(err):
		case err != nil:
			errs = append(errs, errmask.Maskf(err, "remove %s %s", kind, of))
		default:
			c.logger.Info(ctx, "stack %s: %s %s removed", name, kind, of)
		}
	}
	for of, config := range found.configs {
		if ours["config "+of] {
			_, err := c.api.ConfigRemove(ctx, config.ID, client.ConfigRemoveOptions{})
			removed("config", of, err)
		}
	}
	for of, secret := range found.secrets {
		if ours["secret "+of] {
			_, err := c.api.SecretRemove(ctx, secret.ID, client.SecretRemoveOptions{})
			removed("secret", of, err)
		}
	}
	for of, network := range found.networks {
		if ours["network "+of] {
			removed("network", of, c.removeNetwork(ctx, network.ID))
		}
	}
	return errors.Join(errs...)
}

// removeNetwork removes a network, which for a while after a service's end still counts as used by its tasks.
func (c *core) removeNetwork(ctx context.Context, id string) error {
	defer c.forgetNetworks()
	for attempt := 1; ; attempt++ {
		_, err := c.api.NetworkRemove(ctx, id, client.NetworkRemoveOptions{})
		switch {
		case isMissingNetwork(err): // Docker lists it until its last container is gone
			return nil
		case err == nil || attempt == networkAttempts || !isUsedByTask(err):
			return err
		}
		if err := pause(ctx, networkPause); err != nil {
			return err
		}
	}
}

func isUsedByTask(err error) bool {
	return strings.Contains(err.Error(), "in use by task") || strings.Contains(err.Error(), "has active endpoints")
}
