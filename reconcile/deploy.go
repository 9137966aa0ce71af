package reconcile

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/squadronctl/squadron/capability"
	"github.com/squadronctl/squadron/internal/errmask"
	"github.com/squadronctl/squadron/stack"
)

// deployWaves goes from the lowest wave up. As long as a wave is not done, what is to be deployed of the higher ones
// waits for a later pass.
func (p *pass) deployWaves(ctx context.Context) {
	blocked := false
	for rest := p.stacks; len(rest) > 0 && ctx.Err() == nil; {
		end := slices.IndexFunc(rest, func(s *working) bool { return s.Wave != rest[0].Wave })
		if end < 0 {
			end = len(rest)
		}
		wave := rest[:end]
		rest = rest[end:]
		if blocked {
			wait(wave)
			continue
		}
		p.deployWave(ctx, wave, slices.ContainsFunc(rest, func(s *working) bool { return s.want }))
		blocked = slices.ContainsFunc(wave, func(s *working) bool { return !s.done() })
	}
}

func wait(wave []*working) {
	for _, s := range wave {
		if s.want {
			s.out.Action = ActionWaiting
		}
	}
}

// done says that higher waves need not wait for the stack. What the backend can't deploy, or drift that nobody wants to
// be corrected, would hold them up for ever. A stack of which it could not be read whether its manifest is deployed is not
// done.
func (s *working) done() bool {
	switch s.out.Action {
	case ActionNone:
		return s.out.Health == Healthy && s.mem.applied
	case ActionDeployed, ActionOwn:
		return s.out.Health == Healthy
	default:
		return false
	}
}

// deployWave deploys what is wanted of one wave, and reads again what it wrote to. Where something waits for the wave,
// and this pass has written before, all of the wave is read again: a deployment takes long, and may be what another
// stack fails for.
func (p *pass) deployWave(ctx context.Context, wave []*working, awaited bool) {
	var wanted, tried []*working
	for _, s := range wave {
		if s.want {
			wanted = append(wanted, s)
		}
	}
	p.each(wanted, func(s *working) { p.deploy(ctx, s) })
	for _, s := range wanted {
		if s.out.Action == ActionDeployed || s.out.Action == ActionFailed {
			tried = append(tried, s)
		}
	}
	p.wrote = p.wrote || len(tried) > 0
	if p.wrote && awaited {
		tried = wave
	}
	p.readAgain(ctx, tried)
}

func (p *pass) readAgain(ctx context.Context, stacks []*working) {
	p.readStates(ctx, p.cfg.Backend, stacks)
	for _, s := range stacks {
		s.survey()
		if s.read.err != nil && s.out.Err == nil {
			s.out.Err = s.read.err
		}
		switch {
		case s.out.Action == ActionNone:
			s.judgeAgain()
		case s.out.Action == ActionDeployed && len(s.out.Missing) > 0: // gone again already
			s.out.Sync, s.out.Reason = OutOfSync, ReasonIncomplete
		}
	}
}

// judgeAgain is about a stack of which nothing was to be deployed, as it is by now. What has to be is for the next pass.
func (s *working) judgeAgain() {
	switch {
	case s.read.err != nil:
		s.out.Sync, s.out.Reason = SyncUnknown, ReasonUnreadable
	case s.read.unsure:
		s.out.Sync, s.out.Reason = SyncUnknown, ReasonUnproven
	case len(s.read.services) == 0:
		s.out.Sync, s.out.Reason = OutOfSync, ReasonMissing
	case len(s.out.Missing) > 0:
		s.out.Sync, s.out.Reason = OutOfSync, ReasonIncomplete
	}
}

// isOwn says that the stack is this process's own, and can't be deployed: the write that replaces the process would end
// it half-way.
func (p *pass) isOwn(s *working) bool {
	_, canOwn := p.cfg.Backend.(capability.SelfRelease)
	return s.Name == p.cfg.Own && !canOwn
}

// deploy tries one stack, unless it is let be after a failure, or is the own one and can't be deployed. Once ctx has
// ended nothing is begun.
func (p *pass) deploy(ctx context.Context, s *working) {
	switch {
	case ctx.Err() != nil:
		return
	case p.isOwn(s):
		s.out.Action = ActionOwn
		return
	case time.Now().Before(s.mem.notBefore):
		s.out.Action, s.out.Err = ActionBackoff, s.mem.err
		return
	}
	s.hands = &hands{}
	before := s.mem.pending
	s.mem.pending = true
	err := p.unmarked(ctx, s, func() error {
		if p.cfg.Begin != nil {
			p.cfg.Begin(s.Name, s.out.Reason)
		}
		return p.equipped(p.cfg.Backend, s).DeployStack(ctx, p.request(s))
	})
	s.held = s.hands.close()
	s.out.OutOfBand = s.hands.lost()
	switch {
	case err != nil:
		s.held = nil
		s.mem.pending = before || !refused(err)
		p.failed(ctx, s, err)
	case len(s.held) > 0:
		s.out.Action = ActionHeld
	default:
		p.deployed(ctx, s)
	}
}

