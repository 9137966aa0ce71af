package reconcile

import (
	"context"

	"github.com/squadronctl/squadron/capability"
	"github.com/squadronctl/squadron/internal/errmask"
	"github.com/squadronctl/squadron/stack"
)

// planned turns what has to be deployed into what a plan says. What a pass would only learn from a refusal it asks for.
func (p *pass) planned(ctx context.Context) {
	var wanted []*working
	for _, s := range p.stacks {
		if s.want {
			s.out.Action = ActionDeploy
			wanted = append(wanted, s)
		}
	}
	p.each(wanted, func(s *working) { p.checkDeploy(ctx, s) })
}

// checkDeploy says whether the backend would refuse a stack.
func (p *pass) checkDeploy(ctx context.Context, s *working) {
	if p.isOwn(s) {
		s.out.Action, s.out.Err = ActionOwn, nil
		return
	}
	err := p.refusal(ctx, s)
	if err == nil {
		return
	}
	s.out.Err = err
	switch {
	case errmask.Has(err, capability.ErrOwnStack):
		s.out.Action = ActionOwn
	case errmask.Has(err, stack.ErrForeignStack):
		s.out.Action, s.out.Reason = ActionRefuse, ReasonForeign
	case refused(err):
		s.out.Action = ActionRefuse
	}
}

// refusal asks the backend with what error it would refuse a stack. Without DeployChecker only what was seen tells.
func (p *pass) refusal(ctx context.Context, s *working) error {
	s.hands = &hands{}
	defer s.hands.close()
	checker, ok := p.equipped(p.reads, s).(DeployChecker)
	switch {
	case ok:
		return p.guarded(ctx, "check", s.Name, func() error { return checker.CheckDeploy(ctx, p.request(s)) })
	case s.mem.look.foreign:
		return errmask.Maskf(stack.ErrForeignStack, "check %s", s.Name)
	default:
		return s.out.Err
	}
}
