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
	causes := []error{cause}
	for _, id := range slices.Sorted(maps.Keys(r.memory)) {
		m := r.memory[id]
		if m.failure != nil && !errmask.Has(cause, m.failure) {
			causes = append(causes, m.failure)
		}
		if m.removal != nil && m.removal.abandoned != nil && !errmask.Has(cause, m.removal.abandoned) {
			causes = append(causes, m.removal.abandoned)
		}
	}
	for _, vanished := range r.vanished {
		if !errmask.Has(cause, vanished) {
			causes = append(causes, vanished)
		}
	}
	cause = r.discardRest(ctx, errorList(causes))
	return errmask.Mask(&updateFailure{cause: cause, standing: r.standing()})
}

// updateFailure is an update that could not be carried through, why, and which slices there are now.
type updateFailure struct {
	cause    error
	standing string
}

func (u *updateFailure) Error() string {
	return fmt.Sprintf("%v: %v (%s)", errUpdateFailed, u.cause, u.standing)
}

func (u *updateFailure) Unwrap() []error { return []error{errUpdateFailed, u.cause} }

// discardRest destroys the failed new slices that the update did not get to, under a context of its own. Those that may
// run for all that is known are left. Nothing else is under way any more, so these removals are not spread out.
func (r *updateRun) discardRest(ctx context.Context, cause error) error {
	var names []string
	for _, id := range slices.Sorted(maps.Keys(r.memory)) {
		m := r.memory[id]
		if m.failure != nil && m.made && (m.down || m.absent > 0) {
			names = append(names, m.names()...)
			delete(r.memory, id)
		}
	}
	return r.controller.takeBack(ctx, names, cause)
}

// standing says which slices there are, by what the last look showed.
func (r *updateRun) standing() string {
	var fresh, old, leaving []string
	for _, id := range slices.Sorted(maps.Keys(r.memory)) {
		m := r.memory[id]
		switch {
		case m.removal != nil:
			leaving = append(leaving, sliceName(id))
		case m.isNew:
			fresh = append(fresh, sliceName(id))
		default:
			old = append(old, sliceName(id))
		}
	}
	text := fmt.Sprintf("new slices: %s; old slices: %s", listNames(fresh), listNames(old))
	if len(leaving) > 0 {
		text += "; being removed: " + listNames(leaving)
	}
	return text
}
