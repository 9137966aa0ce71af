// Package controller operates groups of systemd units on a cluster.
//
// A group is a set of unit files that share a name prefix; a slice is one copy of it. Submit, Start, Stop, Destroy and
// Update each check their request, start a task that does the work, and return; WaitForTask follows the task to its
// end. GetStatus and WaitForStatus look at what is there, and an Aggregator adds fleet's and systemd's states up to one
// Status.
//
// NewController needs a backend (fleet.NewFleet for a cluster, fleet.NewDummyFleet or package fleettest for tests) and
// a task service (task.NewTaskService). Errors are told apart by the Is… predicates; faults of a request come from the
// call, what only the cluster can tell fails the task.
package controller

import (
	"context"
	"io"
	"sync"
	"time"

	"github.com/squadronctl/squadron/fleet"
	"github.com/squadronctl/squadron/internal/errmask"
	"github.com/squadronctl/squadron/logging"
	"github.com/squadronctl/squadron/task"
)

// Controller operates groups of units. All methods are safe for use by many goroutines at once, and none changes or
// keeps what it is given.
//
// The value of NewController also satisfies Scaler, Planner and Pauser, which stand apart so that this interface can stay
// as it is, and io.Closer: Close ends the tasks that this controller started, waits for them, and closes the backend where
// that is an io.Closer, so that controllers which share a backend end together. It leaves the task service alone, which
// may be shared.
//
// An operation's task can be cancelled through the task service, where that is a task.Canceler. A cancelled Submit takes
// back what it has written half-way, a cancelled Update ends what is under way, any other operation stops where it is.
type Controller interface {
	// ExtendWithExistingSliceIDs gives the request with its slice IDs replaced by those found on the cluster, sorted.
	// None found is no error. It looks at the cluster, for WaitTimeout at most.
	ExtendWithExistingSliceIDs(req Request) (Request, error)
	// GroupNeedsUpdate compares the cluster's content with the request's units. It gives the request reduced to the
	// slices that need an update, and true; or the request as it was, and false. Nothing found is IsUnitNotFound.
	GroupNeedsUpdate(ctx context.Context, req Request) (Request, bool, error)
	// Submit puts the request's units on the cluster with desired state loaded: DesiredSlices new slices with IDs of its
	// own choice, or those of SliceIDs. The task succeeds when every unit is stopped, which is loaded and not running.
	// Faults of the request are a ValidationError from the call. A unit that exists with another content fails the task
	// with IsUnitConflict before the first write; one that exists with the same content is brought back to loaded, which
	// stops it where it runs. Writes that fail half-way are taken back; a wait that runs out (IsWaitTimeoutReached)
	// leaves the units to be looked at.
	Submit(ctx context.Context, req Request) (*task.Task, error)
	// Start sets the desired state of the units found to launched. The task succeeds when every unit is running; it fails
	// with IsUnitNotFound, IsUnitSliceNotFound or IsAmbiguousGroup before the first write, with IsUnitFailed as soon as a
	// unit has failed, with IsWaitTimeoutReached when WaitTimeout ends first.
	Start(ctx context.Context, req Request) (*task.Task, error)
	// Stop sets the desired state of the units found to loaded. The task succeeds when every unit is stopped or failed, or
	// has no machine; it fails as Start does, but for IsUnitFailed.
	Stop(ctx context.Context, req Request) (*task.Task, error)
	// Destroy removes the units found. The task succeeds when they are gone; it fails as Start does, but for IsUnitFailed.
	Destroy(ctx context.Context, req Request) (*task.Task, error)
	// GetStatus looks at the cluster and gives the status of the units found, sorted by name: those of the request's
	// slices, or of all, and only those of the unit bases it names, if any. Nothing found is IsUnitNotFound; a slice of the
	// request that is not there is IsUnitSliceNotFound. A unit that has a machine which has not reported of it yet has an
	// entry for that machine with empty systemd states, which an Aggregator does not know.
	GetStatus(ctx context.Context, req Request) ([]fleet.UnitStatus, error)
	// WaitForStatus blocks until each unit of the request has had one of the desired statuses WaitCount times in a row.
	// It returns nil then, and when closer is closed; the context's error when ctx ends; IsWaitTimeoutReached when
	// WaitTimeout ends first, naming what was missing; IsUnitFailed when running was wanted and a unit has failed; and
	// IsUnitNotFound at once when a request without units and slices matches nothing and not-found is not wanted.
	WaitForStatus(ctx context.Context, req Request, closer <-chan struct{}, desiredStatuses ...Status) error
	// WaitForTask blocks until the task has ended and gives it then; a failed task is no error of the wait. It returns
	// nil and nil when closer is closed, and the context's error when ctx ends.
	WaitForTask(ctx context.Context, taskID string, closer <-chan struct{}) (*task.Task, error)
	// Update replaces the group's slices whose content differs from the request's, under the bounds of opts, and sees to
	// it that there are as many slices as wanted: DesiredSlices, or else as many as there are. Slices named in SliceIDs
	// are the only ones that may be replaced. A new slice gets a new ID, unless slices are missing and SliceIDs name some
	// that are not there: those are made first. With DesiredSlices given, a group that is not there at all is created and
	// started. An instance group is updated in place.
	//
	// The call itself looks at the cluster, under ctx, and refuses what opts forbid with IsUpdateNotAllowed before anything
	// is touched; IsGroupBusy says that an update of the group is under way. A task that finds nothing to do fails with
	// IsUnitsAlreadyUpToDate; one whose SliceIDs name no slice that is there, in a group that needs no more, with
	// IsUnitSliceNotFound. One that could not be carried through fails with IsUpdateFailed, and says which slices are
	// new and which old; the same request, with DesiredSlices set, goes on where it ended.
	Update(ctx context.Context, req Request, opts UpdateOptions) (*task.Task, error)
}

