// Package swarm is the engine of stacks on a Docker Swarm: a stack is a compose file, and what it makes are the services,
// networks, configs and secrets of one namespace. It speaks to a manager's API by the client of the Moby project, and starts no
// docker command.
//
// What DeployStack makes carries the label com.docker.stack.namespace, by which "docker stack ls" knows it too, and on services,
// networks, configs and secrets the labels squadron.owner and squadron.revision. The owner's label is what counts: what carries
// another's is never changed or removed, whatever its name. The revision is a hash of what the manifest says of that one thing.
//
// # What an Engine can do
//
// An Engine is a stack.Backend and a stack.OwnerLister, offers every interface of package capability, and what package reconcile
// asks for beside: LiveStacks, LookOnce and CheckDeploy.
//
// What it leaves alone: images are deployed as they are written, and never resolved to a digest; volumes are made by the nodes
// that need them, stay there, and are not swept, since no manager knows of them.
//
// # Rollbacks
//
// Where Swarm itself rolls a service back (failure_action: rollback), DeployStack reports that with an error of IsRolledBack, and
// does not write the same thing again as long as the service is in that state: what failed once would fail again, and each
// attempt costs the service its replicas for a while. Another manifest is deployed. To have the same one tried again, bring the
// service out of that state first ("docker service update --force").
package swarm

import (
	"context"
	"errors"
	"maps"
	"os"
	"slices"
	"time"

	"github.com/moby/moby/client"

	"github.com/squadronctl/squadron/capability"
	"github.com/squadronctl/squadron/internal/errmask"
	"github.com/squadronctl/squadron/internal/namelock"
	"github.com/squadronctl/squadron/logging"
	"github.com/squadronctl/squadron/stack"
)

// API is what an Engine asks of a Docker engine that is a manager of a swarm. A *client.Client is one.
type API interface {
	ServiceList(ctx context.Context, options client.ServiceListOptions) (client.ServiceListResult, error)
	ServiceInspect(ctx context.Context, id string, options client.ServiceInspectOptions) (client.ServiceInspectResult, error)
	ServiceCreate(ctx context.Context, options client.ServiceCreateOptions) (client.ServiceCreateResult, error)
	ServiceUpdate(ctx context.Context, id string, options client.ServiceUpdateOptions) (client.ServiceUpdateResult, error)
	ServiceRemove(ctx context.Context, id string, options client.ServiceRemoveOptions) (client.ServiceRemoveResult, error)
	TaskList(ctx context.Context, options client.TaskListOptions) (client.TaskListResult, error)
	NodeList(ctx context.Context, options client.NodeListOptions) (client.NodeListResult, error)
	NetworkList(ctx context.Context, options client.NetworkListOptions) (client.NetworkListResult, error)
	NetworkInspect(ctx context.Context, id string, options client.NetworkInspectOptions) (client.NetworkInspectResult, error)
	NetworkCreate(ctx context.Context, name string, options client.NetworkCreateOptions) (client.NetworkCreateResult, error)
	NetworkRemove(ctx context.Context, id string, options client.NetworkRemoveOptions) (client.NetworkRemoveResult, error)
	ConfigList(ctx context.Context, options client.ConfigListOptions) (client.ConfigListResult, error)
	ConfigInspect(ctx context.Context, id string, options client.ConfigInspectOptions) (client.ConfigInspectResult, error)
	ConfigCreate(ctx context.Context, options client.ConfigCreateOptions) (client.ConfigCreateResult, error)
	ConfigRemove(ctx context.Context, id string, options client.ConfigRemoveOptions) (client.ConfigRemoveResult, error)
	SecretList(ctx context.Context, options client.SecretListOptions) (client.SecretListResult, error)
	SecretInspect(ctx context.Context, id string, options client.SecretInspectOptions) (client.SecretInspectResult, error)
	SecretCreate(ctx context.Context, options client.SecretCreateOptions) (client.SecretCreateResult, error)
	SecretRemove(ctx context.Context, id string, options client.SecretRemoveOptions) (client.SecretRemoveResult, error)
}

// Config is what New needs. A zero field means its default, save for Client and Store, which have to be there.
type Config struct {
	// Client speaks to a manager of the swarm. The engine does not close it. Each request may take a minute.
	Client API
	// Store keeps each manifest before it is deployed.
	Store stack.RevisionStore
	// Own is the name of the stack that the calling program runs in itself; empty where it runs in none.
	Own string
	// OwnService is the name on the cluster of the service that the calling program is; one that the manifest does not make tells
	// nothing. By default it is Own's only service, or the one with a task whose container has this host's name, as containers have
	// by default. Where neither tells, all of Own's services are handed over, see WithSelfRelease.
	OwnService string
	// ReadFile reads a file that a stack's manifest names, by the path written there. nil: a manifest that needs a file is refused.
	ReadFile func(stack, path string) ([]byte, error)
	// Lookup gives a variable for interpolation in manifests. nil: none is set.
	Lookup func(name string) (string, bool)
	// WaitTimeout is how long a deployment may wait without any progress of the services, 5 minutes by default; the delay and monitor
	// of a rollout under way do not count. RemoveStack waits as long for the stack's tasks to end.
	WaitTimeout time.Duration
	// PollInterval is the pause between two looks while the engine waits, 500 ms by default.
	PollInterval time.Duration
	// Logger is told what is written; nil means silence.
	Logger logging.Logger
}