func (p *pass) request(s *working) stack.DeployRequest {
	return stack.DeployRequest{Name: s.Name, Manifest: s.Manifest, Owner: p.cfg.Owner}
}

// equipped is the backend with all that a deployment of this stack may use and the backend offers. What it does not
// offer is left out: the report says so.
func (p *pass) equipped(backend stack.Backend, s *working) stack.Backend {
	if b, ok := backend.(capability.RegistryAuth); ok && s.Credentials != nil {
		backend = b.WithRegistryAuth(s.Credentials)
	}
	if b, ok := backend.(capability.ForbidSecrets); ok && len(p.cfg.ForbiddenSecrets) > 0 {
		backend = b.WithForbiddenSecrets(p.cfg.ForbiddenSecrets)
	}
	if b, ok := backend.(capability.AllowedReferences); ok && s.allows() {
		backend = b.WithAllowedReferences(s.Allow)
	}
	if b, ok := backend.(capability.OutOfBand); ok {
		backend = b.WithOutOfBandNotifier(s.hands.note)
	}
	if b, ok := backend.(capability.SelfRelease); ok {
		backend = b.WithSelfRelease(s.hands.hold)
	}
	return backend
}

func (p *pass) deployed(ctx context.Context, s *working) {
	p.cfg.Logger.Info(ctx, "stack %s: deployed (%s)", s.Name, s.out.Reason)
	s.out.Action, s.out.Sync, s.out.Err = ActionDeployed, Synced, nil
	if err := p.setMark(ctx, s, s.Manifest); err != nil {
		p.cfg.Logger.Warning(ctx, "stack %s will be deployed again after a restart: %v", s.Name, err)
	}
	m := s.mem
	m.applied, m.pending = true, false
	m.failures, m.notBefore, m.err = 0, time.Time{}, nil
	m.look, m.lookDue = look{}, time.Time{} // the next pass looks at what became of it
}

func (p *pass) failed(ctx context.Context, s *working, err error) {
	s.out.Err = err
	if errmask.Has(err, capability.ErrOwnStack) {
		s.out.Action = ActionOwn
		return
	}
	s.out.Action = ActionFailed
	s.mem.lookDue = time.Time{}
	if s.mem.look.foreign = errmask.Has(err, stack.ErrForeignStack); s.mem.look.foreign {
		s.out.Reason = ReasonForeign
	}
	if ctx.Err() != nil {
		return // it was broken off, and says nothing about the stack
	}
	s.mem.failures++
	s.mem.err = err
	s.mem.notBefore = time.Now().Add(p.cfg.Retry.after(s.mem.failures))
	p.cfg.Logger.Debug(ctx, "stack %s: not again before %s", s.Name, s.mem.notBefore.Format(time.RFC3339))
}

// refused says that an error came before the first write.
func refused(err error) bool {
	manifest := func(e error) bool { _, ok := e.(*stack.ManifestError); return ok }
	return errmask.Find(err, manifest) || errmask.Has(err, capability.ErrOwnStack) || errmask.Has(err, stack.ErrForeignStack) ||
		errmask.Has(err, stack.ErrForbiddenReference)
}

func (r Retry) after(failures int) time.Duration {
	wait := r.Min
	for ; failures > 1 && wait < r.Max; failures-- {
		wait *= 2
	}
	return min(wait, r.Max)
}

// release issues the writes that replace the process itself. From here on it may end at any moment. The error is the
// context's, which ended before.
func (p *pass) release(ctx context.Context) error {
	for _, s := range p.stacks {
		if len(s.held) == 0 {
			continue
		}
		if err := context.Cause(ctx); err != nil {
			return errmask.Maskf(err, "release %s", s.Name)
		}
		var errs []error
		for _, apply := range s.held {
			errs = append(errs, p.guarded(ctx, "release", s.Name, func() error { return apply(ctx) }))
		}
		if err := errors.Join(errs...); err != nil {
			p.failed(ctx, s, errmask.Mask(err))
		} else {
			p.deployed(ctx, s)
		}
		s.out.OutOfBand = s.hands.lost()
		p.readAgain(ctx, []*working{s})
	}
	return nil
}
