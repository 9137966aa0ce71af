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
	return errmask.Maskf(e.anew().deploy(ctx, req), "deploy stack %.256q", req.Name)
}

// CheckDeploy gives the error with which DeployStack would refuse this request before it writes anything, and nil where it
// would deploy it or find nothing to do (reconcile.DeployChecker). It looks at the cluster once, and changes nothing.
func (e *Engine) CheckDeploy(ctx context.Context, req stack.DeployRequest) error {
	d, err := e.newDeployment(req)
	if err == nil {
		_, _, err = d.mayBegin(ctx)
	}
	return errmask.Maskf(err, "deploy stack %.256q", req.Name)
}

func (e *Engine) deploy(ctx context.Context, req stack.DeployRequest) error {
	d, err := e.newDeployment(req)
	if err != nil {
		return err
	}
	unlock, err := e.locks.Lock(ctx, req.Name)
	if err != nil {
		return err
	}
	defer unlock()
	found, done, err := d.mayBegin(ctx)
	if err != nil {
		return err
	}
	// What is there already is recorded as well: an earlier record may be lost, or be somebody else's file.
	if err := e.config.Store.AddRevision(ctx, req.Owner, req.Name, req.Manifest); err != nil {
		return err
	}
	switch {
	case done:
		return nil
	case e.isOwn(req.Name):
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

// mayBegin gives the stack's units, and whether all is as declared, unless something forbids the deployment.
func (d *deployment) mayBegin(ctx context.Context) (found []fleet.UnitDetail, done bool, err error) {
	if found, err = d.look(ctx); err != nil {
		return nil, false, err
	}
	done = d.upToDate(found)
	if !done && d.engine.isOwn(d.req.Name) {
		err = d.mayReplaceItself()
	}
	return found, done, err
}

// look gives the stack's units, unless some are there that forbid the deployment.
func (d *deployment) look(ctx context.Context) ([]fleet.UnitDetail, error) {
	near, err := d.engine.lookNear(ctx, d.req.Name, d.refs.units())
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
