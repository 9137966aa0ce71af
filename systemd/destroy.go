package systemd

import (
	"context"
	"fmt"
)

// destroy removes a unit. Its file goes last: while it is there, a repeat does all of this again.
func (h *Host) destroy(ctx context.Context, name string) error {
	file, release, err := h.hold(ctx, name)
	if err != nil {
		return err
	}
	defer release()
	linked := h.disk.linked(name)
	if file == nil && !linked {
		return notFound(fmt.Errorf("unit not found: there is no %s", h.disk.file(name)))
	}
	state, err := h.knowns.ask(ctx, name)
	if err != nil {
		return err
	}
	theirs := false
	if !linked {
		err := h.refuseForeign(ctx, name, state, true, nil)
		if theirs = IsForeignUnit(err); err != nil && !theirs {
			return err
		}
	}
	defer h.watches.changed()
	h.reportChangedByHand(ctx, name, file)
	if !theirs {
		if err := h.withdraw(ctx, name, state); err != nil {
			return err
		}
	}
	if err := h.disk.remove(name); err != nil {
		return err
	}
	h.step("file removed")
	h.facts.forget(name)
	h.logger.Debug(ctx, "systemd backend: %s is destroyed", name)
	return h.syncs.do(ctx, name)
}

// withdraw takes a unit from systemd, so that nothing of it is left there.
func (h *Host) withdraw(ctx context.Context, name string, state unitState) error {
	if err := h.quiet(ctx, name, state); err != nil {
		return err
	}
	if err := h.disk.unload(name); err != nil {
		return err
	}
	h.step("link removed")
	if err := h.syncs.do(ctx, name); err != nil {
		return err
	}
	state, err := h.knowns.ask(ctx, name)
	if err != nil || state == (unitState{}) {
		return err
	}
	// Something that it knows still speaks of the unit.
	if err := h.reloads.do(ctx, name); err != nil {
		return err
	}
	h.step("reloaded")
	return h.manager.ResetFailed(ctx, name)
}
