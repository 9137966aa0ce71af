package units

import (
	"context"
	"errors"
	"fmt"

	"github.com/squadronctl/squadron/capability"
	"github.com/squadronctl/squadron/controller"
	"github.com/squadronctl/squadron/fleet"
	"github.com/squadronctl/squadron/internal/errmask"
	"github.com/squadronctl/squadron/stack"
	"github.com/squadronctl/squadron/task"
)

// boundsAttempts is how often the bounds are made anew where slices came up or failed between the look and the update.
const boundsAttempts = 3

// converge makes the group be as declared.
func (d *deployment) converge(ctx context.Context, found []fleet.UnitDetail) error {
	defer d.engine.lenses.put(d.req.Name, func(detail fleet.UnitDetail) bool {
		_, declared := d.hashes[baseOf(detail.Name)]
		return declared && detail.Owner == d.req.Owner
	})()
	for attempt := 1; ; attempt++ {
		opts := d.bounds(found)
		err := d.update(ctx, opts, d.manifest.wantedSlices(found))
		if attempt == boundsAttempts || !controller.IsUpdateNotAllowed(err) {
			return err
		}
		if found, err = d.look(ctx); err != nil {
			return err
		}
	}
}

// update runs one update to its end.
func (d *deployment) update(ctx context.Context, opts controller.UpdateOptions, wanted int) error {
	request := d.request
	request.DesiredSlices = wanted
	begun, err := d.engine.controller.Update(ctx, request, opts)
	if err != nil {
		return err
	}
	err = d.engine.outcome(ctx, begun)
	if controller.IsUnitsAlreadyUpToDate(err) {
		return nil
	}
	return err
}

// outcome waits for a task, and gives its error. When ctx ends the task is cancelled, and waited for all the same: nothing else
// may be done to the stack before.
func (c *core) outcome(ctx context.Context, begun *task.Task) error {
	final, err := c.controller.WaitForTask(ctx, begun.ID, nil)
	if err == nil {
		return final.Error
	}
	whole := context.WithoutCancel(ctx)
	if canceler, ok := c.tasks.(task.Canceler); ok {
		if cancelErr := canceler.Cancel(whole, begun.ID); cancelErr != nil {
			return err
		}
	}
	final, waitErr := c.controller.WaitForTask(whole, begun.ID, nil)
	switch {
	case waitErr != nil:
		return err
	case final.Error == nil:
		return nil // it was done before it heard
	}
	return fmt.Errorf("%w: %w", ctx.Err(), final.Error)
}

// mayReplaceItself refuses what would end the calling program half-way.
func (d *deployment) mayReplaceItself() error {
	if d.engine.hold == nil {
		return capability.ErrOwnStack
	}
	if !d.manifest.sliced() {
		return &stack.ManifestError{File: d.manifest.Units[0].Name, Err: errors.New("the controller's own stack has to have slices: " +
			"without, it would be stopped before its successor is there, and nobody be left to make that")}
	}
	return nil
}

// replaceItself updates the stack that the calling program runs in. When ctx ends the update is left behind, for Close to cut
// off: it may be waiting for the end of this very program.
func (d *deployment) replaceItself(ctx context.Context) error {
	ended := make(chan error, 1) // with room, for an update that is left behind
	go func() { ended <- d.updateItself(ctx) }()
	var err error
	select {
	case err = <-ended:
	case <-ctx.Done():
		err = ctx.Err()
	}
	return errmask.Maskf(err, "deploy stack %.256q, which this program runs in", d.req.Name)
}

func (d *deployment) updateItself(ctx context.Context) error {
	unlock, err := d.engine.locks.Lock(ctx, d.req.Name)
	if err != nil {
		return err
	}
	defer unlock()
	found, err := d.look(ctx)
	if err != nil {
		return err
	}
	return d.converge(ctx, found)
}
