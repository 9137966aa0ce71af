package systemd

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/squadronctl/squadron/fleet"
)

// submit writes a unit and has systemd load it. With launch it starts it as well, and leaves one alone that has this
// content already.
func (h *Host) submit(ctx context.Context, name, content string, launch bool) error {
	if err := checkName(name); err != nil {
		return err
	}
	options, err := parse(content)
	if err != nil {
		return err
	}
	detail, err := fleet.DetailOf(name, content)
	if err != nil {
		return err
	}
	requires := requirementsOf(name, options)
	unlock, err := h.names.Lock(ctx, name)
	if err != nil {
		return err
	}
	defer unlock()
	// After each change of a directory systemd reads the names of all unit files of the host before it loads a unit, so
	// units that are submitted side by side are loaded together.
	arrived := h.loads.expect()
	defer arrived()
	here, release, err := h.claim(ctx, requires, arrived)
	if err != nil {
		return err
	}
	defer release()
	old, state, err := h.find(ctx, name, here.present)
	if err != nil {
		return err
	}
	defer h.watches.changed()
	same := old != nil && old.detail.Hash == detail.Hash
	if !same || !launch {
		if !state.stopped() {
			arrived()
		}
		if err := h.quiet(ctx, name, state); err != nil {
			return err
		}
	}
	if !same {
		h.reportChangedByHand(ctx, name, old)
		written := &unitFile{content: content, signed: true, intact: true, detail: detail, asks: requires}
		if err := h.write(written); err != nil {
			return err
		}
	}
	if err := h.load(ctx, name, arrived); err != nil || !launch {
		return err
	}
	return h.run(ctx, name)
}

// write writes a unit's file, and remembers what it says.
func (h *Host) write(file *unitFile) error {
	name := file.detail.Name
	written, err := h.disk.write(h.disk.file(name), sign(file.content), h.step)
	if err != nil {
		return err
	}
	if id, there := h.disk.identify(name); there && id.sameText(written) {
		file.id = id
		h.facts.note(file)
	}
	return nil
}

// find gives the file of a unit that is about to be written, and systemd's state of it. A unit of somebody else's is an
// error; present is as for refuseForeign.
func (h *Host) find(ctx context.Context, name string, present map[string]bool) (*unitFile, unitState, error) {
	old, err := h.facts.read(h.disk, name)
	if err != nil {
		return nil, unitState{}, err
	}
	state, err := h.knowns.ask(ctx, name)
	if err != nil {
		return nil, unitState{}, err
	}
	return old, state, h.refuseForeign(ctx, name, state, old != nil, present)
}

// quiet brings a unit to loaded before it is replaced: not wanted, not running, and not failed either, since a failure
// of the old content would be taken for one of the new.
func (h *Host) quiet(ctx context.Context, name string, state unitState) error {
	if err := h.disk.unlaunch(name); err != nil {
		return err
	}
	h.step("not wanted")
	if !state.stopped() {
		if err := h.end(ctx, name); err != nil {
			return err
		}
		h.step("stopped")
	}
	if state.Load == "" || state.Load == loadNotFound {
		return nil
	}
	return h.manager.ResetFailed(ctx, name)
}

// load links the unit's file and sees to it that systemd has this text of it. Arrived is called when it has asked for
// that.
func (h *Host) load(ctx context.Context, name string, arrived func()) error {
	if err := h.disk.load(name); err != nil {
		return err
	}
	h.step("linked")
	if err := h.syncs.do(ctx, name); err != nil {
		return err
	}
	h.step("directories on disk")
	loading, err := h.loads.join(name)
	if err != nil {
		return err
	}
	arrived()
	absent, err := loading.await(ctx, name)
	if err == nil {
		err = absent
	}
	if err != nil {
		return err
	}
	h.step("loaded")
	return nil
}

// hold keeps other changes from a unit until it is released, and gives its file; nil where there is none of ours.
func (h *Host) hold(ctx context.Context, name string) (file *unitFile, release func(), err error) {
	if err := checkName(name); err != nil {
		return nil, nil, err
	}
	release, err = h.names.Lock(ctx, name)
	if err != nil {
		return nil, nil, err
	}
	if file, err = h.facts.read(h.disk, name); err != nil {
		release()
		return nil, nil, err
	}
	return file, release, nil
}

// change does something to a unit of ours.
func (h *Host) change(ctx context.Context, name string, do func(context.Context, string) error) error {
	file, release, err := h.hold(ctx, name)
	if err != nil {
		return err
	}
	defer release()
	if file == nil {
		return notFound(fmt.Errorf("unit not found: there is no %s", h.disk.file(name)))
	}
	if !h.disk.linked(name) {
		// Whatever systemd knows under this name may be somebody else's.
		if _, _, err := h.find(ctx, name, nil); err != nil {
			return err
		}
	}
	defer h.watches.changed()
	return do(ctx, name)
}

// launch sets the desired state to launched and starts the unit. What a submit that was cut off has left undone is done
// before.
func (h *Host) launch(ctx context.Context, name string) error {
	if err := h.load(ctx, name, func() {}); err != nil {
		return err
	}
	return h.run(ctx, name)
}

