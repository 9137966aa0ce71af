package units

import (
	"context"
	"slices"
	"strings"

	"github.com/squadronctl/squadron/fleet"
	"github.com/squadronctl/squadron/internal/errmask"
	"github.com/squadronctl/squadron/stack"
)

// seen is what one look has found on the whole cluster.
type seen struct {
	units   []fleet.UnitDetail
	byStack map[string][]fleet.UnitDetail // by the stamps
}

// LookOnce looks at the whole cluster, and gives an engine that answers from what was seen then, so that its reads cost no
// look of their own (reconcile.OnceLooker): ReadStacks, ReadStackServices, OwnedStacks, DesiredServices, LiveServices,
// LiveStacks and CheckDeploy. A unit file is still read where no unit of its hash was before. What changes the cluster looks
// anew.
func (e *Engine) LookOnce(ctx context.Context) (stack.Backend, error) {
	found, err := e.core.look(ctx, fleet.Selector{})
	if err != nil {
		return nil, errmask.Mask(err)
	}
	once := &seen{units: found, byStack: map[string][]fleet.UnitDetail{}}
	for _, detail := range found {
		if detail.Stamped {
			once.byStack[detail.Group] = append(once.byStack[detail.Group], detail)
		}
	}
	changed := *e
	changed.seen = once
	return &changed, nil
}

// anew is the engine that looks by itself.
func (e *Engine) anew() *Engine {
	changed := *e
	changed.seen = nil
	return &changed
}

// look gives the units that the selector takes, and maybe more: of what LookOnce has seen, or of a look of its own.
func (e *Engine) look(ctx context.Context, selector fleet.Selector) ([]fleet.UnitDetail, error) {
	if e.seen == nil {
		return e.core.look(ctx, selector)
	}
	return e.seen.units, nil
}

// lookAtStack gives the units that carry a stack's stamp.
func (e *Engine) lookAtStack(ctx context.Context, name string) ([]fleet.UnitDetail, error) {
	if e.seen == nil {
		return e.core.lookAtStack(ctx, name)
	}
	return e.seen.byStack[name], nil
}

// lookNear gives the units that have something to do with a stack: by their stamp, by their name, or as one of these.
func (e *Engine) lookNear(ctx context.Context, name string, others []string) ([]fleet.UnitDetail, error) {
	if e.seen == nil {
		return e.core.look(ctx, fleet.Selector{Groups: []string{name}, Names: others})
	}
	var near []fleet.UnitDetail
	for i := range e.seen.units {
		detail := &e.seen.units[i]
		if isOf(*detail, name) || strings.HasPrefix(detail.Name, name) || slices.Contains(others, detail.Name) {
			near = append(near, *detail)
		}
	}
	return near, nil
}
