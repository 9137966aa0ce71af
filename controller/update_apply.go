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
)

// apply does what was decided, and moves on what is being taken away. All writes of a round have been answered when it
// returns; one that failed ends the update.
func (r *updateRun) apply(ctx context.Context, d decision, compared comparison) {
	for _, id := range d.launch {
		r.launch(ctx, id, compared.slices[id])
	}
	for _, id := range d.discard {
		r.takeUp(id, true)
	}
	for _, taken := range d.remove {
		r.takeUp(taken.id, false)
		if taken.successor {
			r.owed++
		}
	}
	r.moveRemovals(ctx, compared)
	r.create(ctx, d.add)
}

// launch starts a slice of the new content that is there and was not asked to run.
func (r *updateRun) launch(ctx context.Context, id string, slice *comparedSlice) {
	m := r.memory[id]
	m.launched, m.rising, m.unreadySince = true, nil, time.Now()
	m.rising = r.waitForRunning(slice)
	m.rising.judge.failedBefore = r.controller.failedUnits(slice.units)
	r.log(ctx, "launch slice %s", id)
	if _, err := r.controller.forEach(ctx, "start", namesOf(slice.units), r.controller.backend.Start); err != nil {
		m.failure = errmask.Maskf(err, "new slice %s", sliceName(id))
		r.end(m.failure)
	}
}

// takeUp begins to take a slice away. A failed new one is not stopped first: there is nothing to be kept of it.
func (r *updateRun) takeUp(id string, destroyAtOnce bool) {
	out := &removal{units: r.memory[id].names(), destroying: destroyAtOnce, since: time.Now()}
	r.memory[id].removal = out
	if destroyAtOnce {
		out.steps = r.waitForGone(out.units)
		return
	}
	w := r.controller.newWait(r.controller.newJudge(StatusStopped, StatusFailed, StatusNotFound))
	w.names, w.judge.stateless = out.units, true
	out.steps = w
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
		stop, destroy := out.next(compared.slices[id], r)
		toStop, toDestroy = append(toStop, stop...), append(toDestroy, destroy...)
		for _, name := range append(stop, destroy...) {
			owner[name] = id
		}
		r.checkRemoval(id, out)
	}
	r.write(ctx, "stop", toStop, owner, func(ctx context.Context, name string) error {
		if err := r.controller.backend.Stop(ctx, name); !fleet.IsUnitNotFound(err) {
			return err
		}
		return nil
	})
	r.write(ctx, "destroy", toDestroy, owner, r.controller.destroyUnit)
}

// next says which units of the removal are to be stopped, and which destroyed, by what the last look showed of them.
func (m *removal) next(slice *comparedSlice, r *updateRun) (stop, destroy []string) {
	details := detailsByName(slice)
	if !m.destroying {
		for _, name := range m.units {
			if detail := details[name]; detail != nil && detail.Desired == "launched" {
				stop = append(stop, name)
			}
		}
		if len(stop) > 0 {
			return stop, nil
		}
		if reached, _ := m.steps.take(details); !reached {
			return nil, nil
		}
		m.destroying, m.since = true, time.Now()
		m.steps = r.waitForGone(m.units)
	}
	for _, name := range m.units {
		if !m.asked || details[name] != nil {
			destroy = append(destroy, name)
		}
	}
	m.asked = true
	return nil, destroy
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

// write runs a step of removals. A temporary error is left to the next round; any other gives up on the slice.
func (r *updateRun) write(ctx context.Context, verb string, names []string, owner map[string]string, action unitAction) {
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
	if failed := (*unitError)(nil); asUnitError(err, &failed) && ctx.Err() == nil {
		id := owner[failed.name]
		r.memory[id].removal.abandoned = errmask.Maskf(err, "slice %s", sliceName(id))
		r.end(r.memory[id].removal.abandoned)
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

// create makes new slices, straight to launched (R24).
func (r *updateRun) create(ctx context.Context, n int) {
	if n == 0 || ctx.Err() != nil {
		return
	}
	ids, err := r.newIDs(n)
	if err != nil {
		r.end(err)
		return
	}
	contents := map[string]string{}
	owner := map[string]string{}
	var names []string
	for _, id := range ids {
		slice := &comparedSlice{id: id}
		for _, unit := range r.req.Units {
			name := unit.Name
			if r.content.sliced {
				name = extendName(unit.Name, id)
			}
			slice.units = append(slice.units, fleet.UnitDetail{UnitStatus: fleet.UnitStatus{Name: name}})
			contents[name], owner[name] = unit.Content, id
			names = append(names, name)
		}
		m := &sliceMemory{made: true, unreadySince: time.Now(), seenUnits: namesOf(slice.units)}
		r.memory[id] = m
		m.rising = r.waitForRunning(slice)
		r.usedIDs[id] = true
	}
	r.owed = max(0, r.owed-n)
	r.log(ctx, "create slices %s", strings.Join(ids, ", "))
	out, err := r.controller.forEach(ctx, "launch", names, func(ctx context.Context, name string) error {
		if err := r.controller.backend.SubmitLaunched(ctx, name, contents[name]); err != nil {
			return &unitError{name: name, err: err}
		}
		return nil
	})
	if err != nil {
		r.creationFailed(names, out, owner, err)
	}
}

// creationFailed marks the slices that were not created whole as failed. What of them was not even begun is not there.
func (r *updateRun) creationFailed(names []string, out outcome, owner map[string]string, err error) {
	r.end(err)
	for _, name := range without(names, out.done) {
		m := r.memory[owner[name]]
		m.failure = errmask.Maskf(err, "new slice %s", sliceName(owner[name]))
	}
	for id, m := range r.memory {
		if m.made && m.failure != nil && m.removal == nil {
			r.takeUp(id, true)
		}
	}
}

// newIDs gives IDs for n new slices: those that the request names and the cluster lacks, then new ones. The slice of an
// instance group has none.
func (r *updateRun) newIDs(n int) ([]string, error) {
	if !r.content.sliced {
		return []string{""}, nil
	}
	var ids []string
	for _, id := range r.req.SliceIDs {
		if !r.usedIDs[id] && len(ids) < n {
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

func (r *updateRun) log(ctx context.Context, format string, args ...any) {
	r.controller.config.Logger.Info(ctx, "update group %s: %s", r.req.Group, fmt.Sprintf(format, args...))
}
