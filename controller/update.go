package controller

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

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

	// Rollback brings the old content back when the update fails, by the same engine under the same bounds: what was
	// taken away is made again with the content that it had, which has been read before it was taken away, and what the
	// update made goes. The task has failed then all the same, and its error (see UpdateFailure) says that the old content
	// is back, or what is not. A cancelled update is not rolled back. A backend that can't read contents back
	// (fleet.ContentReader) makes it IsUpdateNotAllowed.
	Rollback bool
	// SliceTimeout is how long a new slice may take until it runs, ReadySecs not counted, before it counts as failed; by
	// default it is the controller's WaitTimeout.
	SliceTimeout time.Duration
	// Ready is asked of each new slice that runs, in each look, until it returns nil; only then do ReadySecs begin, and an
	// error during these begins them anew. Nil asks nothing beyond systemd. ReadyTCP and ReadyHTTP make such checks.
	Ready ReadyCheck
	// Force replaces slices of equal content too: a rolling restart. Slices that are there at the call count as old, and
	// those that the update makes as new. Called again after it was broken off, it begins anew.
	Force bool
	// Progress is told what happens, one event after the other, by one goroutine. It may take its time: the update does
	// not wait for it, but when it ends, at most CleanupTimeout for the last events. A panic in it is logged.
	Progress func(UpdateEvent)
}

// maxReadySecs is a year, beyond which a cool-down can only be a mistake.
const maxReadySecs = 365 * 24 * 60 * 60

// Update implements Controller.
func (c *controller) Update(ctx context.Context, req Request, opts UpdateOptions) (*task.Task, error) {
	req, content, err := c.checkUpdate(req, opts)
	if err != nil {
		return nil, err
	}
	return c.startRun(ctx, "update", req.Group, func() (*updateRun, error) {
		return c.lookBeforeUpdate(ctx, req, opts, content)
	})
}

// checkUpdate checks what can be told of an update without a look at the cluster.
func (c *controller) checkUpdate(req Request, opts UpdateOptions) (Request, groupContent, error) {
	if err := c.ready(); err != nil {
		return req, groupContent{}, errmask.Maskf(err, "update group %s", req.Group)
	}
	req = req.clone()
	if err := validateUpdate(req); err != nil {
		return req, groupContent{}, err
	}
	if err := c.allows(opts, isSliced(req)); err != nil {
		return req, groupContent{}, errmask.Maskf(err, "update group %s", req.Group)
	}
	files := unitFiles{}
	req, err := c.stamped(req, files)
	if err != nil {
		return req, groupContent{}, err
	}
	content, err := newGroupContent(req, files)
	return req, content, err
}

// lookBeforeUpdate makes the run of an update, unless its options are forbidden in what the cluster shows. It touches
// nothing.
func (c *controller) lookBeforeUpdate(ctx context.Context, req Request, opts UpdateOptions, content groupContent) (*updateRun, error) {
	look, leave, err := c.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	found, err := c.discover(look, fleet.Selector{Groups: []string{req.Group}}, near(req.Group))
	if err != nil {
		return nil, err
	}
	run := c.newUpdateRun(req, opts, content, found)
	return run, run.allowed()
}

// startRun makes a group busy, has a run made, and creates the task that carries it out and then releases the group.
func (c *controller) startRun(ctx context.Context, verb, group string, look func() (*updateRun, error)) (*task.Task, error) {
	held, err := c.busy.reserve(group)
	if err != nil {
		return nil, errmask.Maskf(bothErrors{err, errUpdateNotAllowed}, "%s", verb)
	}
	created, err := c.startHeld(ctx, verb+" group "+group, held, look)
	if err != nil {
		held.release()
		return nil, err
	}
	held.setTask(created.ID)
	return created, nil
}

func (c *controller) startHeld(ctx context.Context, operation string, held *reservation, look func() (*updateRun, error)) (*task.Task, error) {
	run, err := look()
	if err != nil {
		return nil, errmask.Maskf(err, "%s", operation)
	}
	if err := held.claim(run.bases()); err != nil {
		return nil, errmask.Maskf(bothErrors{err, errUpdateNotAllowed}, "%s", operation)
	}
	run.control = held.control
	return c.createTask(ctx, operation, func(ctx context.Context) error {
		defer held.release()
		return run.carryOut(ctx)
	})
}

func isSliced(req Request) bool {
	return slices.ContainsFunc(req.Units, func(unit Unit) bool { return isTemplate(unit.Name) })
}

// allows checks what can be told of the options without a look at the cluster.
func (c *controller) allows(opts UpdateOptions, sliced bool) error {
	if opts.Rollback && c.backend.ContentReader == nil {
		return errmask.Maskf(errUpdateNotAllowed, "Rollback is set, and a backend of type %T can't read back what is to be replaced", c.config.Fleet)
	}
	return opts.validate(sliced)
}

