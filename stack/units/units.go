// Package units is the engine of stacks that are groups of systemd units: on a fleet cluster, on one host's systemd, or on a
// double in a test, whatever is a fleet.Fleet.
//
// A stack is a group. What DeployStack puts on the cluster it stamps: [X-Squadron] says of each unit of which group it is, who
// owns it, and of which revision. The revision is a hash of the unit files alone, so that another number of slices, or other
// bounds, replace nothing. The stamp is what counts: a unit without it is never changed, stopped or removed, whatever its name.
//
// # What an Engine can do
//
// An Engine is a stack.Backend, and offers these of package capability: AllowedReferences, SelfRelease, StackServicesReader,
// StacksReader, LiveDrift, DeclaredLister, ResourceRemover and SwarmSizer; stack.OwnerLister; and what package reconcile asks
// for beside: LiveStacks, LookOnce and CheckDeploy. It leaves out RegistryAuth, ForbidSecrets, NetworkNamer and ResourceLister,
// since units know no such things, and OutOfBand, since fleet knows no compare-and-swap: nobody learns that somebody else wrote
// at the same moment.
//
// For want of that, two owners who deploy a stack of one name in the same moment, neither having been there before, are not
// kept apart. Later passes show it: each finds the other's stamp and is refused.
package units

import (
	"context"
	"errors"
	"io"
	"slices"
	"time"

	"github.com/squadronctl/squadron/capability"
	"github.com/squadronctl/squadron/controller"
	"github.com/squadronctl/squadron/fleet"
	"github.com/squadronctl/squadron/internal/errmask"
	"github.com/squadronctl/squadron/internal/namelock"
	"github.com/squadronctl/squadron/logging"
	"github.com/squadronctl/squadron/stack"
	"github.com/squadronctl/squadron/task"
)

// Config is what New needs. A zero field means its default, save for Fleet and Store, which have to be there.
type Config struct {
	// Fleet is where the units go. It has to be a fleet.UnitReader and a fleet.ContentReader, as all of this project's are:
	// without them nobody could tell whose a unit is. The engine does not close it.
	Fleet fleet.Fleet
	// Store keeps each manifest before it is deployed.
	Store stack.RevisionStore
	// Own is the name of the stack that the calling program runs in itself; empty where it runs in none.
	Own string
	// WaitCount, WaitSleep and WaitTimeout are as in controller.Config. WaitTimeout bounds a look at the cluster, too, and how
	// long one new slice may take to run.
	WaitCount              int
	WaitSleep, WaitTimeout time.Duration
	// Logger is told what is done; nil means silence.
	Logger logging.Logger
}

// Engine deploys stacks of units. Its methods are safe for use by many goroutines at once; what changes one stack is done one
// after the other. The methods With… give engines that differ in one thing and share all else: Close of one closes all.
type Engine struct {
	*core
	allow stack.Allow
	hold  capability.DeferSelf
	seen  *seen // what its reads go by; nil where each looks at the cluster
}

// core is what an Engine shares with those made of it.
type core struct {
	config     Config
	reader     fleet.UnitReader
	contents   *contents
	lenses     *lenses
	locks      namelock.Locks
	controller controller.Controller
	tasks      task.Service
	logger     logging.Logger
}

var (
	_ stack.Backend                  = (*Engine)(nil)
	_ stack.OwnerLister              = (*Engine)(nil)
	_ capability.AllowedReferences   = (*Engine)(nil)
	_ capability.SelfRelease         = (*Engine)(nil)
	_ capability.StackServicesReader = (*Engine)(nil)
	_ capability.StacksReader        = (*Engine)(nil)
	_ capability.LiveDrift           = (*Engine)(nil)
	_ capability.DeclaredLister      = (*Engine)(nil)
	_ capability.ResourceRemover     = (*Engine)(nil)
	_ capability.SwarmSizer          = (*Engine)(nil)
	_ io.Closer                      = (*Engine)(nil)
)

const defaultWaitTimeout = 5 * time.Minute

