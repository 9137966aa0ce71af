package fleettest

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"github.com/squadronctl/squadron/fleet"
)

// contractRules are about what the operations of fleet.Fleet do.
func contractRules() []backendRule {
	return []backendRule{
		{
			name:  "absent unit",
			why:   "only IsUnitNotFound tells a unit that is not there from one that could not be asked about",
			check: checkAbsent,
		}, {
			name:  "bad name",
			why:   "a name that can't be a unit's gives an error of IsInvalidRequest, lest callers try it again",
			check: checkBadName,
		}, {
			name:  "submit",
			why:   "a submitted unit is there, desired and in the end loaded, and not started",
			check: checkSubmit,
		}, {
			name:  "start",
			why:   "a started unit is desired and in the end launched, and active",
			check: checkStart,
		}, {
			name:  "stop",
			why:   "a stopped unit is still there, desired and in the end loaded, and not active",
			check: checkStop,
		}, {
			name:  "submit again",
			why:   "the same content again changes nothing but the desired state, which becomes loaded",
			check: checkSubmitAgain,
		}, {
			name:  "replace",
			why:   "another content replaces the one before it, and machines report its hash in the end",
			check: checkReplace,
		}, {
			name:  "destroy",
			why:   "a destroyed unit is gone in the end, and a second Destroy finds none",
			check: checkDestroy,
		}, {
			name:  "create again",
			why:   "a name is free as soon as its unit was destroyed, whatever lingers of that",
			check: checkCreateAgain,
		}, {
			name:  "ended context",
			why:   "a caller whose context has ended wants nothing done any more, and finds the context's error in the chain",
			check: checkEndedContext,
		}, {
			name:  "side by side",
			why:   "the controller calls from many goroutines at once",
			check: checkSideBySide,
		},
	}
}

func checkAbsent(r *ruleRun) {
	name := r.unit("@1.service")
	_, err := r.backend.GetStatus(r.ctx, name)
	for _, call := range []struct {
		name string
		err  error
	}{
		{"GetStatus", err},
		{"Start", r.backend.Start(r.ctx, name)},
		{"Stop", r.backend.Stop(r.ctx, name)},
		{"Destroy", r.backend.Destroy(r.ctx, name)},
	} {
		if !fleet.IsUnitNotFound(call.err) || fleet.IsTemporary(call.err) {
			r.failf("%s of a unit that is not there gives %v, which has to be of IsUnitNotFound and not of IsTemporary", call.name, call.err)
		}
	}
}

func checkBadName(r *ruleRun) {
	for _, name := range []string{"", "no-suffix", "a b.service", "a/b.service", ".." + "/x.service"} {
		err := r.backend.Submit(r.ctx, name, r.content(1))
		if !fleet.IsInvalidRequest(err) {
			r.failf("submit of unit name %q gives %v, which is not of IsInvalidRequest", name, err)
		}
	}
}

// is says what a status has to be, in fleet's states and systemd's.
func is(state string, active bool) func(fleet.UnitStatus) bool {
	return func(s fleet.UnitStatus) bool {
		if s.Desired != state || s.Current != state || len(s.Machine) == 0 {
			return false
		}
		for _, m := range s.Machine {
			if m.SystemdActive == "" || active != (m.SystemdActive == "active") {
				return false
			}
		}
		return true
	}
}

// hasHash says that all machines report a content.
func hasHash(hash string) func(fleet.UnitStatus) bool {
	return func(s fleet.UnitStatus) bool {
		for _, m := range s.Machine {
			if m.UnitHash != hash {
				return false
			}
		}
		return len(s.Machine) > 0
	}
}

func checkSubmit(r *ruleRun) {
	name := r.unit("@1.service")
	if r.submit(name, r.content(1)) {
		r.becomes(name, "loaded and inactive", is(loaded, false))
		r.becomes(name, "reported with the hash of its content", hasHash(r.hash(r.content(1))))
	}
}

// running submits and starts a unit, and waits until it runs.
func (r *ruleRun) running(rest string) (name string, ok bool) {
	name = r.unit(rest)
	return name, r.submit(name, r.content(1)) && r.start(name) && r.becomes(name, "launched and active", is(launched, true))
}

func checkStart(r *ruleRun) {
	if name, ok := r.running("@1.service"); ok && r.start(name) {
		r.becomes(name, "launched and active after it was started twice", is(launched, true))
	}
}

