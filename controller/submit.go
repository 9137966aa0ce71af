package controller

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/squadronctl/squadron/fleet"
	"github.com/squadronctl/squadron/internal/errmask"
	"github.com/squadronctl/squadron/task"
)

// Submit implements Controller.
func (c *controller) Submit(ctx context.Context, req Request) (*task.Task, error) {
	if err := c.ready(); err != nil {
		return nil, errmask.Maskf(err, "submit group %s", req.Group)
	}
	req = req.clone()
	if err := validateSubmit(req); err != nil {
		return nil, err
	}
	if err := c.busy.check(req.Group); err != nil {
		return nil, errmask.Maskf(err, "submit")
	}
	files := unitFiles{}
	req, err := c.stamped(req, files)
	if err != nil {
		return nil, err
	}
	return c.createTask(ctx, "submit group "+req.Group, func(ctx context.Context) error {
		return c.submit(ctx, req, files)
	})
}

func (c *controller) submit(ctx context.Context, req Request, files unitFiles) error {
	existing, err := c.discover(ctx, fleet.Selector{Groups: []string{req.Group}}, near(req.Group))
	if err != nil {
		return err
	}
	units, err := unitsToSubmit(req, existing)
	if err != nil {
		return err
	}
	contents := make(map[string]string, len(units))
	names := make([]string, 0, len(units))
	for _, unit := range units {
		contents[unit.Name] = unit.Content
		names = append(names, unit.Name)
	}
	there, err := checkConflicts(contents, existing, files)
	if err != nil {
		return err
	}
	c.config.Logger.Info(ctx, "submit group %s: %s", req.Group, listNames(names))
	out, err := c.forEach(ctx, "submit", names, func(ctx context.Context, name string) error {
		return c.backend.Submit(ctx, name, contents[name])
	})
	if err != nil {
		_, err = c.takeBack(ctx, without(out.tried, there), err)
		return err
	}
	for _, name := range without(names, there) {
		c.births.note(req.Group, sliceOf(name))
	}
	w := c.newWait(c.newJudge(StatusStopped))
	w.names = names
	if err := c.awaitBounded(ctx, w, "wait for stopped"); err != nil {
		return &explained{err: err, note: "submitted, and left to be looked at: " + listNames(names)}
	}
	return nil
}

// unitsToSubmit writes out the request's units: for its slice IDs, for new ones where it gives a number, or as they are
// for an instance group.
func unitsToSubmit(req Request, existing []fleet.UnitDetail) ([]Unit, error) {
	if len(req.SliceIDs) == 0 && slices.ContainsFunc(req.Units, func(unit Unit) bool { return isTemplate(unit.Name) }) {
		ids, err := pickIDs(req.DesiredSlices, takenIDs(existing).has)
		if err != nil {
			return nil, err
		}
		req.SliceIDs = ids
	}
	extended, err := req.ExtendSlices()
	return extended.Units, err
}

// takenIDs are the slice IDs that units near the group use, also those of a group whose name only begins alike: a new
// slice must not fall on anybody's.
func takenIDs(existing []fleet.UnitDetail) idSet {
	taken := make(idSet, len(existing))
	for _, detail := range existing {
		taken[sliceOf(detail.Name)] = true
	}
	return taken
}

// idSet is a set of slice IDs.
type idSet map[string]bool

func (s idSet) has(id string) bool { return s[id] }

// checkConflicts refuses to submit onto a unit of another content (R8), and gives the names that are there already.
func checkConflicts(contents map[string]string, existing []fleet.UnitDetail, files unitFiles) ([]string, error) {
	var there, conflicts []string
	for _, detail := range existing {
		content, wanted := contents[detail.Name]
		if !wanted {
			continue
		}
		there = append(there, detail.Name)
		file, err := files.of(content)
		if err != nil {
			return nil, errmask.Maskf(err, "%s", detail.Name)
		}
		switch hashOnCluster(detail) {
		case file.hash:
		case "":
			conflicts = append(conflicts, detail.Name+" (its content is not known)")
		default:
			conflicts = append(conflicts, detail.Name)
		}
	}
	if len(conflicts) > 0 {
		return nil, errmask.Maskf(errUnitConflict, "%s (nothing was written; Update replaces them)", listNames(conflicts))
	}
	return there, nil
}

// takeBack destroys what a call has created before its writes failed (R9), under a context of its own: the one at hand
// may be what ended the call. It gives the units that may be left, and the cause with what has become of the units.
func (c *controller) takeBack(ctx context.Context, created []string, cause error) ([]string, error) {
	if len(created) == 0 {
		return nil, cause
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), c.config.CleanupTimeout)
	defer cancel()
	var mutex sync.Mutex
	var left []string
	var errs []error
	_, err := c.forEach(ctx, "destroy", created, func(ctx context.Context, name string) error {
		if err := c.destroyUnit(ctx, name); err != nil {
			mutex.Lock()
			defer mutex.Unlock()
			left, errs = append(left, name), append(errs, err)
		}
		return nil // one that can't be destroyed is no reason to leave the others
	})
	if err != nil {
		left, errs = created, append(errs, err) // cut off, so any may be left
	}
	if len(errs) > 0 {
		slices.Sort(left)
		return left, &explained{err: cause, note: fmt.Sprintf("taking back what was created failed too, look after %s: %v",
			listNames(left), errorList(errs))}
	}
	return nil, &explained{err: cause, note: "what had been created, or may have been, is destroyed again: " + listNames(created)}
}
