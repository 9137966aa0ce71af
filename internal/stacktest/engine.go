package stacktest

import (
	"context"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/squadronctl/squadron/capability"
	"github.com/squadronctl/squadron/internal/errmask"
	"github.com/squadronctl/squadron/stack"
)

// Engine is a backend of one process on a Cluster. It offers every capability.
type Engine struct {
	cluster *Cluster
	store   stack.RevisionStore
	own     string
	lacks   string

	credentials stack.Credentials
	forbidden   map[string]struct{}
	allow       stack.Allow
	hold        capability.DeferSelf
	notify      func(string)
}

// NewEngine gives an engine that records in store what it deploys. own is the stack that the process runs in, "" for
// none.
func NewEngine(cluster *Cluster, store stack.RevisionStore, own string) *Engine {
	return &Engine{cluster: cluster, store: store, own: own}
}

// Capabilities of the engine, asserted at compile time.
var (
	_ stack.Backend                  = (*Engine)(nil)
	_ stack.OwnerLister              = (*Engine)(nil)
	_ capability.RegistryAuth        = (*Engine)(nil)
	_ capability.ForbidSecrets       = (*Engine)(nil)
	_ capability.AllowedReferences   = (*Engine)(nil)
	_ capability.SelfRelease         = (*Engine)(nil)
	_ capability.OutOfBand           = (*Engine)(nil)
	_ capability.StackServicesReader = (*Engine)(nil)
	_ capability.StacksReader        = (*Engine)(nil)
	_ capability.LiveDrift           = (*Engine)(nil)
	_ capability.NetworkNamer        = (*Engine)(nil)
	_ capability.DeclaredLister      = (*Engine)(nil)
	_ capability.ResourceLister      = (*Engine)(nil)
	_ capability.ResourceRemover     = (*Engine)(nil)
	_ capability.SwarmSizer          = (*Engine)(nil)
)

// with gives a changed copy, which lacks what the engine lacks.
func (e *Engine) with(change func(*Engine)) stack.Backend {
	changed := *e
	change(&changed)
	return Without(&changed, e.lacks)
}

// WithRegistryAuth pulls with these credentials.
func (e *Engine) WithRegistryAuth(credentials stack.Credentials) stack.Backend {
	return e.with(func(e *Engine) { e.credentials = credentials })
}

// WithForbiddenSecrets refuses a manifest that uses one of these.
func (e *Engine) WithForbiddenSecrets(names map[string]struct{}) stack.Backend {
	return e.with(func(e *Engine) { e.forbidden = maps.Clone(names) })
}

// WithAllowedReferences allows these.
func (e *Engine) WithAllowedReferences(allow stack.Allow) stack.Backend {
	return e.with(func(e *Engine) { e.allow = allow })
}

// WithSelfRelease hands the deployment of the own stack over.
func (e *Engine) WithSelfRelease(hold capability.DeferSelf) stack.Backend {
	return e.with(func(e *Engine) { e.hold = hold })
}

// WithOutOfBandNotifier tells of lost compare-and-swaps.
func (e *Engine) WithOutOfBandNotifier(notify func(service string)) stack.Backend {
	return e.with(func(e *Engine) { e.notify = notify })
}

// DeployStack checks, records, and writes one thing after the other.
func (e *Engine) DeployStack(ctx context.Context, req stack.DeployRequest) error {
	want, err := e.admit(req)
	if err != nil {
		return err
	}
	if err := e.store.AddRevision(ctx, req.Owner, req.Name, req.Manifest); err != nil {
		return err
	}
	if req.Name == e.own {
		e.hold(func(ctx context.Context) error { return e.converge(ctx, req.Owner, want) })
		return nil
	}
	return e.converge(ctx, req.Owner, want)
}

// CheckDeploy gives what DeployStack would be refused.
func (e *Engine) CheckDeploy(_ context.Context, req stack.DeployRequest) error {
	_, err := e.admit(req)
	return err
}

// admit refuses what may not be deployed.
func (e *Engine) admit(req stack.DeployRequest) (*declared, error) {
	want, err := parse(req.Manifest, req.Name)
	if err != nil {
		return nil, err
	}
	if err := e.check(want); err != nil {
		return nil, err
	}
	if err := e.claim(req); err != nil {
		return nil, err
	}
	if req.Name == e.own && e.hold == nil {
		return nil, errmask.Maskf(capability.ErrOwnStack, "deploy %s", req.Name)
	}
	return want, nil
}

