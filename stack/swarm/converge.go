package swarm

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/moby/moby/api/types/swarm"

	"github.com/squadronctl/squadron/internal/errmask"
	"github.com/squadronctl/squadron/stack/swarm/internal/compose"
)

// waiting is how far a service is that a deployment waits for.
type waiting struct {
	name, revision string
	done           bool
	lost           bool // Swarm rolls back, or has, and what is there is not the manifest's
	err            error
	// dead is the task that was the newest of a copy at the last look, and had ended.
	dead map[string]bool
	best int
	last swarm.UpdateState
	// watch is for how long all copies have to run before they count.
	watch  time.Duration
	steady time.Time       // since when all copies run
	ran    map[string]bool // the tasks that did at the last look, by ID
}

const (
	// monitors is for how long Swarm watches the tasks of an update where nothing else is said.
	monitors = 5 * time.Second
	// settles is how long Swarm may take to begin with what was written. So long a global service without tasks is not taken for one
	// that has no node to be on, and tasks that a service's ports make stale not for those that it is to have.
	settles = 5 * time.Second
	// justStarted is the age below which a task that came after one that has ended may be about to end as well.
	justStarted = time.Minute
)

// probation is for how long all copies have to run before they count. Swarm watches those that an update brings for as long as the
// service's update_config says, and others not at all; those that this deployment brings are watched as long, and those of a
// service that it finds with a task that has just come after one that ended.
func (w *waiting) probation(service *swarm.Service, found copies) time.Duration {
	switch {
	case service.Spec.Mode.Global != nil && len(found.all) == 0:
		return settles
	case found.desired == 0:
		return 0
	case slices.ContainsFunc(found.all, copyOf.mayEndAgain):
		return max(w.watch, monitorOf(&service.Spec))
	}
	return w.watch
}

// monitorOf is for how long Swarm watches the tasks that an update of a service brings.
func monitorOf(spec *swarm.ServiceSpec) time.Duration {
	if spec.UpdateConfig != nil && spec.UpdateConfig.Monitor > 0 {
		return spec.UpdateConfig.Monitor
	}
	return monitors
}

// converge waits until all services that the manifest declares run as it says, but those named, or can't.
func (d *deployment) converge(ctx context.Context, but []string) error {
	var all []*waiting
	for _, service := range d.made.Services {
		if name := service.Spec.Name; !slices.Contains(but, name) {
			all = append(all, &waiting{name: name, revision: d.revisions[name], dead: map[string]bool{}, watch: d.watch[name]})
		}
	}
	if len(all) == 0 {
		return nil
	}
	progress := time.Now()
	var there look
	for {
		now, err := d.engine.lookAt(ctx, d.req.Name)
		if err != nil {
			return errmask.Maskf(err, "wait for the services%s", listOpen(there, all))
		}
		there = now
		moved, open, err := d.judge(ctx, there, all)
		if err != nil {
			return err
		}
		if moved {
			progress = time.Now()
		}
		if open == 0 || time.Since(progress) >= d.engine.config.WaitTimeout+longestPause(there, all) {
			return d.outcome(there, all)
		}
		if err := pause(ctx, d.engine.config.PollInterval); err != nil {
			return errmask.Maskf(err, "wait for the services%s", listOpen(there, all))
		}
	}
}

// longestPause is how long services that are waited for may do nothing by what their specs say.
func longestPause(there look, all []*waiting) time.Duration {
	longest := time.Duration(0)
	for _, w := range all {
		service, found := there.service(w.name)
		if w.done || !found {
			continue
		}
		if !w.steady.IsZero() {
			longest = max(longest, w.watch)
		}
		if !isMoving(&service) {
			continue
		}
		for _, config := range []*swarm.UpdateConfig{service.Spec.UpdateConfig, service.Spec.RollbackConfig} {
			if config != nil {
				longest = max(longest, config.Delay+config.Monitor)
			}
		}
	}
	return longest
}

// judge looks at each service that is waited for.
func (d *deployment) judge(ctx context.Context, there look, all []*waiting) (moved bool, open int, err error) {
	for _, w := range all {
		if w.done {
			continue
		}
		service, found := there.service(w.name)
		if !found {
			w.done, w.err = true, fmt.Errorf("service %s: %w: somebody else has removed it", w.name, errUnconverged)
			continue
		}
		if isRollback(updateOf(&service).State) {
			if w.lost, err = d.isAnother(ctx, &service); err != nil {
				return false, 0, err
			}
		}
		if w.look(&service, there.copies(&service)) {
			moved = true
		}
		if IsRolledBack(w.err) {
			d.engine.rolledBack.note(w.name, w.revision)
		}
		if !w.done {
			open++
		}
	}
	return moved, open, nil
}