// run starts a unit that systemd has.
func (h *Host) run(ctx context.Context, name string) error {
	if err := h.readyTarget(); err != nil {
		return err
	}
	if err := h.disk.launch(name); err != nil {
		return err
	}
	h.step("wanted")
	if err := h.syncs.do(ctx, name); err != nil {
		return err
	}
	h.warnOfLogout(ctx)
	started, err := h.manager.Start(ctx, name)
	if err != nil {
		return err
	}
	h.step("started")
	result, err := h.await(ctx, started, h.config.Timeouts.Job)
	if err != nil {
		return err
	}
	h.logger.Debug(ctx, "systemd backend: %s is launched: %q", name, result)
	if result == "failed" {
		return h.hasFailed(ctx, name)
	}
	return startError(result)
}

func (h *Host) readyTarget() error {
	h.target.Lock()
	defer h.target.Unlock()
	return h.disk.ready(h.step)
}

// hasFailed gives an error where a start has failed and the unit's state does not tell: systemd has refused to begin.
func (h *Host) hasFailed(ctx context.Context, name string) error {
	state, err := h.knowns.ask(ctx, name)
	if err == nil && (state.Active == "" || state.Active == "inactive") {
		err = fmt.Errorf("systemd refused to start it: journalctl -u %s tells why", name)
	}
	return err
}

// startError tells a start that came to nothing where the unit's state does not: after done and failed it does, a job
// that was cancelled gave way to another, and one whose conditions are not met was skipped as the unit's file wants it.
func startError(result string) error {
	switch result {
	case jobPending, jobLost, "done", "failed", "canceled", "skipped":
		return nil
	case "dependency":
		return errors.New("a unit that it requires has failed")
	}
	return fmt.Errorf("systemd ended the start with %q", result)
}

// unload sets the desired state to loaded and stops the unit.
func (h *Host) unload(ctx context.Context, name string) error {
	if err := h.disk.unlaunch(name); err != nil {
		return err
	}
	h.step("not wanted")
	if err := h.syncs.do(ctx, name); err != nil {
		return err
	}
	stopped, err := h.manager.Stop(ctx, name)
	if err != nil || stopped == nil {
		return err
	}
	result, err := h.await(ctx, stopped, h.config.Timeouts.Job)
	h.logger.Debug(ctx, "systemd backend: %s is stopped: %q", name, result)
	return err
}

// end stops a unit and waits until it has stopped. A connection that breaks meanwhile is no reason to give up.
func (h *Host) end(ctx context.Context, name string) error {
	const attempts = 3
	for attempt := 1; ; attempt++ {
		stopped, err := h.manager.Stop(ctx, name)
		if err != nil || stopped == nil {
			return err
		}
		result, err := h.await(ctx, stopped, h.config.Timeouts.Stop)
		if err != nil {
			return err
		}
		switch result {
		case jobPending:
			return fleet.AsTemporary(fmt.Errorf("it has not stopped in %v", h.config.Timeouts.Stop))
		case "canceled":
			return fleet.AsTemporary(errors.New("its stop gave way to another job"))
		case jobLost:
			if attempt == attempts {
				return fleet.AsTemporary(errors.New("the connection to systemd broke while it stopped"))
			}
		case "done":
			return nil
		default:
			return h.hasEnded(ctx, name, result)
		}
	}
}

// hasEnded looks whether a unit has stopped though its job has come to another end.
func (h *Host) hasEnded(ctx context.Context, name, result string) error {
	state, err := h.knowns.ask(ctx, name)
	if err == nil && !state.stopped() {
		err = fleet.AsTemporary(fmt.Errorf("it is %s still, and its stop ended with %q", state.Active, result))
	}
	return err
}

// Results of a job that systemd does not know.
const (
	jobPending = ""     // it goes on
	jobLost    = "lost" // the connection broke, so nobody will tell
)

// await waits for the result of a job, for limit at most.
func (h *Host) await(ctx context.Context, job <-chan string, limit time.Duration) (result string, err error) {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case result, told := <-job:
		if !told {
			return jobLost, nil
		}
		return result, nil
	case <-timer.C:
		return jobPending, nil
	case <-ctx.Done():
		return jobPending, ctx.Err()
	}
}

func (h *Host) reportChangedByHand(ctx context.Context, name string, old *unitFile) {
	if old != nil && !old.intact {
		h.logger.Warning(ctx, "systemd backend: %s was changed by hand, and that is lost now", h.disk.file(name))
	}
}

// warnOfLogout tells once that the user's units end with the last session.
func (h *Host) warnOfLogout(ctx context.Context) {
	if !h.config.User {
		return
	}
	h.lingers.Do(func() {
		if user, lingers := h.host.lingers(); !lingers {
			h.logger.Warning(ctx, "systemd backend: user %s does not linger, so units end when the last session does, "+
				"and don't start at boot: loginctl enable-linger %s", user, user)
		}
	})
}