// Engine deploys stacks on a swarm. Its methods are safe for use by many goroutines at once; what changes one stack is done one
// after the other. The methods With… give engines that differ in one thing and share all else.
type Engine struct {
	*core
	credentials stack.Credentials
	forbidden   map[string]struct{}
	allow       stack.Allow
	hold        capability.DeferSelf
	notify      func(service string)
}

// core is what an Engine shares with those made of it.
type core struct {
	config     Config
	api        API
	host       string
	locks      *namelock.Locks
	networks   *networkNames
	rolledBack *rolledBack
	logger     logging.Logger
	// fresh is what reads the cluster each time; nil where that is this one.
	fresh *core
}

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
	_ API                            = (*client.Client)(nil)
)

const (
	defaultWaitTimeout  = 5 * time.Minute
	defaultPollInterval = 500 * time.Millisecond
)

// New makes an Engine. It does not touch the cluster. An error is a Config that lacks something.
func New(config Config) (*Engine, error) {
	const operation = "make an engine for a swarm"
	if config.Client == nil {
		return nil, errmask.Maskf(errors.New("the Config has no Client"), operation)
	}
	if config.Store == nil {
		return nil, errmask.Maskf(errors.New("the Config has no Store"), operation)
	}
	if config.WaitTimeout <= 0 {
		config.WaitTimeout = defaultWaitTimeout
	}
	if config.PollInterval <= 0 {
		config.PollInterval = defaultPollInterval
	}
	host, err := os.Hostname()
	if err != nil {
		host = "" // then it does not tell which service is the own one
	}
	return &Engine{core: &core{
		config: config, api: bounded{config.Client}, host: host,
		locks:      &namelock.Locks{},
		networks:   &networkNames{},
		rolledBack: &rolledBack{revisions: map[string]string{}},
		logger:     logging.OrSilent(config.Logger),
	}}, nil
}

// WithRegistryAuth implements capability.RegistryAuth. The credential for the registry of a service's image goes along when the
// service is created or updated; one that has changed since is no reason for a write.
func (e *Engine) WithRegistryAuth(credentials stack.Credentials) stack.Backend {
	changed := *e
	changed.credentials = credentials
	return &changed
}

// WithForbiddenSecrets implements capability.ForbidSecrets. The names are those of secrets and configs. The stack named by
// Config.Own may use them: they are its own. What Swarm says is mounted into a service of that stack is forbidden to all others
// even without being named here.
func (e *Engine) WithForbiddenSecrets(names map[string]struct{}) stack.Backend {
	changed := *e
	changed.forbidden = maps.Clone(names)
	return &changed
}

// WithAllowedReferences implements capability.AllowedReferences. Of allow all but Units are looked at. What counts as a reference:
//
//   - to another stack's, or nobody's, networks, configs, secrets and volumes: each that the manifest calls external, Docker's own
//     networks such as host among them, and each volume with a name of its own that does not begin with STACK_;
//   - to the host's files: what is bind-mounted, the device of a local volume, the socket of a logging driver. A socket of a
//     container engine, and a directory above it, is allowed only where HostPaths names it itself. Symbolic links nobody sees.
func (e *Engine) WithAllowedReferences(allow stack.Allow) stack.Backend {
	changed := *e
	changed.allow = stack.Allow{
		HostPaths: slices.Clone(allow.HostPaths), Secrets: slices.Clone(allow.Secrets), Configs: slices.Clone(allow.Configs),
		Volumes: slices.Clone(allow.Volumes), Networks: slices.Clone(allow.Networks),
	}
	return &changed
}

// WithSelfRelease implements capability.SelfRelease. DeployStack of the own stack then makes what the other services need, writes
// them and waits for them. Handed over is the write of the service that the program is, where it has to be written, and the wait
// for it. What is left to do when the process ends meanwhile its successor does in its first pass.
func (e *Engine) WithSelfRelease(hold capability.DeferSelf) stack.Backend {
	if hold == nil {
		return e
	}
	changed := *e
	changed.hold = hold
	return &changed
}

// WithOutOfBandNotifier implements capability.OutOfBand.
func (e *Engine) WithOutOfBandNotifier(notify func(service string)) stack.Backend {
	changed := *e
	changed.notify = notify
	return &changed
}

// SwarmNodes implements capability.SwarmSizer: the nodes that the swarm lists, whatever they do.
func (e *Engine) SwarmNodes(ctx context.Context) (int, error) {
	nodes, err := e.api.NodeList(ctx, client.NodeListOptions{})
	return len(nodes.Items), errmask.Maskf(classed(ctx, err), "count the nodes of the swarm")
}

// isOwn says whether a stack is the one that the calling program runs in.
func (c *core) isOwn(name string) bool { return name != "" && name == c.config.Own }

// pause waits for a while, or until ctx ends.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