func (e *Engine) check(want *declared) error {
	for _, secret := range want.usesSecrets {
		if _, forbidden := e.forbidden[secret]; forbidden {
			return errmask.Maskf(stack.ErrForbiddenReference, "secret %s", secret)
		}
		if !slices.Contains(e.allow.Secrets, secret) {
			return errmask.Maskf(stack.ErrForbiddenReference, "secret %s", secret)
		}
	}
	for _, mount := range want.mounts {
		if !slices.ContainsFunc(e.allow.HostPaths, func(dir string) bool { return dir == mount || strings.HasPrefix(mount, path.Clean(dir)+"/") }) {
			return errmask.Maskf(stack.ErrForbiddenReference, "host path %s", mount)
		}
	}
	return nil
}

func (e *Engine) claim(req stack.DeployRequest) error {
	e.cluster.mu.Lock()
	defer e.cluster.mu.Unlock()
	if err := e.cluster.read("DeployStack " + req.Name); err != nil {
		return err
	}
	if there := e.cluster.stacks[req.Name]; there != nil && there.owner != req.Owner {
		return errmask.Maskf(stack.ErrForeignStack, "deploy %s", req.Name)
	}
	return nil
}

// converge writes what differs. It stops at the first error, and where ctx has ended.
func (e *Engine) converge(ctx context.Context, owner string, want *declared) error {
	e.cluster.mu.Lock()
	defer e.cluster.mu.Unlock()
	for _, kind := range []string{"network", "config", "secret"} {
		for _, name := range slices.Sorted(maps.Keys(resourcesOf(&want.Stack, kind))) {
			if err := e.makeResource(owner, want, kind, name); err != nil {
				return err
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(want.Services)) {
		if err := ctx.Err(); err != nil {
			return errmask.Mask(err)
		}
		if err := e.makeService(ctx, owner, want.Name, name, want.Services[name].Fields); err != nil {
			return err
		}
	}
	return nil
}

func (e *Engine) makeResource(owner string, want *declared, kind, name string) error {
	if resourcesOf(&want.Stack, kind)[name].External {
		return nil
	}
	if there := e.cluster.stacks[want.Name]; there != nil && there.resources(kind)[name] != "" {
		return nil
	}
	if err := e.cluster.write("create " + name); err != nil {
		return err
	}
	id := e.cluster.id(kind)
	e.cluster.place(want.Name, owner).resources(kind)[name] = id
	if kind == "network" {
		e.cluster.networks[name] = id
	}
	return nil
}

func (e *Engine) makeService(ctx context.Context, owner, stackName, name string, fields map[string]string) error {
	c := e.cluster
	var there *service
	if placed := c.stacks[stackName]; placed != nil {
		there = placed.services[name]
	}
	op := "update "
	switch {
	case there == nil:
		op = "create "
	case maps.Equal(there.fields, fields):
		return nil
	}
	if c.stale[name] {
		delete(c.stale, name)
		if e.notify != nil {
			e.notify(name)
		}
	}
	if err := e.pull(ctx, name, fields["image"]); err != nil {
		return err
	}
	if err := c.write(op + name); err != nil {
		return err
	}
	if there == nil {
		there = &service{id: c.id("svc")}
		c.place(stackName, owner).services[name] = there
	}
	there.fields, there.status = maps.Clone(fields), stack.StatusRunning
	if c.behave != nil {
		there.status = c.behave(name)
	}
	return nil
}

func (e *Engine) pull(ctx context.Context, service, image string) error {
	registry, _, private := strings.Cut(image, "/")
	if !private {
		return nil
	}
	e.cluster.pulls[service] = "host"
	if e.credentials == nil {
		return nil
	}
	credential, err := e.credentials.Credential(ctx, registry)
	if err != nil {
		return errmask.Maskf(err, "pull %s", image)
	}
	e.cluster.pulls[service] = credential.Username
	return nil
}

// RemoveStack removes a stack, whoever's it is.
func (e *Engine) RemoveStack(_ context.Context, name string) error {
	if name == e.own && name != "" {
		return errmask.Maskf(capability.ErrOwnStack, "remove %s", name)
	}
	e.cluster.mu.Lock()
	defer e.cluster.mu.Unlock()
	if e.cluster.stacks[name] == nil {
		return nil
	}
	if err := e.cluster.write("remove " + name); err != nil {
		return err
	}
	delete(e.cluster.stacks, name)
	return nil
}
