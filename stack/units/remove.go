package units

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/squadronctl/squadron/capability"
	"github.com/squadronctl/squadron/controller"
	"github.com/squadronctl/squadron/fleet"
	"github.com/squadronctl/squadron/internal/errmask"
	"github.com/squadronctl/squadron/stack"
)

// RemoveStack implements stack.Backend. A unit counts as the stack's when it carries its stamp with an owner; one that only
// has its name, or its group, stays. Where it carries the stamps of several owners nothing is removed, and the error is one of
// stack.IsForeignStack. It returns when fleet no longer lists the units; the machines may take a while longer.
func (e *Engine) RemoveStack(ctx context.Context, name string) error {
	const operation = "remove stack %.256q"
	if err := checkStackName(name); err != nil {
		return errmask.Maskf(err, operation, name)
	}
	err := e.remove(ctx, name, func(detail fleet.UnitDetail) bool { return detail.Owner != "" })
	return errmask.Maskf(err, operation, name)
}

// remove destroys those of a stack's units that match.
func (e *Engine) remove(ctx context.Context, name string, match lens) error {
	if e.isOwn(name) {
		return capability.ErrOwnStack
	}
	unlock, err := e.locks.Lock(ctx, name)
	if err != nil {
		return err
	}
	defer unlock()
	found, err := e.anew().lookAtStack(ctx, name)
	if err != nil {
		return err
	}
	owner, err := soleOwner(found)
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(found, func(detail fleet.UnitDetail) bool { return detail.Owner == owner && match(detail) }) {
		return nil
	}
	defer e.lenses.put(name, func(detail fleet.UnitDetail) bool { return detail.Owner == owner && match(detail) })()
	task, err := e.controller.Destroy(ctx, requestFor(name))
	if err != nil {
		return err
	}
	err = e.outcome(ctx, task)
	if controller.IsUnitNotFound(err) {
		return nil // somebody else was faster
	}
	return err
}

// soleOwner gives who owns a stack's units, as far as somebody does. A caller acts for one owner, and does not say which; so of
// a stack with units of several none is removed.
func soleOwner(found []fleet.UnitDetail) (string, error) {
	owner := ""
	for _, detail := range found {
		switch {
		case detail.Owner == "" || detail.Owner == owner:
		case owner == "":
			owner = detail.Owner
		default:
			return "", fmt.Errorf("%w: it has several owners: %s", stack.ErrForeignStack, listStrangers(found))
		}
	}
	return owner, nil
}

// serviceID is what a live service is removed by: the stack, the unit base, and the owner at the time of the listing, so that
// nothing is removed that has become another's since.
type serviceID struct{ stack, base, owner string }

func (id serviceID) String() string { return id.stack + "/" + id.base + "/" + id.owner }

func parseServiceID(text string) (serviceID, error) {
	parts := strings.SplitN(text, "/", 3) // an owner may have slashes
	if len(parts) != 3 || checkStackName(parts[0]) != nil || parts[1] == "" {
		return serviceID{}, fmt.Errorf("%.256q is not the ID of a service of this engine", text)
	}
	return serviceID{parts[0], parts[1], parts[2]}, nil
}

// RemoveService implements capability.ResourceRemover. An ID is that of LiveServices: STACK/UNITBASE/OWNER. It removes the
// copies of this unit base that carry the stack's stamp with this owner. An ID without owner is of units that nobody owns, or
// not one alone: such are not removed, with an error of stack.IsForeignStack, and neither is anything of a stack that has units
// of several owners, as in RemoveStack. All of the calling program's own stack is refused with an error that wraps
// capability.ErrOwnStack, since the engine can't tell which units the program needs.
func (e *Engine) RemoveService(ctx context.Context, id string) error {
	const operation = "remove service %.512q"
	parsed, err := parseServiceID(id)
	switch {
	case err != nil:
	case e.isOwn(parsed.stack):
		err = capability.ErrOwnStack
	case parsed.owner == "":
		err = fmt.Errorf("%w: its units carry no owner's stamp, or several", stack.ErrForeignStack)
	default:
		err = e.remove(ctx, parsed.stack, func(detail fleet.UnitDetail) bool {
			return detail.Owner == parsed.owner && baseOf(detail.Name) == parsed.base
		})
	}
	return errmask.Maskf(err, operation, id)
}

// errNoSuchKind is for what units do not know. An ID of such a thing can't be of this engine: whoever has one has mistaken one
// engine for another.
var errNoSuchKind = errors.New("a stack of units has only services")

// RemoveNetwork implements capability.ResourceRemover. It always fails: units know no networks.
func (e *Engine) RemoveNetwork(_ context.Context, id string) error {
	return errmask.Maskf(errNoSuchKind, "remove network %.512q", id)
}

// RemoveConfig implements capability.ResourceRemover. It always fails: units know no configs.
func (e *Engine) RemoveConfig(_ context.Context, id string) error {
	return errmask.Maskf(errNoSuchKind, "remove config %.512q", id)
}

// RemoveSecret implements capability.ResourceRemover. It always fails: units know no secrets.
func (e *Engine) RemoveSecret(_ context.Context, id string) error {
	return errmask.Maskf(errNoSuchKind, "remove secret %.512q", id)
}
