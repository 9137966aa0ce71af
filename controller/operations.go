package controller

import (
	"context"
	"slices"

	"github.com/squadronctl/squadron/fleet"
	"github.com/squadronctl/squadron/internal/errmask"
	"github.com/squadronctl/squadron/task"
)

// Start implements Controller.
func (c *controller) Start(ctx context.Context, req Request) (*task.Task, error) {
	return c.operate(ctx, "start", req, c.start)
}

// Stop implements Controller.
func (c *controller) Stop(ctx context.Context, req Request) (*task.Task, error) {
	return c.operate(ctx, "stop", req, c.stop)
}

// Destroy implements Controller.
func (c *controller) Destroy(ctx context.Context, req Request) (*task.Task, error) {
	return c.operate(ctx, "destroy", req, c.destroy)
}

// unitsAction carries an operation out on the units found.
type unitsAction func(ctx context.Context, req Request, found []fleet.UnitDetail) error

// operate checks a request that selects units on the cluster, and carries it out in a task.
func (c *controller) operate(ctx context.Context, verb string, req Request, carryOut unitsAction) (*task.Task, error) {
	if err := c.ready(); err != nil {
		return nil, errmask.Maskf(err, "%s group %s", verb, req.Group)
	}
	req = req.clone()
	if err := validateSelection(req); err != nil {
		return nil, err
	}
	if err := c.busy.check(req.Group); err != nil {
		return nil, errmask.Maskf(err, "%s", verb)
	}
	return c.createTask(ctx, verb+" group "+req.Group, func(ctx context.Context) error {
		found, err := c.find(ctx, req, true)
		if err != nil {
			return err
		}
		if err := c.busy.checkUnits(namesOf(found)); err != nil {
			return err
		}
		c.config.Logger.Info(ctx, "%s group %s: %s", verb, req.Group, listNames(namesOf(found)))
		return carryOut(ctx, req, found)
	})
}

func (c *controller) start(ctx context.Context, req Request, found []fleet.UnitDetail) error {
	if err := allUnitsThere(req, found); err != nil {
		return err
	}
	names := namesOf(found)
	w := c.newWait(c.newJudge(StatusRunning))
	w.names = names
	w.judge.oneshots = oneshotBases(req.Units)
	w.judge.failedBefore = c.failedUnits(found)
	if _, err := c.forEach(ctx, "start", names, c.backend.Start); err != nil {
		return err
	}
	return c.awaitBounded(ctx, w, "wait for running")
}

func (c *controller) stop(ctx context.Context, _ Request, found []fleet.UnitDetail) error {
	names := namesOf(found)
	if _, err := c.forEach(ctx, "stop", names, c.backend.Stop); err != nil {
		return err
	}
	w := c.newWait(c.newJudge(StatusStopped, StatusFailed))
	w.names = names
	w.judge.stateless = true
	return c.awaitBounded(ctx, w, "wait for stopped")
}

func (c *controller) destroy(ctx context.Context, _ Request, found []fleet.UnitDetail) error {
	names := namesOf(found)
	if _, err := c.forEach(ctx, "destroy", names, c.destroyUnit); err != nil {
		return err
	}
	return c.awaitGone(ctx, names)
}

// awaitGone waits until WaitCount looks in a row lack the units (R10): listings, or, where a backend finds that cheaper for few
// units among many, reads by name, which miss nothing that is there.
func (c *controller) awaitGone(ctx context.Context, names []string) error {
	w := c.newWait(c.newJudge(StatusNotFound))
	w.names = names
	return c.awaitBounded(ctx, w, "wait for not found")
}

// destroyUnit removes one unit. One that is gone already is no error. Where the answer was lost, the unit is asked for
// by name: it may have been removed all the same.
func (c *controller) destroyUnit(ctx context.Context, name string) error {
	err := c.backend.Destroy(ctx, name)
	if err == nil || fleet.IsUnitNotFound(err) {
		return nil
	}
	if fleet.IsTemporary(err) && ctx.Err() == nil {
		if _, lookErr := c.backend.GetStatus(ctx, name); fleet.IsUnitNotFound(lookErr) {
			return nil
		}
	}
	return err
}

func (c *controller) awaitBounded(ctx context.Context, w *wait, what string) error {
	err := c.bounded(ctx, nil, w, func(ctx context.Context) error { return c.await(ctx, w) })
	return errmask.Maskf(err, "%s", what)
}

// allUnitsThere refuses to start half a slice: each unit that the request names has to be in each slice found.
func allUnitsThere(req Request, found []fleet.UnitDetail) error {
	there := map[string]bool{}
	ids := map[string]bool{}
	for _, detail := range found {
		there[detail.Name] = true
		ids[sliceOf(detail.Name)] = true
	}
	var missing []string
	for _, unit := range req.Units {
		if !isTemplate(unit.Name) {
			if !there[unit.Name] {
				missing = append(missing, unit.Name)
			}
			continue
		}
		for id := range ids {
			if name := extendName(unit.Name, id); !there[name] {
				missing = append(missing, name)
			}
		}
	}
	if len(missing) == 0 {
		return nil
	}
	slices.Sort(missing)
	return errmask.Maskf(errUnitNotFound, "%s", listNames(missing))
}

// failedUnits are those of the units that are failed as they stand.
func (c *controller) failedUnits(details []fleet.UnitDetail) map[string]bool {
	failed := map[string]bool{}
	for _, detail := range details {
		for _, machine := range detail.Machine {
			status, err := c.aggregator.AggregateStatus(detail.Current, detail.Desired, machine.SystemdActive, machine.SystemdSub)
			// A unit that was stopped after it had failed still counts for systemd as failed, whatever fleet makes of it.
			if machine.SystemdActive == "failed" || (err == nil && status == StatusFailed) {
				failed[detail.Name] = true
			}
		}
	}
	return failed
}

// oneshotBases are the bases of those units that are services of Type=oneshot without RemainAfterExit.
func oneshotBases(units []Unit) map[string]bool {
	bases, files := map[string]bool{}, unitFiles{}
	for _, unit := range units {
		if file, err := files.of(unit.Content); err == nil && file.oneshotAs(unit.Name) {
			bases[baseOf(unit.Name)] = true
		}
	}
	return bases
}