// Config is what NewController needs. A zero field means its default, save for Fleet and TaskService, without which
// every operation is IsInvalidArgument.
type Config struct {
	// Fleet is the backend. The controller closes it when it is closed itself.
	Fleet fleet.Fleet
	// TaskService runs the operations.
	TaskService task.Service
	// WaitCount is how many times in a row a desired status must be seen to be final; 3 by default.
	WaitCount int
	// WaitSleep is the pause between two looks; 1 s by default. Where the backend is a fleet.UnitWatcher, waits for a status
	// look after each change as well, and WaitCount times within milliseconds; so does an update as long as slices go away, while
	// that new ones run is confirmed with the pause.
	WaitSleep time.Duration
	// WaitTimeout is the longest wait for a status; 5 min by default.
	WaitTimeout time.Duration
	// Logger is where operations are logged; nil means silence.
	Logger logging.Logger

	// Concurrency is how many unit operations of one step run side by side. By default it is what the backend advises
	// (fleet.ConcurrencyAdviser), or else 8.
	Concurrency int
	// FailureGrace is after which time a failure that stood before an operation's write counts as one of the operation;
	// 30 s by default.
	FailureGrace time.Duration
	// OneshotGrace is for how long a launched service of Type=oneshot must be inactive to count as run where no look
	// caught it active; 30 s by default.
	OneshotGrace time.Duration
	// CleanupTimeout is the longest time that taking back a half-way write may last; 1 min by default.
	CleanupTimeout time.Duration
	// Stamp makes Submit and Update write [X-Squadron] Group=… into each unit, so that groups are told apart by more
	// than their names, and a unit that is no longer in the request goes with the next Update. Contents are compared
	// stamped then. Off by default: what a backend is given is what the caller passed, byte for byte.
	Stamp bool
}

// DefaultConfig gives a Config with all defaults: WaitCount 3, WaitSleep 1 s, WaitTimeout 5 min, the fleet at
// file:///var/run/fleet.sock, and tasks kept in memory.
func DefaultConfig() Config {
	config := Config{TaskService: task.NewTaskService(task.DefaultConfig())}
	// A client for the default endpoint can't fail; if it did, the nil Fleet would say so at the first operation.
	if client, err := fleet.NewFleet(fleet.DefaultConfig()); err == nil {
		config.Fleet = client
	}
	return config.withDefaults()
}

func (c Config) withDefaults() Config {
	c.WaitCount = positiveOr(c.WaitCount, 3)
	c.WaitSleep = positiveOr(c.WaitSleep, time.Second)
	c.WaitTimeout = positiveOr(c.WaitTimeout, 5*time.Minute)
	if adviser, ok := c.Fleet.(fleet.ConcurrencyAdviser); ok {
		c.Concurrency = positiveOr(c.Concurrency, adviser.Concurrency())
	}
	c.Concurrency = positiveOr(c.Concurrency, 8)
	c.FailureGrace = positiveOr(c.FailureGrace, 30*time.Second)
	c.OneshotGrace = positiveOr(c.OneshotGrace, 30*time.Second)
	c.CleanupTimeout = positiveOr(c.CleanupTimeout, time.Minute)
	c.Logger = logging.OrSilent(c.Logger)
	return c
}

