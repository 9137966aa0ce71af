package swarm

import (
	"context"
	"maps"
	"slices"

	"github.com/moby/moby/client"

	"github.com/squadronctl/squadron/internal/errmask"
)

// OwnedStacks implements stack.OwnerLister: the namespaces in which a service, network, config or secret carries the owner's label.
// It takes one listing of each kind.
func (e *Engine) OwnedStacks(ctx context.Context, owner string) ([]string, error) {
	const operation = "list the stacks of owner %.256q"
	if err := checkOwner(owner); err != nil {
		return nil, errmask.Maskf(err, operation, owner)
	}
	filters := make(client.Filters).Add("label", labelOwner+"="+owner)
	found, err := e.readAll(ctx, filters)
	if err != nil {
		return nil, errmask.Maskf(classed(ctx, err), operation, owner)
	}
	names := map[string]bool{}
	for thing := range found.all {
		if name := thing.labels[labelNamespace]; name != "" && thing.labels[labelOwner] == owner {
			names[name] = true
		}
	}
	return slices.Sorted(maps.Keys(names)), nil
}
