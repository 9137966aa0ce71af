package swarm

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/moby/moby/api/types/swarm"

	"github.com/squadronctl/squadron/capability"
	"github.com/squadronctl/squadron/internal/errmask"
	"github.com/squadronctl/squadron/stack"
	"github.com/squadronctl/squadron/stack/swarm/internal/compose"
)

// deployment is one DeployStack.
type deployment struct {
	engine    *Engine
	req       stack.DeployRequest
	made      *compose.Stack
	refs      []compose.Reference
	revisions map[string]string // of the services, by name
	auth      map[string]string // encoded credentials by registry
	there     *there
	watch     map[string]time.Duration // for how long the copies of services that this has written are to run before they count
	held      []string                 // the services that the program itself may be, and that have to be written
	resources                          // the IDs of what services use
}

// DeployStack implements stack.Backend. The manifest is a compose file, as it is or as Pack made it. It looks at what there is
// under the namespace and the names that the manifest uses, records the manifest, and makes what is missing: networks, configs and
// secrets first, then services, which are created, or updated where their spec differs. Then it waits until the tasks of all
// services that the manifest declares run as their specs say, those included that it did not write. Swarm watches for a while the
// tasks that an update brings (update_config: monitor, 5 s by default). The engine watches as long those that Swarm does not: of a
// new service, of one that has grown, of an update that goes on over failures, and those that have just come after one that ended.
//
// A service of which a rollout is under way is written once that has ended, or once nothing of it has moved for
// Config.WaitTimeout: two rollouts together would take more down than update_config allows.
//
// A changed config or secret has another name, so that the services that use it are updated; the one of old stays for a sweep, as
// does all else that the manifest no longer declares. A network can't be changed: one that is there with other options is an error.
//
// Nothing is written, and nothing recorded, where the manifest is bad (*stack.ManifestError), where it refers to what
// WithAllowedReferences does not allow or what is the controller's own (stack.IsForbiddenReference, in a *stack.ManifestError as
// well), where what it calls external is not there, and where the name is somebody else's (stack.IsForeignStack): something is
// there, under the namespace or under a name that the manifest makes, that carries another owner's label, or none while the store
// knows of no revision of the stack by this owner. What carries none and is of a recorded stack is taken over. The calling
// program's own stack is refused with capability.ErrOwnStack, unless nothing has to be written, or WithSelfRelease says who does it.
//
// A service whose tasks fail is an error of IsUnconverged, once Swarm starts no more of them, or nothing has moved for
// Config.WaitTimeout. One that Swarm has rolled back is an error of IsRolledBack; see there. A write that lost against another one
// is repeated once. When ctx ends, DeployStack returns at once, and Swarm goes on with what it was told.
func (e *Engine) DeployStack(ctx context.Context, req stack.DeployRequest) error {
	return errmask.Maskf(classed(ctx, e.anew().deploy(ctx, req)), "deploy stack %.256q", req.Name)
}

func (e *Engine) deploy(ctx context.Context, req stack.DeployRequest) error {
	d, err := e.newDeployment(req)
	if err != nil {
		return err
	}
	if err := d.run(ctx); err != nil {
		return err
	}
	if len(d.held) > 0 { // with the lock given back: what is handed over takes it
		e.hold(d.replaceItself)
	}
	return nil
}

// run does what is to be done now, alone on its stack.
func (d *deployment) run(ctx context.Context) error {
	unlock, err := d.engine.locks.Lock(ctx, d.req.Name)
	if err != nil {
		return err
	}
	defer unlock()
	changed, err := d.mayBegin(ctx)
	if err != nil {
		return err
	}
	if err := d.record(ctx); err != nil {
		return err
	}
	if err := d.holdBack(ctx, changed); err != nil {
		return err
	}
	return d.write(ctx, changed, d.held)
}

// CheckDeploy gives the error with which DeployStack would refuse this request before it writes anything, and nil where it
// would deploy it or find nothing to do (reconcile.DeployChecker). That Swarm has rolled back what would be written is a refusal too.
// It changes nothing.
func (e *Engine) CheckDeploy(ctx context.Context, req stack.DeployRequest) error {
	const operation = "deploy stack %.256q"
	d, err := e.anew().newDeployment(req)
	if err != nil {
		return errmask.Maskf(err, operation, req.Name)
	}
	changed, err := d.mayBegin(ctx)
	if err == nil {
		_, err = d.barred(ctx, changed)
	}
	return errmask.Maskf(classed(ctx, err), operation, req.Name)
}

