package swarm

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/squadronctl/squadron/stack"
)

// claim refuses the deployment where something is there that is not the owner's. What is under the namespace, or under a name that
// the manifest makes, has to carry the owner's label; what carries no owner's label and is under the namespace is the owner's too
// where the store has a revision of the stack by this owner: somebody deployed it by hand, or took the label away.
func (d *deployment) claim(ctx context.Context) error {
	var strangers, unlabelled []thing
	declared := d.makes()
	for thing := range d.there.all {
		inside := thing.labels[labelNamespace] == d.req.Name
		if !inside && !declared[thing.kind+" "+thing.name] {
			continue
		}
		switch owner := thing.labels[labelOwner]; {
		case inside && owner == d.req.Owner:
		case inside && owner == "":
			unlabelled = append(unlabelled, thing)
		default:
			strangers = append(strangers, thing)
		}
	}
	if len(unlabelled) > 0 {
		recorded, err := d.engine.isRecorded(ctx, d.req.Owner, d.req.Name)
		if err != nil {
			return err
		}
		if !recorded {
			strangers = append(strangers, unlabelled...)
		}
	}
	if len(strangers) == 0 {
		return nil
	}
	return fmt.Errorf("%w: %s", stack.ErrForeignStack, listStrangers(strangers))
}

// isRecorded says whether the store has a revision of a stack by an owner.
func (c *core) isRecorded(ctx context.Context, owner, name string) (bool, error) {
	revisions, err := c.config.Store.Revisions(ctx, owner, name)
	return len(revisions) > 0, err
}

// makes are the things that the manifest makes, as "kind name".
func (d *deployment) makes() map[string]bool {
	makes := map[string]bool{}
	for _, service := range d.made.Services {
		makes["service "+service.Spec.Name] = true
	}
	for _, network := range d.made.Networks {
		if !network.External {
			makes["network "+network.Name] = true
		}
	}
	for _, config := range d.made.Configs {
		if !config.External {
			makes["config "+config.Name] = true
		}
	}
	for _, secret := range d.made.Secrets {
		if !secret.External {
			makes["secret "+secret.Name] = true
		}
	}
	return makes
}

// strangersShown is how many things an error names.
const strangersShown = 5

// listStrangers names things, and whose they are.
func listStrangers(strangers []thing) string {
	slices.SortFunc(strangers, func(a, b thing) int { return cmp.Or(cmp.Compare(a.kind, b.kind), cmp.Compare(a.name, b.name)) })
	var parts []string
	for i, thing := range strangers {
		if i == strangersShown {
			parts = append(parts, fmt.Sprintf("and %d more", len(strangers)-i))
			break
		}
		whose := "carries no owner's label"
		if owner := thing.labels[labelOwner]; owner != "" {
			whose = fmt.Sprintf("is owned by %.80q", owner)
		}
		if namespace := thing.labels[labelNamespace]; namespace == "" {
			whose += " and is of no stack"
		} else {
			whose += " and is of stack " + namespace
		}
		parts = append(parts, thing.kind+" "+thing.name+" "+whose)
	}
	return strings.Join(parts, "; ")
}
