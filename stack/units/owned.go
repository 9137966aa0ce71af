package units

import (
	"context"
	"maps"
	"slices"

	"github.com/squadronctl/squadron/fleet"
	"github.com/squadronctl/squadron/internal/errmask"
)

// OwnedStacks implements stack.OwnerLister, by one look at the whole cluster.
func (e *Engine) OwnedStacks(ctx context.Context, owner string) ([]string, error) {
	const operation = "list the stacks of owner %.256q"
	if err := checkOwner(owner); err != nil {
		return nil, errmask.Maskf(err, operation, owner)
	}
	found, err := e.look(ctx, fleet.Selector{})
	if err != nil {
		return nil, errmask.Maskf(err, operation, owner)
	}
	return stacksOf(found, owner), nil
}

// stacksOf gives the names of the stacks that an owner has units of, sorted.
func stacksOf(found []fleet.UnitDetail, owner string) []string {
	names := map[string]bool{}
	for _, detail := range found {
		if detail.Stamped && detail.Owner == owner {
			names[detail.Group] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}
