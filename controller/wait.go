package controller

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/squadronctl/squadron/fleet"
	"github.com/squadronctl/squadron/internal/errmask"
)

// WaitForStatus implements Controller.
func (c *controller) WaitForStatus(ctx context.Context, req Request, closer <-chan struct{}, desiredStatuses ...Status) error {
	const operation = "wait for the status of group %s"
	ctx, leave, err := c.enter(ctx)
	if err != nil {
		return errmask.Maskf(err, operation, req.Group)
	}
	defer leave()
	if len(desiredStatuses) == 0 {
		return errmask.Maskf(errInvalidArgument, operation+": no status given", req.Group)
	}
	for _, status := range desiredStatuses {
		if !status.known() {
			return errmask.Maskf(errInvalidArgument, operation+": there is no status %q", req.Group, status)
		}
	}
	req = req.clone()
	if err := validateSelection(req); err != nil {
		return err
	}
	w := c.newWait(c.newJudge(slices.Clone(desiredStatuses)...))
	w.judge.oneshots = oneshotBases(req.Units)
	err = c.bounded(ctx, closer, w, func(ctx context.Context) error {
		if err := c.aim(ctx, w, req); err != nil {
			return err
		}
		return c.await(ctx, w)
	})
	return errmask.Maskf(err, operation, req.Group)
}

// wait is one wait for a status.
type wait struct {
	judge *judge
	// names are the units waited for. With a nil names it is all that match in each look: none left is not-found.
	names []string
	group string
	match func(fleet.UnitDetail) bool
	// listingsOnly keeps the wait from asking by name for a unit that a listing lacks: absence is what it waits for.
	listingsOnly bool

	cadence cadence
	inRow   int   // looks in a row in which all units had the status
	settles bool  // the next look may end the wait, if it shows what the last one did
	lookErr error // what the last look failed with, nil once one succeeds
	looked  bool  // some look has succeeded
}

func (c *controller) newWait(j *judge) *wait {
	return &wait{judge: j, listingsOnly: j.wants(StatusNotFound)}
}

// aim finds out which units a request's wait is about (R15): those named times the slice IDs, else those found.
func (c *controller) aim(ctx context.Context, w *wait, req Request) error {
	extended, err := req.ExtendSlices()
	if err != nil {
		return err
	}
	if len(extended.Units) > 0 && !slices.ContainsFunc(extended.Units, func(unit Unit) bool { return isTemplate(unit.Name) }) {
		for _, unit := range extended.Units {
			w.names = append(w.names, unit.Name)
		}
		return nil
	}
	found, err := c.find(ctx, req, false)
	for fleet.IsTemporary(err) && ctx.Err() == nil {
		w.lookErr = err
		if err = sleep(ctx, c.config.WaitSleep); err == nil {
			found, err = c.find(ctx, req, false)
		}
	}
	switch {
	case err == nil:
		w.names = namesOf(found)
	case (IsUnitNotFound(err) || IsUnitSliceNotFound(err)) && w.judge.wants(StatusNotFound):
		s := newSelection(req)
		w.group = req.Group
		w.match = func(detail fleet.UnitDetail) bool { return s.inGroup(detail) && s.inSlices(detail) }
	default:
		return err
	}
	return nil
}

// bounded runs f under a context that ends with ctx, with WaitTimeout, and with closer, and gives the error that the
// end of each stands for.
func (c *controller) bounded(ctx context.Context, closer <-chan struct{}, w *wait, f func(context.Context) error) error {
	ctx, cancel := context.WithTimeoutCause(ctx, c.config.WaitTimeout, errWaitTimeoutReached)
	defer cancel()
	ctx, end := context.WithCancelCause(ctx)
	watcher := make(chan struct{})
	go func() {
		defer close(watcher)
		select {
		case <-closer:
			end(errWaitClosed)
		case <-ctx.Done():
		}
	}()
	err := f(ctx)
	cause := context.Cause(ctx) // nil unless something ended it before f returned
	end(nil)
	<-watcher
	switch {
	case errmask.Has(err, errWaitTimeoutReached):
		return w.timeout(c.config.WaitTimeout)
	case err == nil || cause == nil:
		return err
	case !errmask.Has(err, cause) && !errmask.Has(err, ctx.Err()):
		return err
	case errmask.Has(cause, errWaitClosed):
		return nil
	default:
		return endOf(ctx)
	}
}

// errWaitClosed is the cause of a wait's end by its closer.
var errWaitClosed = errmask.Maskf(context.Canceled, "the wait was closed")

func (w *wait) timeout(after time.Duration) error {
	if w.lookErr != nil {
		return errmask.Maskf(bothErrors{errWaitTimeoutReached, w.lookErr}, "after %v, the last look having failed (%v)", after, w.lookErr)
	}
	if !w.looked {
		return errmask.Maskf(errWaitTimeoutReached, "after %v, in which no look at the cluster was answered", after)
	}
	return errmask.Maskf(errWaitTimeoutReached, "after %v, %s", after, w.judge.shortfall())
}

