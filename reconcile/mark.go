package reconcile

import (
	"context"
	"errors"

	"github.com/squadronctl/squadron/internal/stackmark"
)

// unmarked runs a deployment, of which the store does not say that it came to its end until setMark. One that was
// refused before its first write leaves the mark of what is there.
func (p *pass) unmarked(ctx context.Context, s *working, deploy func() error) error {
	before, err := p.mark(ctx, s)
	if err == nil {
		err = p.clearMark(ctx, s)
	}
	if err != nil {
		return err
	}
	err = p.guarded(ctx, "deploy", s.Name, deploy)
	if refused(err) && before != "" {
		err = errors.Join(err, p.setMark(ctx, s, before))
	}
	return err
}

func (p *pass) mark(ctx context.Context, s *working) (mark string, err error) {
	if p.cfg.Store == nil {
		return "", nil
	}
	err = p.guarded(ctx, "store", s.Name, func() (err error) {
		mark, err = stackmark.Get(ctx, p.cfg.Store, p.cfg.Owner, s.Name)
		return err
	})
	return mark, err
}

func (p *pass) clearMark(ctx context.Context, s *working) error {
	if p.cfg.Store == nil {
		return nil
	}
	return p.guarded(ctx, "store", s.Name, func() error {
		return stackmark.Clear(ctx, p.cfg.Store, p.cfg.Owner, s.Name)
	})
}

func (p *pass) setMark(ctx context.Context, s *working, manifest string) error {
	if p.cfg.Store == nil {
		return nil
	}
	return p.guarded(ctx, "store", s.Name, func() error {
		return stackmark.Set(ctx, p.cfg.Store, p.cfg.Owner, s.Name, manifest)
	})
}
