package reconcile

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/squadronctl/squadron/stack"
)

// judge decides what is true of a stack, and whether it has to be deployed:
//
//	the states could not be read            unknown, unknown, left alone
//	nothing is there                        out-of-sync, missing, deployed
//	nothing was found, perhaps for want     unknown, unknown, deployed: that writes nothing where all is there
//	of an answer
//	it is another owner's                   out-of-sync, missing, deployed: the backend refuses it and says so
//	a declared service is not there         out-of-sync, degraded, deployed
//	the last deployment did not end well    out-of-sync, deployed
//	deployed by this Reconciler             synced; or drift: out-of-sync, deployed if asked to
//	not yet known to this Reconciler        see judgeUnknown
func (p *pass) judge(ctx context.Context, s *working) {
	s.survey()
	switch {
	case s.read.err != nil:
		s.verdict(SyncUnknown, ReasonUnreadable, false)
		s.out.Err = s.read.err
	case s.read.unsure:
		s.verdict(SyncUnknown, ReasonUnproven, true)
	case len(s.read.services) == 0:
		s.verdict(OutOfSync, ReasonMissing, true)
	case s.mem.look.foreign:
		s.verdict(OutOfSync, ReasonForeign, true)
	case len(s.out.Missing) > 0:
		s.verdict(OutOfSync, ReasonIncomplete, true)
	case s.mem.pending:
		s.verdict(OutOfSync, ReasonUnfinished, true)
	case s.mem.applied:
		p.judgeDrift(s)
	default:
		p.judgeUnknown(ctx, s)
	}
	if s.out.Err == nil && s.want && p.dry {
		s.out.Err = cmp.Or(s.mem.declaredErr, s.mem.look.err)
	}
}

func (s *working) verdict(sync Sync, reason Reason, want bool) {
	s.out.Sync, s.out.Reason, s.want = sync, reason, want
}

func (p *pass) judgeDrift(s *working) {
	switch {
	case len(s.mem.look.changes) > 0:
		s.verdict(OutOfSync, ReasonDrift, p.cfg.CorrectDrift)
	case s.mem.look.err != nil:
		s.verdict(SyncUnknown, ReasonUnreadable, false)
		s.out.Err = s.mem.look.err
	default:
		s.verdict(Synced, "", false)
	}
}

// judgeUnknown is about a stack of which this Reconciler does not know yet whether the manifest was deployed to the
// end. The mark in the store says so. Without it the stack is deployed, which writes nothing where all is as declared.
func (p *pass) judgeUnknown(ctx context.Context, s *working) {
	mark, err := p.mark(ctx, s)
	switch {
	case err != nil:
		s.verdict(SyncUnknown, ReasonUnreadable, false)
		s.out.Err = err
	case mark == s.Manifest:
		s.mem.applied = true
		p.judgeDrift(s)
	case mark != "":
		s.verdict(OutOfSync, ReasonManifest, true)
	default:
		s.verdict(SyncUnknown, ReasonUnproven, true)
	}
}

// survey says what the states of the services tell by themselves: health, and what is missing or too much.
func (s *working) survey() {
	s.out.Health, s.out.Missing, s.out.Undeclared = HealthUnknown, nil, nil
	if s.read.err != nil || s.read.unsure {
		return
	}
	s.out.Health = Missing
	if len(s.read.services) == 0 {
		s.mem.look, s.mem.lookDue = look{}, time.Time{}
		return
	}
	if s.mem.look.foreign {
		return
	}
	declared := map[string]bool{}
	for _, name := range s.mem.declared {
		declared[name] = true
	}
	there := map[string]bool{}
	worst := Healthy
	for _, service := range s.read.services {
		there[service.Name] = true
		if s.mem.knowsNames && !declared[service.Name] {
			s.out.Undeclared = append(s.out.Undeclared, service.Name)
			continue
		}
		worst = worse(worst, healthOf(service))
	}
	expected := s.mem.look.missing
	if s.mem.knowsNames {
		expected = s.mem.declared
	}
	for _, name := range expected {
		if !there[name] {
			s.out.Missing = append(s.out.Missing, name)
		}
	}
	s.out.Health = s.completeness(worst)
}

// completeness is the health of what is there, less what is not.
func (s *working) completeness(worst Health) Health {
	switch {
	case len(s.out.Missing) == 0:
		return worst
	case len(s.out.Undeclared) == len(s.read.services):
		return Missing
	default:
		return worse(worst, Degraded)
	}
}

func healthOf(s stack.ServiceState) Health {
	switch {
	case s.Status == stack.StatusFailed:
		return Degraded
	case s.Desired == 0:
		return Healthy
	case s.Status == stack.StatusStopped:
		return Degraded
	case s.Status == stack.StatusRunning && s.Running >= s.Desired:
		return Healthy
	default:
		return Progressing
	}
}

// worse orders what services that are there can be.
func worse(a, b Health) Health {
	order := []Health{Healthy, Progressing, Degraded}
	return slices.MaxFunc([]Health{a, b}, func(a, b Health) int { return cmp.Compare(slices.Index(order, a), slices.Index(order, b)) })
}