// isAnother says whether a service is not what the manifest says, though its label may say so: Swarm goes back to what was there
// before a write, and that may be what somebody had changed by hand.
func (d *deployment) isAnother(ctx context.Context, service *swarm.Service) (bool, error) {
	for _, made := range d.made.Services {
		if made.Spec.Name == service.Spec.Name {
			return d.differsFrom(ctx, d.resolved(made), &service.Spec)
		}
	}
	return false, nil
}

// look judges one service, and says whether it has come further than ever.
func (w *waiting) look(service *swarm.Service, found copies) (moved bool) {
	update := updateOf(service)
	current, runs := 0, map[string]bool{}
	for _, one := range found.all {
		if one.state == copyRunning && runsAs(one.newest.Spec, service.Spec.TaskTemplate) {
			current++
			runs[one.newest.ID] = true
			if !w.ran[one.newest.ID] { // one that has come in another's place since the last look
				w.steady = time.Time{}
			}
		}
	}
	w.ran = runs
	moved = update.State != w.last || current > w.best
	w.last, w.best = update.State, max(w.best, current)
	switch update.State {
	case swarm.UpdateStatePaused:
		w.fail(found, "the update was paused: %s", update.Message)
	case swarm.UpdateStateRollbackPaused, swarm.UpdateStateRollbackCompleted:
		if w.lost {
			w.done, w.err = true, rollbackError(w.name, update)
			return moved
		}
		if update.State == swarm.UpdateStateRollbackPaused {
			w.fail(found, "the rollback was paused: %s", update.Message)
		}
	case swarm.UpdateStateUpdating, swarm.UpdateStateRollbackStarted:
		w.steady = time.Time{}
		return moved
	}
	if w.done {
		return moved
	}
	if current >= found.desired && service.Spec.Labels[labelRevision] == w.revision {
		if w.steady.IsZero() {
			w.steady = time.Now()
		}
		w.done = time.Since(w.steady) >= w.probation(service, found)
		return moved
	}
	w.steady = time.Time{}
	w.bury(found)
	return moved
}

// bury gives up a service of which a task has ended and, since the last look, no other has come in its place.
func (w *waiting) bury(found copies) {
	ended := map[string]bool{}
	for _, one := range found.all {
		state := one.newest.Status.State
		if one.state != copyFailed || state != swarm.TaskStateComplete && !isFailed(state) {
			continue
		}
		if ended[one.newest.ID] = true; w.dead[one.newest.ID] {
			w.fail(found, "a task has ended, and Swarm starts no other")
			return
		}
	}
	w.dead = ended
}

// fail gives a service up.
func (w *waiting) fail(found copies, format string, args ...any) {
	w.done, w.err = true, fmt.Errorf("service %s: %w: %d of %d run; %s%s", w.name, errUnconverged, found.count(copyRunning), found.desired,
		fmt.Sprintf(format, args...), because(found))
}

func because(found copies) string {
	if why := found.newestFailure(); why != "" {
		return ": " + why
	}
	return ""
}

// outcome is the error of those services that don't run as they should.
func (d *deployment) outcome(there look, all []*waiting) error {
	var errs []error
	for _, w := range all {
		if service, found := there.service(w.name); !w.done && found {
			w.fail(there.copies(&service), "nothing has moved for %s%s", d.engine.config.WaitTimeout+longestPause(there, all), underWay(updateOf(&service)))
		}
		errs = append(errs, w.err)
	}
	return errors.Join(errs...)
}

func underWay(update swarm.UpdateStatus) string {
	if update.State == "" || update.State == swarm.UpdateStateCompleted {
		return ""
	}
	return fmt.Sprintf(" (%s: %s)", update.State, update.Message)
}

// listOpen says what is still waited for.
func listOpen(there look, all []*waiting) string {
	var parts []string
	for _, w := range all {
		if service, found := there.service(w.name); !w.done && found {
			state := there.state(&service)
			parts = append(parts, fmt.Sprintf("%s is %s, %d of %d run", w.name, state.Status, state.Running, state.Desired))
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return " (" + strings.Join(parts, "; ") + ")"
}

// runsAs says whether a task was made of what a service now says. Where a task may be placed is no part of that: Swarm leaves a
// task that is where it may be.
func runsAs(task, template swarm.TaskSpec) bool {
	task.Placement, template.Placement = nil, nil
	if task.ForceUpdate != template.ForceUpdate {
		return false
	}
	if reflect.DeepEqual(task, template) {
		return true
	}
	of := func(spec swarm.TaskSpec) fields { return fieldsOf(&swarm.ServiceSpec{TaskTemplate: spec}) }
	return of(task).equal(of(template))
}

// names are those of services.
func names(services []compose.Service) []string {
	var all []string
	for _, service := range services {
		all = append(all, service.Spec.Name)
	}
	return all
}
