package swarm

import (
	"context"
	"errors"
	"time"

	"github.com/containerd/errdefs"
	"github.com/moby/moby/api/types/swarm"
	"github.com/moby/moby/client"

	"github.com/squadronctl/squadron/internal/errclass"
	"github.com/squadronctl/squadron/internal/errmask"
	"github.com/squadronctl/squadron/stack/swarm/internal/compose"
)

// As long as a container on the manager's own node uses a network that was removed, Docker still lists it, and knows it no more when
// a service names it.
const (
	networkAttempts = 30
	networkPause    = time.Second
)

// writeService creates a service, or updates it.
func (d *deployment) writeService(ctx context.Context, service compose.Service) error {
	for attempt := 1; ; attempt++ {
		err := d.tryService(ctx, service)
		if !isMissingNetwork(err) || attempt == networkAttempts {
			return err
		}
		if err := pause(ctx, networkPause); err != nil {
			return err
		}
		if err := d.findNetworks(ctx); err != nil {
			return err
		}
	}
}

// findNetworks looks for the networks anew, and makes those that are gone.
func (d *deployment) findNetworks(ctx context.Context) error {
	list, err := d.engine.readNetworks(ctx)
	if err != nil {
		return err
	}
	d.there.list, d.there.networks = list, list.byName
	if err := d.claim(ctx); err != nil {
		return err
	}
	if err := d.matchNetworks(); err != nil {
		return err
	}
	return d.makeMissing(ctx)
}

func (d *deployment) tryService(ctx context.Context, service compose.Service) error {
	name := service.Spec.Name
	want := d.resolved(service)
	auth, err := d.registryAuth(ctx, want)
	if err != nil {
		return errmask.Maskf(err, "find the credential for the image of service %s", name)
	}
	live, there := d.there.services[name]
	if there {
		return d.updateService(ctx, want, live.ID, auth)
	}
	made, err := d.engine.api.ServiceCreate(ctx, client.ServiceCreateOptions{Spec: want, EncodedRegistryAuth: auth})
	if err != nil {
		return existing(err, "create service %s", name)
	}
	d.watch[name] = monitorOf(&want)
	d.engine.logger.Info(ctx, "stack %s: service %s created", d.req.Name, name)
	for _, warning := range made.Warnings {
		d.engine.logger.Warning(ctx, "service %s: %s", name, warning)
	}
	return nil
}

// updateAttempts is how often a write is tried that loses against another one.
const updateAttempts = 2

// updateService updates a service over what there is of it now, once no rollout of Swarm's is under way any more. A
// write that loses against another one all the same is told of, and repeated once.
func (d *deployment) updateService(ctx context.Context, want swarm.ServiceSpec, id, auth string) error {
	waited := false
	for attempt := 1; ; attempt++ {
		found, err := d.engine.api.ServiceInspect(ctx, id, client.ServiceInspectOptions{})
		switch {
		case errdefs.IsNotFound(err):
			return errmask.Maskf(errclass.With(errclass.ErrTemporary, err), "update service %s, which somebody else has removed", want.Name)
		case err != nil:
			return errmask.Maskf(err, "read service %s", want.Name)
		}
		if owner := found.Service.Spec.Labels[labelOwner]; found.Service.Spec.Labels[labelNamespace] != d.req.Name ||
			owner != "" && owner != d.req.Owner {
			return becameAnothers(want.Name)
		}
		differs, err := d.differsFrom(ctx, want, &found.Service.Spec)
		if err != nil || !differs {
			return err
		}
		if isMoving(&found.Service) && !waited {
			if err := d.awaitRollout(ctx, want.Name); err != nil {
				return err
			}
			waited = true
			attempt--
			continue
		}
		err = d.tryUpdate(ctx, want, found.Service, auth)
		if !isOutOfSequence(err) {
			return errmask.Maskf(err, "update service %s", want.Name)
		}
		d.lost(ctx, want.Name)
		if attempt == updateAttempts {
			return errmask.Maskf(errors.Join(errLostRace, err), "update service %s, which somebody else writes to as well", want.Name)
		}
	}
}

func (d *deployment) tryUpdate(ctx context.Context, want swarm.ServiceSpec, live swarm.Service, auth string) error {
	updated, err := d.engine.api.ServiceUpdate(ctx, live.ID, client.ServiceUpdateOptions{
		Version: live.Version, Spec: kept(want, &live.Spec), EncodedRegistryAuth: auth,
	})
	if err != nil {
		return err
	}
	d.watch[want.Name] = watchOf(&want, &live.Spec)
	d.engine.rolledBack.forget(want.Name)
	d.engine.logger.Info(ctx, "stack %s: service %s updated", d.req.Name, want.Name)
	for _, warning := range updated.Warnings {
		d.engine.logger.Warning(ctx, "service %s: %s", want.Name, warning)
	}
	return nil
}

// watchOf is for how long the copies of a service are to be watched after an update. Swarm itself watches those that the update
// brings where it has to do something when they fail. It makes new ones also where only the ports are others, which no task tells.
func watchOf(want, live *swarm.ServiceSpec) time.Duration {
	watch := time.Duration(0)
	if config := want.UpdateConfig; replicas(want.Mode) > replicas(live.Mode) ||
		config != nil && (config.FailureAction == swarm.UpdateFailureActionContinue || config.MaxFailureRatio > 0) {
		watch = monitorOf(want)
	}
	wanted, found := fields{}, fields{}
	wanted.endpoint(want.EndpointSpec)
	found.endpoint(live.EndpointSpec)
	if !wanted.equal(found) {
		watch = max(watch, settles)
	}
	return watch
}

// lost tells that somebody else writes to a service.
func (d *deployment) lost(ctx context.Context, service string) {
	d.engine.logger.Notice(ctx, "stack %s: somebody else writes to service %s", d.req.Name, service)
	if d.engine.notify != nil {
		d.engine.notify(service)
	}
}

// kept leaves as it is what no manifest says and whose change would replace every task.
func kept(want swarm.ServiceSpec, live *swarm.ServiceSpec) swarm.ServiceSpec {
	want.TaskTemplate.ForceUpdate = live.TaskTemplate.ForceUpdate
	had, has := live.TaskTemplate.ContainerSpec, want.TaskTemplate.ContainerSpec
	if had == nil || has == nil || tagged(had.Image) != tagged(has.Image) ||
		live.TaskTemplate.Placement == nil || len(live.TaskTemplate.Placement.Platforms) == 0 {
		return want
	}
	placement := swarm.Placement{}
	if want.TaskTemplate.Placement != nil {
		placement = *want.TaskTemplate.Placement
	}
	placement.Platforms = live.TaskTemplate.Placement.Platforms
	want.TaskTemplate.Placement = &placement
	return want
}