func checkStop(r *ruleRun) {
	if name, ok := r.running("@1.service"); ok && r.ok("stop "+name, r.backend.Stop(r.ctx, name)) {
		r.becomes(name, "loaded and inactive", is(loaded, false))
	}
}

func checkSubmitAgain(r *ruleRun) {
	if name, ok := r.running("@1.service"); ok && r.submit(name, r.content(1)) {
		r.becomes(name, "loaded and inactive", is(loaded, false))
		r.becomes(name, "reported with the hash of its content", hasHash(r.hash(r.content(1))))
	}
}

func checkReplace(r *ruleRun) {
	name, ok := r.running("@1.service")
	if ok && r.submit(name, r.content(2)) {
		r.becomes(name, "reported with the hash of its new content", hasHash(r.hash(r.content(2))))
		r.becomes(name, "loaded and inactive", is(loaded, false))
	}
}

func checkDestroy(r *ruleRun) {
	name, other := r.unit("@1.service"), r.unit("@11.service")
	if !r.submit(name, r.content(1)) || !r.submit(other, r.content(1)) || !r.start(name) || !r.destroy(name) || !r.vanishes(name) {
		return
	}
	if err := r.backend.Destroy(r.ctx, name); !fleet.IsUnitNotFound(err) {
		r.failf("the second Destroy gives %v, which is not of IsUnitNotFound", err)
	}
	if _, err := r.backend.GetStatus(r.ctx, other); err != nil {
		r.failf("after the Destroy of %s, %s is not to be had: %w", name, other, err)
	}
}

func checkCreateAgain(r *ruleRun) {
	name, ok := r.running("@1.service")
	if ok && r.destroy(name) && r.submit(name, r.content(2)) && r.start(name) {
		r.becomes(name, "reported with the hash of its new content", hasHash(r.hash(r.content(2))))
		r.becomes(name, "launched and active", is(launched, true))
	}
}

func checkEndedContext(r *ruleRun) {
	name, never := r.unit("@1.service"), r.unit("@never.service")
	if !r.submit(name, r.content(1)) {
		return
	}
	ctx, cancel := context.WithCancel(r.ctx)
	cancel()
	_, err := r.backend.GetStatus(ctx, name)
	for _, call := range []struct {
		name string
		err  error
	}{
		{"GetStatus", err},
		{"Submit", r.backend.Submit(ctx, never, r.content(1))},
		{"Start", r.backend.Start(ctx, name)},
		{"Stop", r.backend.Stop(ctx, name)},
		{"Destroy", r.backend.Destroy(ctx, name)},
	} {
		r.endedAs(call.name, call.err)
	}
	if _, err := r.backend.GetStatus(r.ctx, never); !fleet.IsUnitNotFound(err) {
		r.failf("the unit submitted with a context that had ended is there (%v)", err)
	}
	r.becomes(name, "loaded still", func(s fleet.UnitStatus) bool { return s.Desired == loaded })
}

// checkSideBySide leads several units through their lives at once.
func checkSideBySide(r *ruleRun) {
	const lives = 8
	errs := make([]error, lives)
	var wait sync.WaitGroup
	for i := range lives {
		name := r.unit(fmt.Sprintf("@%d.service", i))
		wait.Go(func() {
			// A panic in here would end the program and not only the walk of the rule.
			defer func() {
				if p := recover(); p != nil {
					errs[i] = fmt.Errorf("panic: %v", p)
				}
			}()
			errs[i] = r.oneOfMany(name)
		})
	}
	wait.Wait()
	for _, err := range errs {
		r.ok("one of several lives", err)
	}
}

func (r *ruleRun) oneOfMany(name string) error {
	if err := r.backend.Submit(r.ctx, name, r.content(1)); err != nil {
		return err
	}
	if err := r.backend.Start(r.ctx, name); err != nil {
		return err
	}
	statuses, err := r.backend.GetStatusWithMatcher(func(other string) bool { return strings.HasPrefix(other, name) })
	if err != nil {
		return err
	}
	if len(statuses) != 1 || statuses[0].Name != name || statuses[0].Desired != launched {
		return fmt.Errorf("%s is not told launched: %+v", name, statuses)
	}
	return r.backend.Stop(r.ctx, name)
}
