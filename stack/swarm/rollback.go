package swarm

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/moby/moby/api/types/swarm"
	"github.com/moby/moby/client"

	"github.com/squadronctl/squadron/internal/errmask"
	"github.com/squadronctl/squadron/stack/swarm/internal/compose"
)

// rolledBack remembers which revision of a service Swarm has rolled back.
type rolledBack struct {
	mutex     sync.Mutex
	revisions map[string]string // by the service's name
}

func (r *rolledBack) note(service, revision string) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.revisions[service] = revision
}

func (r *rolledBack) forget(service string) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	delete(r.revisions, service)
}

func (r *rolledBack) was(service, revision string) bool {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	return r.revisions[service] == revision
}

// isRollback says whether a service is being rolled back, or was.
func isRollback(state swarm.UpdateState) bool { return strings.HasPrefix(string(state), "rollback_") }

// barred gives which of these services are not to be written, and why: an error of IsRolledBack where there are any.
func (d *deployment) barred(ctx context.Context, changed []compose.Service) (barred []string, refused error) {
	var all []error
	for _, service := range changed {
		why, err := d.rolledBack(ctx, service)
		switch {
		case err != nil:
			return nil, err
		case why != nil:
			all, barred = append(all, why), append(barred, service.Spec.Name)
		}
	}
	return barred, errors.Join(all...)
}

// rolledBack gives why a service is not to be written: Swarm has rolled back just that, and the service is as Swarm left it. This
// process has seen it, or a task tells, or a process before this one recorded the manifest last, and the rollback came after that.
func (d *deployment) rolledBack(ctx context.Context, service compose.Service) (why, err error) {
	name := service.Spec.Name
	live, there := d.there.services[name]
	if !there || !isRollback(updateOf(&live).State) {
		return nil, nil
	}
	update := updateOf(&live)
	if d.engine.rolledBack.was(name, d.revisions[name]) {
		return rollbackError(name, update), nil
	}
	tried, err := d.hasTried(ctx, service, &live)
	if err != nil {
		return nil, err
	}
	if tried {
		d.engine.rolledBack.note(name, d.revisions[name])
		return rollbackError(name, update), nil
	}
	revisions, err := d.engine.config.Store.Revisions(ctx, d.req.Owner, d.req.Name)
	if err != nil {
		return nil, err
	}
	if len(revisions) == 0 || revisions[0].Manifest != d.req.Manifest || revisions[0].Time.After(timeOf(update)) {
		return nil, nil
	}
	if live.Spec.Labels[labelRevision] == d.revisions[name] {
		return nil, nil // Swarm went back to just this, and somebody has changed it since
	}
	d.engine.rolledBack.note(name, d.revisions[name])
	return rollbackError(name, update), nil
}

// hasTried says whether Swarm still has a task, made since the update began that it rolled back, of what would be written.
func (d *deployment) hasTried(ctx context.Context, service compose.Service, live *swarm.Service) (bool, error) {
	began := updateOf(live).StartedAt
	if began == nil {
		return false, nil
	}
	want := kept(d.resolved(service), &live.Spec).TaskTemplate
	if runsAs(want, live.Spec.TaskTemplate) {
		return false, nil // tasks don't tell one from the other
	}
	tasks, err := d.engine.api.TaskList(ctx, client.TaskListOptions{Filters: ofStack(d.req.Name)})
	if err != nil {
		return false, errmask.Maskf(err, "list the tasks")
	}
	return slices.ContainsFunc(tasks.Items, func(task swarm.Task) bool {
		return task.ServiceID == live.ID && !task.CreatedAt.Before(*began) && runsAs(task.Spec, want)
	}), nil
}

// timeOf is the latest that is known of an update.
func timeOf(update swarm.UpdateStatus) time.Time {
	at := valueOf(update.StartedAt, time.Time{})
	if ended := valueOf(update.CompletedAt, time.Time{}); ended.After(at) {
		return ended
	}
	return at
}

func rollbackError(service string, update swarm.UpdateStatus) error {
	return fmt.Errorf("service %s: %w by Swarm (%s: %s); the same is not written again while the service is in this state",
		service, errRolledBack, update.State, update.Message)
}
