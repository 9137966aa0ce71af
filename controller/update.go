package controller

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/squadronctl/squadron/fleet"
	"github.com/squadronctl/squadron/internal/errmask"
	"github.com/squadronctl/squadron/task"
)

// UpdateOptions are the bounds of a rolling update. They hold at every moment of it, for all slices of the request's
// unit bases together; only what fails or is lost without the update's doing takes the number of running slices below.
type UpdateOptions struct {
	// MaxGrowth is how many slices more than wanted (or than found, where there were more) there may be at any moment.
	// With 0 a slice is removed before its successor is created, else after the successor is ready.
	MaxGrowth int
	// MinAlive is how many slices run at least at any moment, and, above 0, how many are being removed at most. With 0 an
	// update with MaxGrowth 0 replaces all slices at once.
	MinAlive int
	// ReadySecs is for how many seconds a new slice must run, once it was seen running WaitCount times in a row, to count
	// as running.
	ReadySecs int
}

// maxReadySecs is a year, beyond which a cool-down can only be a mistake.
const maxReadySecs = 365 * 24 * 60 * 60

// Update implements Controller.
func (c *controller) Update(ctx context.Context, req Request, opts UpdateOptions) (*task.Task, error) {
	if err := c.ready(); err != nil {
		return nil, errmask.Maskf(err, "update group %s", req.Group)
	}
	req = req.clone()
	if err := validateUpdate(req); err != nil {
		return nil, err
	}
	if err := opts.validate(req); err != nil {
		return nil, errmask.Maskf(err, "update group %s", req.Group)
	}
	req, err := c.stamped(req)
	if err != nil {
		return nil, err
	}
	held, err := c.busy.reserve(req.Group)
	if err != nil {
		return nil, errmask.Maskf(bothErrors{err, errUpdateNotAllowed}, "update")
	}
	created, err := c.createUpdate(ctx, req, opts, held)
	if err != nil {
		held.release()
		return nil, err
	}
	held.setTask(created.ID)
	return created, nil
}

// createUpdate looks at the group, refuses what the options forbid, and creates the task, which releases the group.
func (c *controller) createUpdate(ctx context.Context, req Request, opts UpdateOptions, held *reservation) (*task.Task, error) {
	content, err := newGroupContent(req)
	if err != nil {
		return nil, err
	}
	if err := held.claim(content.bases()); err != nil {
		return nil, errmask.Maskf(bothErrors{err, errUpdateNotAllowed}, "update group %s", req.Group)
	}
	look, leave, err := c.enter(ctx)
	if err != nil {
		return nil, errmask.Maskf(err, "update group %s", req.Group)
	}
	defer leave()
	found, err := c.discover(look, fleet.Selector{Groups: []string{req.Group}}, near(req.Group))
	if err != nil {
		return nil, errmask.Maskf(err, "update group %s", req.Group)
	}
	run := c.newUpdateRun(req, opts, content, found)
	if err := run.allowed(); err != nil {
		return nil, errmask.Maskf(err, "update group %s", req.Group)
	}
	return c.createTask(ctx, "update group "+req.Group, func(ctx context.Context) error {
		defer held.release()
		return run.carryOut(ctx)
	})
}

// validate checks what can be told of the options without a look at the cluster.
func (o UpdateOptions) validate(req Request) error {
	var wrong []string
	for _, bound := range []struct {
		name        string
		value, most int
	}{{"MaxGrowth", o.MaxGrowth, maxSlices}, {"MinAlive", o.MinAlive, maxSlices}, {"ReadySecs", o.ReadySecs, maxReadySecs}} {
		if bound.value < 0 || bound.value > bound.most {
			wrong = append(wrong, fmt.Sprintf("%s is %d, and must be from 0 to %d", bound.name, bound.value, bound.most))
		}
	}
	if len(wrong) > 0 {
		return errmask.Maskf(errUpdateNotAllowed, "%s", strings.Join(wrong, "; "))
	}
	sliced := slices.ContainsFunc(req.Units, func(unit Unit) bool { return isTemplate(unit.Name) })
	if !sliced && o.MaxGrowth > 0 {
		return errmask.Maskf(errUpdateNotAllowed, "MaxGrowth is %d, and a group without slices can't grow: "+
			"it is updated in place, with MaxGrowth 0 and MinAlive 0", o.MaxGrowth)
	}
	return nil
}

// allowed refuses what the options forbid in the situation found.
func (r *updateRun) allowed() error {
	s := r.situationAtCall()
	if len(s.slices) == 0 && s.wanted == 0 {
		return nil // nothing found and no number given: the task says so
	}
	return s.refusal(len(r.named) > 0)
}