// await looks until all units have had one of the statuses WaitCount times in a row. Temporary errors of single looks
// don't end it (R18). Where the backend tells of changes, a look follows each, and looks that are to see the
// same follow closely: such a backend knows the states at first hand, and tells when they are others.
func (c *controller) await(ctx context.Context, w *wait) error {
	leave := c.observer.attend()
	defer leave()
	for {
		details, err := c.lookAt(ctx, w)
		switch {
		case ctx.Err() != nil:
			return endOf(ctx)
		case fleet.IsTemporary(err):
			w.lookErr, w.settles = err, false
			continue
		case err != nil:
			return err
		}
		w.lookErr, w.looked = nil, true
		reached, err := w.take(details)
		if reached || err != nil {
			return err
		}
	}
}

// take judges one look, and says whether the wait has come to its end.
func (w *wait) take(details map[string]*fleet.UnitDetail) (bool, error) {
	now := time.Now()
	counts := w.cadence.counts(now)
	names := w.names
	if names == nil {
		names = slices.Sorted(maps.Keys(details))
		w.judge.forgetOthers(details)
	}
	all := true
	var failed []string
	for _, name := range names {
		has, broken := w.judge.look(name, details[name], now, counts)
		all = all && has
		if broken {
			failed = append(failed, name)
		}
	}
	if len(failed) > 0 {
		return false, failureOf(w.judge, failed)
	}
	w.settles = all || w.judge.suspects(names)
	if !all {
		w.inRow = 0
		return false, nil
	}
	if counts {
		w.inRow++
	}
	return w.inRow >= w.judge.waitCount, nil
}

// cadence says which looks are counted where what was seen has to last. The zero value counts each look. One with an interval
// passes over those that follow a change more closely: they end what they show to be over, and confirm nothing.
type cadence struct {
	interval time.Duration
	last     time.Time // of what counted
}

// counts says whether a look at this time counts, and notes it where it does. Looks that begin an interval apart may end a little
// less apart.
func (c *cadence) counts(now time.Time) bool {
	if now.Sub(c.last) < c.interval*9/10 {
		return false
	}
	c.last = now
	return true
}

// pace is that of the wait's next look.
func (c *controller) pace(w *wait) lookPace {
	switch {
	case c.backend.watcher == nil:
		return patient
	case w.settles:
		return settling
	}
	return prompt
}

// lookAt takes one shared look, and gives the units of the wait that are there.
func (c *controller) lookAt(ctx context.Context, w *wait) (map[string]*fleet.UnitDetail, error) {
	if w.names != nil {
		return c.lookAtNames(ctx, w)
	}
	v, err := c.observer.look(ctx, fleet.Selector{Groups: []string{w.group}}, c.pace(w))
	if err != nil {
		return nil, err
	}
	details := map[string]*fleet.UnitDetail{}
	for i := range v.units {
		if w.match(v.units[i]) {
			details[v.units[i].Name] = &v.units[i]
		}
	}
	return details, nil
}

// lookAtNames takes one shared look at units that are known (R20a): what the listing lacks though it may be there is asked
// for by name, unless it is absence that is waited for.
func (c *controller) lookAtNames(ctx context.Context, w *wait) (map[string]*fleet.UnitDetail, error) {
	v, err := c.observer.look(ctx, fleet.Selector{Names: w.names}, c.pace(w))
	if err != nil {
		return nil, err
	}
	details := make(map[string]*fleet.UnitDetail, len(w.names))
	for _, name := range w.names {
		if detail := v.byName[name]; detail != nil {
			details[name] = detail
		}
	}
	if w.listingsOnly {
		return details, nil
	}
	asked, err := c.askByName(ctx, v, w.names)
	if err != nil {
		return nil, err
	}
	maps.Copy(details, asked)
	return details, nil
}

// askByName reads by name what a view may have skipped: the pages of the lists of units and of states both shift. Missing
// are a unit that is not in it, and the state of one that fleet says a machine has loaded. It gives those that are there.
func (c *controller) askByName(ctx context.Context, v view, names []string) (map[string]*fleet.UnitDetail, error) {
	var missing []string
	for _, name := range names {
		if detail := v.byName[name]; !v.whole && (detail == nil || lacksState(detail)) {
			missing = append(missing, name)
		}
	}
	if len(missing) == 0 {
		return nil, nil
	}
	listing, err := c.backend.ReadUnits(ctx, fleet.Selector{Names: missing, Exact: true})
	if err != nil {
		return nil, err
	}
	asked := make(map[string]*fleet.UnitDetail, len(missing))
	for i := range listing.Units {
		asked[listing.Units[i].Name] = &listing.Units[i]
	}
	return asked, nil
}

// lacksState says whether a unit's machine should have reported a state, and none was seen.
func lacksState(detail *fleet.UnitDetail) bool {
	return len(detail.Machine) == 1 && detail.Machine[0].SystemdActive == "" && detail.Current != "inactive"
}
