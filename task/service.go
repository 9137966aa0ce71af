package task

import (
	"context"
	"sync"
	"time"

	uuid "github.com/satori/go.uuid"

	"github.com/squadronctl/squadron/internal/errmask"
	"github.com/squadronctl/squadron/logging"
)

const defaultWaitSleep = time.Second

// DefaultConfig is a memory storage of its own, a WaitSleep of 1 s, and silence.
func DefaultConfig() Config {
	return Config{
		Storage:   NewMemoryStorage(),
		WaitSleep: defaultWaitSleep,
		Logger:    logging.Silent(),
	}
}

// NewTaskService returns a Service that runs actions in this process; it is a Canceler and a Shutdowner too. It has no
// goroutine while no task runs.
func NewTaskService(config Config) Service {
	if config.Storage == nil {
		config.Storage = NewMemoryStorage()
	}
	if config.WaitSleep <= 0 {
		config.WaitSleep = defaultWaitSleep
	}
	s := &service{
		storage:   config.Storage,
		waitSleep: config.WaitSleep,
		logger:    logging.OrSilent(config.Logger),
		running:   map[string]context.CancelCauseFunc{},
		idle:      make(chan struct{}),
	}
	s.watcher, _ = config.Storage.(Watcher)
	s.ctx, s.stop = context.WithCancelCause(context.Background())
	return s
}

var _ interface {
	Service
	Canceler
	Shutdowner
} = (*service)(nil)

type service struct {
	storage   Storage
	watcher   Watcher // nil where storage can't notify
	waitSleep time.Duration
	logger    logging.Logger

	ctx  context.Context // ends at Shutdown, and has no values: see serviceContext
	stop context.CancelCauseFunc

	mutex   sync.Mutex // guards running and down
	running map[string]context.CancelCauseFunc
	down    bool
	idle    chan struct{} // closed once down and nothing runs

	unstored map[string]*Task // final states that the Storage did not take, at most maxUnstored; guarded by mutex

	writes sync.Mutex // makes reading and then writing a task's state one step
}

func (s *service) Create(ctx context.Context, action Action) (*Task, error) {
	if action == nil {
		return nil, errmask.Maskf(errInvalidArgument, "create task: action is nil")
	}
	if err := ctx.Err(); err != nil {
		return nil, errmask.Maskf(err, "create task")
	}
	started := Task{ActiveStatus: StatusStarted, ID: uuid.NewV4().String()}
	ctx, cancel := actionContext(ctx, s.ctx, started.ID)
	if !s.begin(started.ID, cancel) {
		cancel(nil)
		return nil, errmask.Maskf(errShutdown, "create task")
	}
	if err := s.set(&started); err != nil {
		s.end(started.ID)
		return nil, errmask.Maskf(err, "create task %s: store its start", started.ID)
	}
	go s.run(ctx, started.ID, action)
	return &started, nil
}

func (s *service) FetchState(ctx context.Context, taskID string) (*Task, error) {
	if final := s.retryUnstored(taskID); final != nil {
		return clone(final), nil
	}
	stored, err := s.get(taskID)
	if err == nil && stored == nil {
		err = errTaskObjectNotFound
	}
	if err != nil {
		return nil, errmask.Maskf(err, "fetch state of task %q", taskID)
	}
	return clone(stored), nil
}

func (s *service) MarkAsSucceeded(ctx context.Context, taskObject *Task) (*Task, error) {
	if err := checkTask(taskObject); err != nil {
		return nil, errmask.Maskf(err, "mark task as succeeded")
	}
	stored, err := s.write(ctx, finalTask(taskObject.ID, nil))
	return stored, errmask.Maskf(err, "mark task %s as succeeded", taskObject.ID)
}

func (s *service) MarkAsFailedWithError(ctx context.Context, taskObject *Task, reason error) (*Task, error) {
	if err := checkTask(taskObject); err != nil {
		return nil, errmask.Maskf(err, "mark task as failed")
	}
	if reason == nil {
		reason = errNoError
	}
	stored, err := s.write(ctx, finalTask(taskObject.ID, reason))
	return stored, errmask.Maskf(err, "mark task %s as failed", taskObject.ID)
}

func (s *service) PersistState(ctx context.Context, taskObject *Task) error {
	if err := checkTask(taskObject); err != nil {
		return errmask.Maskf(err, "persist state of task")
	}
	_, err := s.write(ctx, taskObject)
	return errmask.Maskf(err, "persist state of task %s", taskObject.ID)
}

// write stores the task unless the stored one is final, and returns what is stored then.
func (s *service) write(ctx context.Context, taskObject *Task) (*Task, error) {
	s.writes.Lock()
	defer s.writes.Unlock()
	stored, err := s.FetchState(ctx, taskObject.ID)
	if err != nil && !IsTaskObjectNotFound(err) {
		return nil, errmask.Mask(err)
	}
	if HasFinalStatus(stored) {
		return stored, nil
	}
	if err := s.set(taskObject); err != nil {
		return nil, errmask.Maskf(err, "store its state")
	}
	return taskObject, nil
}

// get reads from the Storage. One that panics has failed, and ends no process: it is also called from a task's goroutine.
func (s *service) get(taskID string) (stored *Task, err error) {
	defer recoverAsError(&err)
	return s.storage.Get(taskID)
}

// set gives the Storage a copy to keep.
func (s *service) set(taskObject *Task) (err error) {
	defer recoverAsError(&err)
	return s.storage.Set(clone(taskObject))
}

func recoverAsError(err *error) {
	if p := recover(); p != nil {
		*err = errmask.Maskf(panicError(p), "the storage")
	}
}

func checkTask(taskObject *Task) error {
	if taskObject == nil {
		return errmask.Maskf(errInvalidArgument, "task is nil")
	}
	if taskObject.ID == "" {
		return errmask.Maskf(errInvalidArgument, "task has no ID")
	}
	return nil
}

// finalTask is a task that ended with err, or succeeded when that is nil.
func finalTask(taskID string, err error) *Task {
	t := &Task{ActiveStatus: StatusStopped, Error: err, FinalStatus: StatusSucceeded, ID: taskID}
	if err != nil {
		t.FinalStatus = StatusFailed
	}
	return t
}

func clone(t *Task) *Task {
	c := *t
	return &c
}
