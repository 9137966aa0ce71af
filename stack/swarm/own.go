package swarm

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/moby/moby/api/types/swarm"
	"github.com/moby/moby/client"

	"github.com/squadronctl/squadron/internal/errmask"
	"github.com/squadronctl/squadron/stack/swarm/internal/compose"
)

// holdBack finds the services that the calling program may be, as far as they have to be written: not now, but by the caller, as
// its last.
func (d *deployment) holdBack(ctx context.Context, changed []compose.Service) error {
	if !d.engine.isOwn(d.req.Name) {
		return nil
	}
	own, err := d.engine.ownServices(ctx, d.made)
	if err != nil {
		return err
	}
	for _, name := range names(changed) {
		if slices.Contains(own, name) {
			d.held = append(d.held, name)
		}
	}
	return nil
}

// lacks says whether a network, config or secret is still to be made.
func (d *deployment) lacks() bool {
	return len(d.networks) < len(d.made.Networks) || len(d.configs) < len(d.made.Configs) || len(d.secrets) < len(d.made.Secrets)
}

// replaceItself writes what was held back, as far as that is still to be done.
func (d *deployment) replaceItself(ctx context.Context) error {
	const operation = "deploy stack %.256q, which this program runs in"
	unlock, err := d.engine.locks.Lock(ctx, d.req.Name)
	if err != nil {
		return errmask.Maskf(err, operation, d.req.Name)
	}
	defer unlock()
	changed, err := d.look(ctx)
	if err == nil {
		slices.SortStableFunc(changed, func(a, b compose.Service) int { // the write that ends the program comes last
			return cmp.Compare(slices.Index(d.held, a.Spec.Name), slices.Index(d.held, b.Spec.Name))
		})
		err = d.write(ctx, changed, nil)
	}
	return errmask.Maskf(classed(ctx, err), operation, d.req.Name)
}

// ownServices gives the services that the calling program may be: one, where that can be told, and else all of its stack.
func (c *core) ownServices(ctx context.Context, made *compose.Stack) ([]string, error) {
	all := names(made.Services)
	switch {
	case slices.Contains(all, c.config.OwnService):
		return []string{c.config.OwnService}, nil
	case len(all) == 1 || c.host == "":
		return all, nil
	}
	tasks, err := c.api.TaskList(ctx, client.TaskListOptions{Filters: ofStack(c.config.Own)})
	if err != nil {
		return nil, errmask.Maskf(err, "look for the service that this program is")
	}
	services, err := c.services(ctx, ofStack(c.config.Own))
	if err != nil {
		return nil, err
	}
	for _, task := range tasks.Items {
		container := task.Status.ContainerStatus
		if container == nil || !strings.HasPrefix(container.ContainerID, c.host) || len(c.host) < shortContainerID {
			continue
		}
		if i := slices.IndexFunc(services, func(s swarm.Service) bool { return s.ID == task.ServiceID }); i >= 0 {
			return []string{services[i].Spec.Name}, nil
		}
	}
	return all, nil
}

// shortContainerID is the length of the beginning of its ID that a container has for its host's name.
const shortContainerID = 12