func positiveOr[T int | time.Duration](value, otherwise T) T {
	if value > 0 {
		return value
	}
	return otherwise
}

// NewController makes a Controller. It does not touch the cluster.
func NewController(config Config) Controller {
	config = config.withDefaults()
	c := &controller{
		config:     config,
		aggregator: Aggregator{Logger: config.Logger},
		busy:       newBusyGroups(),
		births:     newBirths(),
	}
	c.life, c.endLife = context.WithCancelCause(context.Background())
	if config.Fleet != nil {
		c.backend = newBackend(config.Fleet, config.Logger)
		c.observer = newObserver(c.backend, config.WaitSleep)
		c.observer.settle = settleTime / time.Duration(config.WaitCount)
	}
	return c
}

// controller is what NewController returns.
type controller struct {
	config     Config
	aggregator Aggregator
	backend    *backend
	observer   *observer
	busy       *busyGroups
	births     *births

	life    context.Context // ends when the controller is closed
	endLife context.CancelCauseFunc
	mutex   sync.Mutex // guards closed, and each Add of running against Close
	closed  bool
	running sync.WaitGroup // tasks, and calls that work by themselves
}

var (
	_ Controller = (*controller)(nil)
	_ io.Closer  = (*controller)(nil)
)

// errClosed is the cause with which a closed controller's operations end.
var errClosed = errmask.Maskf(context.Canceled, "the controller was closed")

// Close ends the tasks that this controller started, and the calls under way, and waits for them: they fail with
// context.Canceled in their errors' chains. Then it closes the backend where that is an io.Closer. A second Close does
// nothing.
func (c *controller) Close() error {
	c.mutex.Lock()
	alreadyClosed := c.closed
	c.closed = true
	c.mutex.Unlock()
	if alreadyClosed {
		return nil
	}
	c.endLife(errClosed)
	c.running.Wait()
	if closer, ok := c.config.Fleet.(io.Closer); ok {
		return errmask.Maskf(closer.Close(), "close the backend")
	}
	return nil
}

// configured says whether the controller has what it needs to operate.
func (c *controller) configured() error {
	switch {
	case c.config.Fleet == nil:
		return errmask.Maskf(errInvalidArgument, "the controller's Config has no Fleet")
	case c.config.TaskService == nil:
		return errmask.Maskf(errInvalidArgument, "the controller's Config has no TaskService")
	}
	return nil
}

// ready says whether the controller can operate at all.
func (c *controller) ready() error {
	if err := c.configured(); err != nil {
		return err
	}
	if c.life.Err() != nil {
		return errmask.Mask(context.Cause(c.life))
	}
	return nil
}

// enter is the begin of a call that works by itself: it says whether the controller can, and gives a context that ends
// with the controller, which waits until leave has been called.
func (c *controller) enter(ctx context.Context) (inside context.Context, leave func(), err error) {
	if err := c.configured(); err != nil {
		return nil, nil, err
	}
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.closed {
		return nil, nil, errmask.Mask(errClosed)
	}
	c.running.Add(1)
	inside, stop := endWith(ctx, c.life)
	return inside, func() {
		stop()
		c.running.Done()
	}, nil
}

// createTask runs action as a task named by operation. The action's context ends with the task and with the controller.
func (c *controller) createTask(ctx context.Context, operation string, action task.Action) (*task.Task, error) {
	c.mutex.Lock()
	if c.closed {
		c.mutex.Unlock()
		return nil, errmask.Maskf(errClosed, "%s", operation)
	}
	c.running.Add(1)
	c.mutex.Unlock()

	created, err := c.config.TaskService.Create(ctx, func(ctx context.Context) error {
		defer c.running.Done()
		ctx, stop := endWith(ctx, c.life)
		defer stop()
		return errmask.Maskf(action(ctx), "%s", operation)
	})
	if err != nil {
		c.running.Done()
		return nil, errmask.Maskf(err, "%s: create the task", operation)
	}
	return created, nil
}

// WaitForTask implements Controller.
func (c *controller) WaitForTask(ctx context.Context, taskID string, closer <-chan struct{}) (*task.Task, error) {
	if err := c.configured(); err != nil {
		return nil, errmask.Maskf(err, "wait for task %s", taskID)
	}
	final, err := c.config.TaskService.WaitForFinalStatus(ctx, taskID, closer)
	return final, errmask.Maskf(err, "wait for task %s", taskID)
}