// validate checks what can be told of the options without a look at the cluster.
func (o UpdateOptions) validate(sliced bool) error {
	var wrong []string
	for _, bound := range []struct {
		name        string
		value, most int
	}{{"MaxGrowth", o.MaxGrowth, maxSlices}, {"MinAlive", o.MinAlive, maxSlices}, {"ReadySecs", o.ReadySecs, maxReadySecs}} {
		if bound.value < 0 || bound.value > bound.most {
			wrong = append(wrong, fmt.Sprintf("%s is %d, and must be from 0 to %d", bound.name, bound.value, bound.most))
		}
	}
	if o.SliceTimeout < 0 {
		wrong = append(wrong, fmt.Sprintf("SliceTimeout is %v, and must not be negative", o.SliceTimeout))
	}
	if len(wrong) > 0 {
		return errmask.Maskf(errUpdateNotAllowed, "%s", strings.Join(wrong, "; "))
	}
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
	return s.refusal(len(r.req.SliceIDs) > 0)
}

// nothingToDo says whether the run has ended before it began, and how.
func (r *updateRun) nothingToDo() (bool, error) {
	s := r.situationAtCall()
	switch {
	case s.wanted == 0:
		return true, errmask.Mask(errUnitNotFound)
	case r.scales():
		return len(s.slices) == s.wanted && s.atCall().toReplace == 0, nil
	case s.found >= s.wanted && r.namesOnlyMissing(s):
		return true, errmask.Maskf(errUnitSliceNotFound, "slices %s", strings.Join(r.req.SliceIDs, ", "))
	case r.upToDate(s):
		return true, errmask.Mask(errUnitsAlreadyUpToDate)
	}
	return false, nil
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
	case s.minAlive > s.wanted-n.settledDown(s.wanted):
		return errmask.Maskf(errUpdateNotAllowed,
			"MinAlive is %d, and of the %d slices wanted %d do not run and are left as they are", s.minAlive, s.wanted, n.settledDown(s.wanted))
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
	idle      int // slices that may be replaced and do not run, whatever their content, but those that are left alone
	kept      int // slices that may not be replaced
	keptDown  int // of these, those that don't run
	settled   int // slices that are as wanted and are left alone unless there are too many
	idleOfIt  int // of these, those that don't run
}

// settledDown is how many of the slices that are left alone, and don't run, there are at the end: they go first where
// there are too many.
func (n callNumbers) settledDown(wanted int) int {
	return max(0, n.idleOfIt-max(0, n.settled-wanted))
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
		case !slice.running && !(slice.isNew && slice.ready):
			n.idle++
		}
		switch {
		case !slice.isNew:
			n.toReplace++
		case slice.ready: // which only those are, before the first look
			n.settled++
			if !slice.running {
				n.idleOfIt++
			}
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
	r := c.newRun("update", req, opts, content, found)
	wanted := req.DesiredSlices
	if wanted == 0 {
		wanted = max(r.found, len(req.SliceIDs))
	}
	goal := &replacement{contents: contentsOf(req), named: stringSet(req.SliceIDs), slices: wanted, force: opts.Force, atCall: map[string]bool{}}
	for id := range r.atCall.slices {
		goal.atCall[id] = true
	}
	r.target = goal
	return r
}

// newRun prepares what all runs have in common; the target is yet to be set.
func (c *controller) newRun(verb string, req Request, opts UpdateOptions, content groupContent, found []fleet.UnitDetail) *updateRun {
	r := &updateRun{
		controller: c,
		verb:       verb,
		req:        req,
		opts:       opts,
		content:    content,
		atCall:     content.compare(found),
		control:    &updateControl{},
		memory:     map[string]*sliceMemory{},
		taken:      map[string]material{},
		groupIDs:   idSet{},
		usedIDs:    idSet{},
	}
	if opts.Rollback {
		r.archive = &archive{controller: c, texts: map[string]string{}}
	}
	r.noteIDs(found)
	for id, slice := range r.atCall.slices {
		r.memory[id] = r.newSliceMemory(id, namesOf(slice.units))
	}
	r.found = len(r.atCall.slices)
	return r
}

// contentsOf gives the request's contents by unit base.
func contentsOf(req Request) map[string]string {
	contents := make(map[string]string, len(req.Units))
	for _, unit := range req.Units {
		contents[unit.Name] = unit.Content
	}
	return contents
}

// situationAtCall is the situation before the update has done or waited for anything.
func (r *updateRun) situationAtCall() situation {
	s := r.newSituation()
	for _, id := range slices.Sorted(maps.Keys(r.atCall.slices)) {
		slice := r.atCall.slices[id]
		seen := r.controller.activityOf(slice, r.content.oneshots)
		s.slices = append(s.slices, sliceView{
			id:          id,
			isNew:       r.target.isNew(slice, false),
			replaceable: r.replaceable(id),
			launched:    slice.launched() || r.target.leavesAlone(),
			ready:       r.target.leavesAlone(),
			running:     seen == activityRunning,
			down:        seen == activityDown,
			age:         r.age(id),
		})
	}
	s.wanted = r.target.wanted(len(s.slices))
	return s
}
