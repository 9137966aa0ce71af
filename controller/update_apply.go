package controller

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/squadronctl/squadron/fleet"
	"github.com/squadronctl/squadron/internal/errmask"
)

// apply does what was decided, and moves on what is being taken away. All writes of a round have been answered, or given
// up, when it returns; one that failed for good ends the update.
func (r *updateRun) apply(ctx context.Context, d decision, compared comparison) {
	for _, id := range d.discard {
		r.takeUp(id, true)
	}
	for _, taken := range d.remove {
		if !r.keep(ctx, taken.id, compared.slices[taken.id]) {
			continue // it stays until its content is known
		}
		r.takeUp(taken.id, false)
		if taken.successor {
			r.owed++
		}
	}
	r.moveRemovals(ctx, compared)
	r.launch(ctx, d.launch, compared)
	r.create(ctx, d.add)
}

// launch starts slices of the new content that are there and were not asked to run.
func (r *updateRun) launch(ctx context.Context, ids []string, compared comparison) {
	owner := map[string]string{}
	var names []string
	for _, id := range ids {
		m, slice := r.memory[id], compared.slices[id]
		m.launched, m.unreadySince = true, time.Now()
		m.rising = r.waitForRunning(m.names())
		m.rising.cadence.last = time.Now()
		m.rising.judge.failedBefore = r.controller.failedUnits(slice.units)
		for _, detail := range slice.units {
			if m.material.loaded[baseOf(detail.Name)] {
				continue // it was not launched before either
			}
			names = append(names, detail.Name)
			owner[detail.Name] = id
		}
	}
	r.raise(ctx, "start", names, owner, r.controller.backend.Start)
}

// create makes new slices, straight to launched (R24).
func (r *updateRun) create(ctx context.Context, n int) {
	if n == 0 || ctx.Err() != nil {
		return
	}
	if goal, scales := r.target.(*scaling); scales && goal.unread() {
		r.owed = 0
		r.end(errNothingToMakeOf)
		return
	}
	ids, err := r.newIDs(n)
	if err != nil {
		r.end(err)
		return
	}
	owner := map[string]string{}
	var launched, loaded []string
	for _, id := range ids {
		id, m := r.newSlice(id)
		for _, name := range m.names() {
			owner[name] = id
			if m.material.loaded[baseOf(name)] {
				loaded = append(loaded, name)
			} else {
				launched = append(launched, name)
			}
		}
	}
	r.owed = max(0, r.owed-n)
	content := func(name string) string { return r.memory[owner[name]].material.contents[baseOf(name)] }
	r.raise(ctx, "submit", launched, owner, func(ctx context.Context, name string) error {
		return r.controller.backend.SubmitLaunched(ctx, name, content(name))
	})
	r.raise(ctx, "submit", loaded, owner, func(ctx context.Context, name string) error {
		return r.controller.backend.Submit(ctx, name, content(name))
	})
}

// newSlice takes up a slice that is about to be made. It gets the ID, unless it is of units that have none.
func (r *updateRun) newSlice(id string) (string, *sliceMemory) {
	m := newSliceMemory()
	m.material = r.target.next()
	if !m.material.sliced() {
		id = ""
	}
	for base := range m.material.contents {
		m.units[extendName(base, id)] = true
	}
	m.made, m.isNew, m.fresh, m.unreadySince = true, true, r.content.isOf(m.material), time.Now()
	m.rising = r.waitForRunning(m.names())
	m.rising.cadence.last = time.Now()
	r.memory[id], r.groupIDs[id], r.usedIDs[id] = m, true, true
	r.controller.births.note(r.req.Group, id)
	r.events.slice(id, PhaseSubmitting, false, nil)
	return id, m
}

// raise writes what new slices need to run. A slice of which a unit was not written has failed.
func (r *updateRun) raise(ctx context.Context, verb string, names []string, owner map[string]string, action unitAction) {
	if len(names) == 0 {
		return
	}
	r.log(ctx, "%s and run %s", verb, listNames(names))
	out, err := r.controller.forEach(ctx, verb, names, func(ctx context.Context, name string) error {
		r.events.unit(owner[name], name, PhaseSubmitting, nil)
		if err := action(ctx, name); err != nil {
			r.events.unit(owner[name], name, PhaseFailed, err)
			return &unitError{name: name, err: err}
		}
		r.events.unit(owner[name], name, PhaseStarting, nil)
		return nil
	})
	var failed *unitError
	if asUnitError(err, &failed) {
		r.failed(owner[failed.name], err)
	}
	for _, name := range without(names, out.done) {
		r.failed(owner[name], fmt.Errorf("%s was not written", name))
	}
}

// unitNames are the units that the request has for a slice.
func (r *updateRun) unitNames(id string) []string {
	names := make([]string, 0, len(r.req.Units))
	for _, unit := range r.req.Units {
		names = append(names, extendName(unit.Name, id))
	}
	return names
}

// newIDs gives IDs for n new slices: those that the request names and the group never had, then new ones. The slice of an
// instance group has none; what comes back may have been sliced before.
func (r *updateRun) newIDs(n int) ([]string, error) {
	if !r.content.sliced && !r.restores() {
		return []string{""}, nil
	}
	var ids []string
	for _, id := range r.req.SliceIDs {
		if !r.groupIDs[id] && len(ids) < n {
			ids = append(ids, id)
		}
	}
	taken := maps.Clone(r.usedIDs)
	for _, id := range ids {
		taken[id] = true
	}
	more, err := pickIDs(n-len(ids), taken.has)
	if err != nil {
		return nil, errmask.Maskf(err, "pick %d slice IDs", n)
	}
	return append(ids, more...), nil
}