// New makes an Engine. It does not touch the cluster. An error is a Config that lacks something.
func New(config Config) (*Engine, error) {
	const operation = "make an engine of units"
	if config.Fleet == nil {
		return nil, errmask.Maskf(errors.New("the Config has no Fleet"), operation)
	}
	if config.Store == nil {
		return nil, errmask.Maskf(errors.New("the Config has no Store"), operation)
	}
	reader, readsUnits := config.Fleet.(fleet.UnitReader)
	texts, readsContents := config.Fleet.(fleet.ContentReader)
	if !readsUnits || !readsContents {
		return nil, errmask.Maskf(
			errors.New("the Fleet can't read units and their contents, so nobody could tell whose a unit is"), operation)
	}
	if config.WaitTimeout <= 0 {
		config.WaitTimeout = defaultWaitTimeout
	}
	c := &core{
		config:   config,
		reader:   reader,
		contents: newContents(texts),
		lenses:   &lenses{byGroup: map[string]lens{}},
		tasks:    task.NewTaskService(task.Config{Logger: config.Logger}),
		logger:   logging.OrSilent(config.Logger),
	}
	concurrency := 0 // the controller's default
	if adviser, ok := config.Fleet.(fleet.ConcurrencyAdviser); ok {
		concurrency = adviser.Concurrency()
	}
	c.controller = controller.NewController(controller.Config{
		Fleet: newView(config.Fleet, c.lenses), TaskService: c.tasks, Logger: config.Logger, Concurrency: concurrency,
		WaitCount: config.WaitCount, WaitSleep: config.WaitSleep, WaitTimeout: config.WaitTimeout,
	})
	return &Engine{core: c}, nil
}

// Close ends what the engine is doing and waits for it: it fails with context.Canceled in its errors' chains. The Fleet stays
// open.
func (e *Engine) Close() error {
	var err error
	if closer, ok := e.controller.(io.Closer); ok {
		err = closer.Close()
	}
	if own := e.config.Own; own != "" { // an update of it may have been left behind
		unlock, lockErr := e.locks.Lock(context.Background(), own)
		if lockErr != nil {
			return errors.Join(err, lockErr)
		}
		unlock()
	}
	return err
}

// WithAllowedReferences implements capability.AllowedReferences. Of allow, HostPaths and Units are looked at: units know
// nothing of the rest. What counts as a reference:
//
//   - to the host's files: EnvironmentFile=, BindPaths=, BindReadOnlyPaths=, LoadCredential=, LoadCredentialEncrypted=,
//     OpenFile=, RootDirectory=, RootImage=, MountImages=, ExtensionImages= and ExtensionDirectories=; StandardInput=,
//     StandardOutput= and StandardError= with a file; what a path unit watches, a mount unit mounts, and a socket listens at.
//     A path with a specifier (%t, %h) is allowed only as it is written. What a unit executes is no reference, nor are the
//     arguments: ExecStart= has to run something of the host, and what is said there nobody can read but the program.
//   - to units: all dependencies of [Unit], the Unit= of a timer, path or automount, Sockets= and Service=, on a unit that
//     the cluster has, and that is not this stack's. A unit of the host, such as docker.service, is nobody's, and may be
//     depended on. MachineOf=, Conflicts= and Replaces= of [X-Fleet] name units of the cluster only, so anything but the
//     manifest's own units counts, whether it is there or not. A name in allow.Units is the unit's, its template's, which
//     stands for all slices, or the text as it is written.
//
// Networks of containers and the like can't be seen in unit files.
func (e *Engine) WithAllowedReferences(allow stack.Allow) stack.Backend {
	changed := *e
	changed.allow = stack.Allow{HostPaths: slices.Clone(allow.HostPaths), Units: slices.Clone(allow.Units)}
	return &changed
}

// WithSelfRelease implements capability.SelfRelease. Handed over is the whole update of the own stack, once it is sure that
// something has to be done: the process ends at that point of it where its own slice goes, after its successor has become
// ready, since the own stack is updated with a MaxGrowth of 1 at least. What is left to do then the successor does in its first
// pass. When the context of what was handed over ends, as it does where the process is asked to end, the update does not keep
// the process: it is left behind, half done, and Close cuts it off. A stack without slices would be stopped before its successor
// is there, with nobody left to make that; so it is a *stack.ManifestError.
func (e *Engine) WithSelfRelease(hold capability.DeferSelf) stack.Backend {
	if hold == nil {
		return e
	}
	changed := *e
	changed.hold = hold
	return &changed
}

// isOwn says whether a stack is the one that the calling program runs in.
func (c *core) isOwn(name string) bool { return name != "" && name == c.config.Own }

// SwarmNodes implements capability.SwarmSizer: the number of machines that are alive. fleet forgets one that is down. A Fleet
// that is no fleet.MachineReader gives an error.
func (e *Engine) SwarmNodes(ctx context.Context) (int, error) {
	machines, ok := e.config.Fleet.(fleet.MachineReader)
	if !ok {
		return 0, errmask.Maskf(errors.New("the Fleet can't list machines"), "count the machines")
	}
	found, err := machines.ReadMachines(ctx)
	return len(found), errmask.Maskf(err, "count the machines")
}