// refusal is why the options can't hold in a situation, nil where they can. named says that the request names the slices
// that may be replaced.
func (s situation) refusal(named bool) error {
	n := s.atCall()
	switch {
	case s.minAlive > n.alive:
		return errmask.Maskf(errUpdateNotAllowed, "MinAlive is %d, and only %d slices run now", s.minAlive, n.alive)
	case s.minAlive > s.wanted:
		return errmask.Maskf(errUpdateNotAllowed, "MinAlive is %d, and only %d slices are wanted", s.minAlive, s.wanted)
	case s.wanted < n.kept && named:
		return errmask.Maskf(errUpdateNotAllowed,
			"DesiredSlices is %d, and %d slices are not among the SliceIDs that may be removed", s.wanted, n.kept)
	case s.minAlive > s.wanted-n.keptDown:
		return errmask.Maskf(errUpdateNotAllowed,
			"MinAlive is %d, and of the %d slices wanted %d do not run and are not among the SliceIDs", s.minAlive, s.wanted, n.keptDown)
	case s.minAlive > 0 && s.minAlive == n.alive && s.maxGrowth == 0 && n.toReplace > 0 && n.idle == 0 && s.wanted <= s.found:
		// A slice that does not run, or is missing, would be a way to go on: it is replaced, launched or made first, and then
		// there is one more than MinAlive.
		return errmask.Maskf(errUpdateNotAllowed, "MinAlive is %d, which is all that run now, and MaxGrowth is 0: "+
			"no slice could go, and none could be added; allow one or the other", s.minAlive)
	}
	return nil
}

// callNumbers are what the refusals go by.
type callNumbers struct {
	alive     int // slices that run
	toReplace int // slices that may be replaced and are not as wanted
	idle      int // slices that may be replaced and do not run, whatever their content
	kept      int // slices that may not be replaced
	keptDown  int // of these, those that don't run
}

func (s situation) atCall() callNumbers {
	var n callNumbers
	for _, slice := range s.slices {
		if slice.running {
			n.alive++
		}
		switch {
		case !slice.replaceable:
			n.kept++
			if !slice.running {
				n.keptDown++
			}
			continue
		case !slice.running:
			n.idle++
		}
		if !slice.isNew {
			n.toReplace++
		}
	}
	return n
}

// namesOnlyMissing says whether the request names slices of which none is there, in a group that is not all new: what it
// is about has to be a mistake, or has been replaced already.
func (r *updateRun) namesOnlyMissing(s situation) bool {
	return len(r.req.SliceIDs) > 0 &&
		!slices.ContainsFunc(s.slices, func(v sliceView) bool { return v.replaceable }) &&
		slices.ContainsFunc(s.slices, func(v sliceView) bool { return !v.isNew })
}

// upToDate says whether there is nothing to do: as many slices as wanted, all right and launched.
func (r *updateRun) upToDate(s situation) bool {
	if len(s.slices) != s.wanted {
		return false
	}
	return !slices.ContainsFunc(s.slices, func(v sliceView) bool {
		return v.replaceable && (!v.isNew || !v.launched)
	})
}

// newUpdateRun prepares an update from what was found at the call. It touches nothing.
func (c *controller) newUpdateRun(req Request, opts UpdateOptions, content groupContent, found []fleet.UnitDetail) *updateRun {
	r := &updateRun{
		controller: c,
		req:        req,
		opts:       opts,
		content:    content,
		named:      stringSet(req.SliceIDs),
		contents:   map[string]string{},
		memory:     map[string]*sliceMemory{},
		groupIDs:   idSet{},
		usedIDs:    idSet{},
	}
	for _, unit := range req.Units {
		r.contents[unit.Name] = unit.Content
	}
	r.atCall = content.compare(found)
	r.noteIDs(found)
	for id, slice := range r.atCall.slices {
		r.memory[id] = newSliceMemory(namesOf(slice.units)...)
	}
	r.found = len(r.atCall.slices)
	r.wanted = req.DesiredSlices
	if r.wanted == 0 {
		r.wanted = max(r.found, len(req.SliceIDs))
	}
	return r
}

// situationAtCall is the situation before the update has done or waited for anything.
func (r *updateRun) situationAtCall() situation {
	s := r.newSituation()
	for _, id := range slices.Sorted(maps.Keys(r.atCall.slices)) {
		slice := r.atCall.slices[id]
		seen := r.controller.activityOf(slice, r.content.oneshots)
		s.slices = append(s.slices, sliceView{
			id:          id,
			isNew:       slice.isNew(),
			replaceable: r.replaceable(id),
			launched:    slice.launched(),
			running:     seen == activityRunning,
			down:        seen == activityDown,
		})
	}
	return s
}