// mayBegin gives the services that have to be written, unless something forbids the deployment.
func (d *deployment) mayBegin(ctx context.Context) ([]compose.Service, error) {
	changed, err := d.look(ctx)
	if err != nil {
		return nil, err
	}
	if d.engine.isOwn(d.req.Name) && d.engine.hold == nil && (len(changed) > 0 || d.lacks()) {
		return nil, capability.ErrOwnStack
	}
	return changed, nil
}

// newDeployment checks what can be told of a deployment without a look at the cluster.
func (e *Engine) newDeployment(req stack.DeployRequest) (*deployment, error) {
	if err := checkOwner(req.Owner); err != nil {
		return nil, err
	}
	made, err := e.load(req.Manifest, req.Name)
	if err != nil {
		return nil, err
	}
	d := &deployment{engine: e, req: req, made: made, refs: referencesOf(made), revisions: map[string]string{}, auth: map[string]string{}, watch: map[string]time.Duration{}}
	if err := checkReferences(d.refs, e.allow); err != nil {
		return nil, err
	}
	for i := range made.Services {
		spec := &made.Services[i].Spec
		if d.revisions[spec.Name], err = revisionOf(spec); err != nil {
			return nil, &stack.ManifestError{Line: made.Services[i].Line, Err: err}
		}
	}
	return d, nil
}

// record keeps the manifest. What is there already is recorded as well: an earlier record may be lost.
func (d *deployment) record(ctx context.Context) error {
	return d.engine.config.Store.AddRevision(ctx, d.req.Owner, d.req.Name, d.req.Manifest)
}

// look reads what there is, refuses what may not be deployed over it, and gives the services that have to be written.
func (d *deployment) look(ctx context.Context) ([]compose.Service, error) {
	if err := d.checkOwnFiles(ctx); err != nil {
		return nil, err
	}
	var err error
	if d.there, err = d.engine.readThere(ctx, d.req.Name, d.made); err != nil {
		return nil, err
	}
	if err := d.claim(ctx); err != nil {
		return nil, err
	}
	if err := d.match(); err != nil {
		return nil, err
	}
	var changed []compose.Service
	for _, service := range d.made.Services {
		differs, err := d.differs(ctx, service)
		if err != nil {
			return nil, err
		}
		if differs {
			changed = append(changed, service)
		}
	}
	return changed, nil
}

// differs says whether a service is not there as the manifest has it.
func (d *deployment) differs(ctx context.Context, service compose.Service) (bool, error) {
	live, there := d.there.services[service.Spec.Name]
	if !there || !d.resolves(service) {
		return true, nil
	}
	if modeOf(live.Spec.Mode) != modeOf(service.Spec.Mode) {
		return false, &stack.ManifestError{Line: service.Line, Err: fmt.Errorf(
			"service %s is %s, and Swarm changes no service's mode: remove the service first", service.Spec.Name, modeOf(live.Spec.Mode))}
	}
	return d.differsFrom(ctx, d.resolved(service), &live.Spec)
}

func modeOf(mode swarm.ServiceMode) string {
	f := fields{}
	f.mode(mode)
	return f["mode"]
}

// differsFrom compares a spec as it would be written with one that is there.
func (d *deployment) differsFrom(ctx context.Context, want swarm.ServiceSpec, live *swarm.ServiceSpec) (bool, error) {
	if want.Labels[labelOwner] != live.Labels[labelOwner] || want.Labels[labelRevision] != live.Labels[labelRevision] {
		return true, nil
	}
	wanted, err := d.engine.compared(ctx, d.there.list, &want)
	if err != nil {
		return false, err
	}
	found, err := d.engine.compared(ctx, d.there.list, live)
	return !wanted.equal(found), err
}

// write makes what is missing, writes the services that have to be, but those that Swarm has rolled back, and waits for all but
// those that are held back.
func (d *deployment) write(ctx context.Context, changed []compose.Service, heldBack []string) error {
	barred, refused := d.barred(ctx, changed)
	if refused != nil && !IsRolledBack(refused) {
		return refused
	}
	if err := d.makeMissing(ctx); err != nil {
		return err
	}
	for _, service := range changed {
		if slices.Contains(barred, service.Spec.Name) || slices.Contains(heldBack, service.Spec.Name) {
			continue
		}
		if err := d.writeService(ctx, service); err != nil {
			return errors.Join(refused, err)
		}
	}
	return errors.Join(refused, d.converge(ctx, append(barred, heldBack...)))
}
