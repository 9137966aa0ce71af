package controller

import (
	"context"
	"fmt"
	"net"
	"runtime/debug"
	"slices"
	"time"

	"github.com/squadronctl/squadron/fleet"
	"github.com/squadronctl/squadron/internal/errmask"
)

// ReadyCheck says whether a new slice is ready to serve, beyond what systemd knows: nil where it is, else why it is not
// yet. Checks of several slices run at the same time, and one slice's one after the other. The context ends after 10 s,
// or when the update no longer wants to know; a check that does not heed it holds its goroutine, and the update's end
// for CleanupTimeout at most. A panic counts as not ready.
type ReadyCheck func(ctx context.Context, slice SliceStatus) error

// SliceStatus is one slice as a look has shown it.
type SliceStatus struct {
	// Group is the request's group.
	Group string
	// ID is the slice's ID, empty for an instance group.
	ID string
	// Units are the slice's units with their machines, sorted by name.
	Units []fleet.UnitStatus
}

// IPs are the addresses of the machines that the slice's units are on, each once, sorted. A machine without an address is
// left out.
func (s SliceStatus) IPs() []net.IP {
	var ips []net.IP
	for _, unit := range s.Units {
		for _, machine := range unit.Machine {
			if machine.IP != nil && !slices.ContainsFunc(ips, machine.IP.Equal) {
				ips = append(ips, machine.IP)
			}
		}
	}
	slices.SortFunc(ips, func(a, b net.IP) int { return slices.Compare(a.To16(), b.To16()) })
	return ips
}

// readyCheckTimeout is how long one call of a ReadyCheck may take.
const readyCheckTimeout = 10 * time.Second

// health is what a ReadyCheck says of one slice.
type health struct {
	passed bool  // the last call that ended returned nil
	err    error // else what it returned

	cancel context.CancelFunc // of the call under way; nil where none is
	answer chan error         // has the answer of the call under way
}

// healthy says whether a slice that runs is ready by its check too, and has the next call made.
func (r *updateRun) healthy(ctx context.Context, id string, m *sliceMemory, slice *comparedSlice, running bool) bool {
	switch {
	case r.opts.Ready == nil || r.restores():
		return running
	case !running:
		m.health.stop()
		return false
	}
	if m.health.cancel != nil {
		select {
		case err := <-m.health.answer:
			m.health.cancel()
			m.health = health{passed: err == nil, err: err}
		default:
			return m.health.passed
		}
	}
	if r.counts { // what changes elsewhere is no reason to call more often
		m.health.start(ctx, r, slice.status(r.req.Group, id))
	}
	return m.health.passed
}

// start makes one call of the check.
func (h *health) start(ctx context.Context, r *updateRun, slice SliceStatus) {
	ctx, h.cancel = context.WithTimeout(ctx, readyCheckTimeout)
	answer := make(chan error, 1)
	h.answer = answer
	r.checks.Add(1)
	go func() {
		defer r.checks.Done()
		answer <- r.controller.check(ctx, r.opts.Ready, slice)
	}()
}

// stop forgets what the check said, and ends the call under way.
func (h *health) stop() {
	if h.cancel != nil {
		h.cancel()
	}
	*h = health{}
}

// check calls a ReadyCheck, and turns a panic into an error.
func (c *controller) check(ctx context.Context, ready ReadyCheck, slice SliceStatus) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
			c.config.Logger.Critical(ctx, "check of slice %s of group %s: %v\n%s", sliceName(slice.ID), slice.Group, err, debug.Stack())
		}
	}()
	return errmask.Mask(ready(ctx, slice))
}

// status copies what a shared look holds of a slice.
func (s *comparedSlice) status(group, id string) SliceStatus {
	status := SliceStatus{Group: group, ID: id}
	for _, detail := range s.units {
		status.Units = append(status.Units, cloneStatus(detail.UnitStatus))
	}
	return status
}

// endChecks ends the calls that are under way, and waits for them.
func (r *updateRun) endChecks(ctx context.Context) {
	for _, m := range r.memory {
		m.health.stop()
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		r.checks.Wait()
	}()
	if !within(ended, r.controller.config.CleanupTimeout) {
		r.controller.config.Logger.Warning(ctx, "%s group %s: a ready check has not returned though its context has ended", r.verb, r.req.Group)
	}
}

// within says whether the channel is closed in time.
func within(done <-chan struct{}, limit time.Duration) bool {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-done:
		return true
	case <-timer.C:
		return false
	}
}