// takeUp begins to take a slice away. A failed new one is not stopped first: there is nothing to be kept of it.
func (r *updateRun) takeUp(id string, destroyAtOnce bool) {
	m := r.memory[id]
	m.health.stop()
	r.events.slice(id, PhaseStopping, false, m.failure)
	m.removal = &removal{units: m.names(), destroying: destroyAtOnce, answered: map[string]bool{}, since: time.Now()}
	if destroyAtOnce {
		m.removal.steps = r.waitForGone(m.removal.units)
		return
	}
	w := r.controller.newWait(r.controller.newJudge(StatusStopped, StatusFailed, StatusNotFound))
	w.names, w.judge.stateless = m.removal.units, true
	m.removal.steps = w
}

func (r *updateRun) waitForGone(units []string) *wait {
	w := r.controller.newWait(r.controller.newJudge(StatusNotFound))
	w.names = units
	return w
}

// moveRemovals writes what each removal needs next: a stop for units that are still wanted to run, a destroy once all
// have stopped, and again for what is still there. Each write follows from a look, so one that got lost is repeated.
func (r *updateRun) moveRemovals(ctx context.Context, compared comparison) {
	var toStop, toDestroy []string
	owner := map[string]string{} // slice ID by unit
	for _, id := range slices.Sorted(maps.Keys(r.memory)) {
		out := r.memory[id].removal
		if out == nil || out.abandoned != nil {
			continue
		}
		stop, destroy := r.next(out, compared.slices[id])
		toStop, toDestroy = append(toStop, stop...), append(toDestroy, destroy...)
		for _, name := range slices.Concat(stop, destroy) {
			owner[name] = id
		}
		r.checkRemoval(id, out)
	}
	r.lower(ctx, "stop", toStop, owner, func(ctx context.Context, name string) error {
		r.events.unit(owner[name], name, PhaseStopping, nil)
		if err := r.controller.backend.Stop(ctx, name); !fleet.IsUnitNotFound(err) {
			return err
		}
		return nil
	})
	var mutex sync.Mutex
	r.lower(ctx, "destroy", toDestroy, owner, func(ctx context.Context, name string) error {
		err := r.controller.destroyUnit(ctx, name)
		if err == nil {
			mutex.Lock()
			defer mutex.Unlock()
			r.memory[owner[name]].removal.answered[name] = true
			r.events.unit(owner[name], name, PhaseDestroyed, nil)
		}
		return err
	})
}

// next says which units of a removal are to be stopped, and which destroyed, by what the last look showed of them.
func (r *updateRun) next(out *removal, slice *comparedSlice) (stop, destroy []string) {
	details := detailsByName(slice)
	if !out.destroying {
		launched := false
		for _, name := range out.units {
			if detail := details[name]; detail != nil && detail.Desired == "launched" {
				launched = true
				stop = out.ask(stop, name, r.counts)
			}
		}
		if launched {
			return stop, nil
		}
		if reached, _ := out.steps.take(details); !reached {
			return nil, nil
		}
		out.destroying, out.since, out.asked = true, time.Now(), nil
		out.steps = r.waitForGone(out.units)
	}
	for _, name := range out.units {
		if !out.answered[name] || details[name] != nil {
			destroy = out.ask(destroy, name, r.counts)
		}
	}
	return nil, destroy
}

// ask adds a unit to those that a step is written for: once, and again with the looks that count while it is still needed.
func (m *removal) ask(names []string, name string, counts bool) []string {
	if m.asked[name] && !counts {
		return names
	}
	if m.asked == nil {
		m.asked = map[string]bool{}
	}
	m.asked[name] = true
	return append(names, name)
}

// checkRemoval gives up on a removal that takes longer than WaitTimeout.
func (r *updateRun) checkRemoval(id string, out *removal) {
	limit := r.controller.config.WaitTimeout
	if time.Since(out.since) < limit {
		return
	}
	out.abandoned = errmask.Maskf(errWaitTimeoutReached, "slice %s is not gone after %v: %s", sliceName(id), limit, out.steps.judge.shortfall())
	r.end(out.abandoned)
}

// lower runs a step of removals. A temporary error is left to the next round; any other gives up on the slice.
func (r *updateRun) lower(ctx context.Context, verb string, names []string, owner map[string]string, action unitAction) {
	if len(names) == 0 {
		return
	}
	r.log(ctx, "%s %s", verb, listNames(names))
	_, err := r.controller.forEach(ctx, verb, names, func(ctx context.Context, name string) error {
		err := action(ctx, name)
		if err != nil && !fleet.IsTemporary(err) {
			return &unitError{name: name, err: err}
		}
		return nil
	})
	var failed *unitError
	if asUnitError(err, &failed) && ctx.Err() == nil {
		out := r.memory[owner[failed.name]].removal
		out.abandoned = errmask.Maskf(err, "slice %s", sliceName(owner[failed.name]))
		r.events.unit(owner[failed.name], failed.name, PhaseFailed, err)
		r.end(out.abandoned)
	}
}

// unitError keeps with an error which unit it is about.
type unitError struct {
	name string
	err  error
}

func (u *unitError) Error() string { return u.err.Error() }
func (u *unitError) Unwrap() error { return u.err }

func asUnitError(err error, target **unitError) bool {
	return errmask.Find(err, func(e error) bool {
		found, ok := e.(*unitError)
		if ok {
			*target = found
		}
		return ok
	})
}

func (r *updateRun) log(ctx context.Context, format string, args ...any) {
	r.controller.config.Logger.Info(ctx, "%s group %s: %s", r.verb, r.req.Group, fmt.Sprintf(format, args...))
}
