package units

import (
	"context"
	"fmt"

	"github.com/squadronctl/squadron/controller"
	"github.com/squadronctl/squadron/fleet"
	"github.com/squadronctl/squadron/internal/errmask"
	"github.com/squadronctl/squadron/stack"
)

// deployment is one DeployStack.
type deployment struct {
	engine   *Engine
	req      stack.DeployRequest
	manifest Manifest
	request  controller.Request // with stamped units
	hashes   map[string]string  // of the stamped contents, by unit base
	refs     references
}

// DeployStack implements stack.Backend. It looks at the cluster once; where all is as declared it is done then. Else it records
// the manifest, and updates the group under the manifest's bounds: what is missing is made, slices of another content are
// replaced, those that are stopped are launched, and those too many go. A unit that the manifest does not declare is left
// alone, whatever its stamp, also where its slice is replaced.
//
// Nothing is written, and nothing recorded, where the manifest is bad (*stack.ManifestError), where it refers to what
// WithAllowedReferences does not allow (stack.IsForbiddenReference, in a *stack.ManifestError as well), and where the name is
// somebody else's (stack.IsForeignStack): a unit is there that carries the stack's stamp with another owner or none, or that
// has the name of a declared unit without the stamp, or, while nothing of the stack is there, that belongs to a group of this
// name without any stamp. The calling program's own stack is refused with capability.ErrOwnStack, unless nothing has to be
// done, or WithSelfRelease says who does it.
//
// An update that fails is an error with a *controller.UpdateFailure, which says which slices are new and which old. When ctx
// ends, what is under way is brought to its end before DeployStack returns.
func (e *Engine) DeployStack(ctx context.Context, req stack.DeployRequest) error {
	return errmask.Maskf(e.deploy(ctx, req), "deploy stack %.256q", req.Name)
}

func (e *Engine) deploy(ctx context.Context, req stack.DeployRequest) error {
	d, err := e.newDeployment(req)
	if err != nil {
		return err
	}
	unlock, err := e.locks.lock(ctx, req.Name)
	if err != nil {
		return err
	}
	defer unlock()
	found, err := d.look(ctx)
	if err != nil {
		return err
	}
	own, done := e.isOwn(req.Name), d.upToDate(found)
	if own && !done {
		if err := d.mayReplaceItself(); err != nil {
			return err
		}
	}
	// What is there already is recorded as well: an earlier record may be lost, or be somebody else's file.
	if err := e.config.Store.AddRevision(ctx, req.Owner, req.Name, req.Manifest); err != nil {
		return err
	}
	switch {
	case done:
		return nil
	case own:
		e.hold(d.replaceItself)
		return nil
	}
	return d.converge(ctx, found)
}

// newDeployment checks what can be told of a deployment without a look at the cluster.
func (e *Engine) newDeployment(req stack.DeployRequest) (*deployment, error) {
	if err := checkOwner(req.Owner); err != nil {
		return nil, err
	}
	manifest, err := parseFor(req.Manifest, req.Name)
	if err != nil {
		return nil, err
	}
	d := &deployment{engine: e, req: req, manifest: manifest, request: requestFor(req.Name), hashes: map[string]string{}}
	if d.refs, err = referencesOf(manifest); err != nil {
		return nil, err
	}
	if err := d.refs.check(e.allow); err != nil {
		return nil, err
	}
	if d.request.Units, err = stamped(manifest.Units, req.Name, req.Owner); err != nil {
		return nil, &stack.ManifestError{Err: err}
	}
	for _, unit := range d.request.Units {
		if d.hashes[unit.Name], err = fleet.UnitHash(unit.Content); err != nil {
			return nil, &stack.ManifestError{File: unit.Name, Err: err}
		}
	}
	return d, nil
}

// look gives the stack's units, unless some are there that forbid the deployment.
func (d *deployment) look(ctx context.Context) ([]fleet.UnitDetail, error) {
	near, err := d.engine.look(ctx, fleet.Selector{Groups: []string{d.req.Name}, Names: d.refs.units()})
	if err != nil {
		return nil, err
	}
	if strangers := d.strangers(near); len(strangers) > 0 {
		return nil, fmt.Errorf("%w: %s", stack.ErrForeignStack, listStrangers(strangers))
	}
	if err := d.refs.checkUnits(d.engine.allow, d.req.Name, near); err != nil {
		return nil, err
	}
	return ofStack(near, d.req.Name), nil
}
