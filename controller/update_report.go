package controller

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/squadronctl/squadron/internal/errmask"
)

// announce says in the log what is going to be replaced and why, and what will be left alone though it looks like the
// group's.
func (r *updateRun) announce(ctx context.Context) {
	for _, id := range slices.Sorted(maps.Keys(r.atCall.slices)) {
		if slice := r.atCall.slices[id]; !slice.isNew() && r.replaceable(id) {
			r.log(ctx, "to be replaced: %s", slice.why())
		}
	}
	if len(r.atCall.others) > 0 {
		r.controller.config.Logger.Warning(ctx, "update group %s: not in the request, and left alone: %s", r.req.Group, listNames(r.atCall.others))
	}
}

// fail ends an update that could not be carried through: new slices that have failed and are still there are destroyed,
// and the error says which slices are new, which are old, and what went wrong (R25).
func (r *updateRun) fail(ctx context.Context, cause error) error {
	cause = r.discardRest(ctx, r.withFailures(cause))
	return r.standing(cause)
}

// withFailures adds to the reason for an update's end what else has gone wrong.
func (r *updateRun) withFailures(cause error) error {
	causes := errorList{cause}
	add := func(err error) {
		if err != nil && !errmask.Has(causes, err) {
			causes = append(causes, err)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(r.memory)) {
		m := r.memory[id]
		add(m.failure)
		if m.removal != nil {
			add(m.removal.abandoned)
		}
	}
	for _, vanished := range r.vanished {
		add(vanished)
	}
	return causes
}

// UpdateFailure is the error of an update or a change of the number of slices that began and could not be carried through.
// It is found by errors.As in the error of the task, for which IsUpdateFailed is true.
type UpdateFailure struct {
	// Cause is what went wrong.
	Cause error
	// New, Old and Leaving are the IDs, sorted, of the slices that were there at the end: those of the request's content,
	// those of another, and those that were being removed. The ID of an instance group's only slice is empty. Under Force,
	// and after a Scale that named no units, all contents are alike: there New are the slices that it made, Old those found.
	New, Old, Leaving []string
	// RolledBack says that the old content was brought back, as UpdateOptions.Rollback asks: what had been taken away is
	// there again, and runs where it did before, and what the update had made is gone. Slices of the new content that were
	// found and launched stay launched.
	RolledBack bool
	// RollbackErr is why the old content could not be brought back, or not all of it. It is nil where that went well, and
	// where it was not asked for.
	RollbackErr error

	units string // of the old and the new content, where both are there
}

// Error says what went wrong, which slices there are, and what became of the rollback.
func (u *UpdateFailure) Error() string {
	text := fmt.Sprintf("%v: %v", errUpdateFailed, u.Cause)
	standing := "new slices: " + listSlices(u.New) + "; old slices: " + listSlices(u.Old)
	if len(u.Leaving) > 0 {
		standing += "; being removed: " + listSlices(u.Leaving)
	}
	switch {
	case u.RolledBack && len(u.New) > 0:
		return fmt.Sprintf("%s (rolled back to what was there before; %s)", text, standing)
	case u.RolledBack:
		return fmt.Sprintf("%s (rolled back: the old content is back; slices: %s)", text, listSlices(u.Old))
	case u.RollbackErr != nil:
		return fmt.Sprintf("%s; rolling back failed too: %v (%s; %s)", text, u.RollbackErr, standing, u.units)
	default:
		return fmt.Sprintf("%s (%s)", text, standing)
	}
}

// Unwrap gives what IsUpdateFailed looks for, the cause, and what kept the rollback.
func (u *UpdateFailure) Unwrap() []error {
	errs := []error{errUpdateFailed, u.Cause}
	if u.RollbackErr != nil {
		errs = append(errs, u.RollbackErr)
	}
	return errs
}

func listSlices(ids []string) string {
	names := make([]string, 0, len(ids))
	for _, id := range ids {
		names = append(names, sliceName(id))
	}
	return listNames(names)
}

// discardRest destroys the failed new slices that the update did not get to, under a context of its own. Those that may
// run for all that is known are left. Nothing else is under way any more, so these removals are not spread out.
func (r *updateRun) discardRest(ctx context.Context, cause error) error {
	var ids, names []string
	for _, id := range slices.Sorted(maps.Keys(r.memory)) {
		m := r.memory[id]
		if m.failure != nil && m.made && (m.down || m.absent > 0) {
			r.takeUp(id, true)
			ids, names = append(ids, id), append(names, m.names()...)
		}
	}
	left, err := r.controller.takeBack(ctx, names, cause)
	for _, id := range ids {
		if !slices.ContainsFunc(r.memory[id].names(), func(name string) bool { return slices.Contains(left, name) }) {
			delete(r.memory, id)
			r.events.slice(id, PhaseDestroyed, false, nil)
		}
	}
	return err
}

// standing says which slices there are, by what the last look showed.
func (r *updateRun) standing(cause error) *UpdateFailure {
	failure := &UpdateFailure{Cause: cause}
	var newUnits, oldUnits []string
	for _, id := range slices.Sorted(maps.Keys(r.memory)) {
		m := r.memory[id]
		isNew := r.hasNewContent(id, m)
		if isNew {
			newUnits = append(newUnits, m.names()...)
		} else {
			oldUnits = append(oldUnits, m.names()...)
		}
		switch {
		case m.removal != nil:
			failure.Leaving = append(failure.Leaving, id)
		case isNew:
			failure.New = append(failure.New, id)
		default:
			failure.Old = append(failure.Old, id)
		}
	}
	failure.units = fmt.Sprintf("units of the new content: %s; of the old: %s", listNames(newUnits), listNames(oldUnits))
	return failure
}

// hasNewContent says whether a slice is of what the update wants, whichever way the run leads.
func (r *updateRun) hasNewContent(id string, m *sliceMemory) bool {
	fresh := m.fresh && !r.opts.Force && !r.unnamed
	switch way, back := r.target.(*restoration); {
	case r.scales():
		return m.made || fresh
	case !back:
		return m.isNew
	case m.made:
		return fresh // what came back may have been new before
	default:
		return way.made[id] && !r.wasOld(id) || fresh
	}
}

// wasOld says whether a slice was there at the call and counted as old.
func (r *updateRun) wasOld(id string) bool {
	slice := r.atCall.slices[id]
	return slice != nil && (r.opts.Force || r.unnamed || !slice.isNew())
}
