// Package task runs operations that take longer than the call that starts them.
//
// Service.Create starts an action in a goroutine of its own and returns a Task, by whose ID anybody can follow it:
// FetchState looks once, WaitForFinalStatus waits for the end. NewTaskService keeps tasks in memory unless it is given
// another Storage. What is returned is always a copy; a task never shares memory with its callers.
//
// The first final status of a task stays: whatever marks or persists it later changes nothing.
package task

import (
	"context"
	"time"

	"github.com/squadronctl/squadron/logging"
)

// Action is the work of a task. The context carries the values of the context given to Create and, under
// ContextTaskID, the task's ID; it ends when the task is cancelled or its service shut down, and not when the caller's
// context does. It also ends once the action has returned.
//
// The task succeeds when the action returns nil and fails with the error that it returns, which is kept as it is. An
// action that panics, or ends its goroutine by runtime.Goexit, fails as well.
type Action func(ctx context.Context) error

// ActiveStatus says whether a task's action still runs.
type ActiveStatus string

// The active statuses.
const (
	StatusStarted ActiveStatus = "started"
	StatusStopped ActiveStatus = "stopped"
)

// FinalStatus says how a task ended; it is empty until then.
type FinalStatus string

// The final statuses.
const (
	StatusFailed    FinalStatus = "failed"
	StatusSucceeded FinalStatus = "succeeded"
)

// Task is the state of one asynchronous operation at the moment it was read.
type Task struct {
	// ActiveStatus is started or stopped.
	ActiveStatus ActiveStatus
	// Error is why the task failed; nil unless FinalStatus is failed.
	Error error
	// FinalStatus is empty until the task has ended, then failed or succeeded.
	FinalStatus FinalStatus
	// ID names the task.
	ID string
}

// contextKey is the type of this package's keys into a context's values.
type contextKey string

// ContextTaskID is the context key under which an action finds its task's ID, a string.
const ContextTaskID contextKey = "task-id"

// Service creates and follows tasks. All of its methods may be called by many goroutines at once, from within an action
// too. The errors of the Storage come back masked. A task object that is nil or has no ID, and a nil action, give an
// error for which IsInvalidArgument is true.
//
// FetchState, PersistState and the two Mark methods do not ask whether ctx has ended, so that an action which was
// cancelled can still note its state.
type Service interface {
	// Create stores a task as started, runs action in a goroutine of its own and returns at once. Nothing is started when
	// it returns an error: ctx's when that has ended, the Storage's, or, after Shutdown, one for which IsShutdown is true.
	//
	// When the Storage refuses the final state, it is offered that a few times more, WaitSleep apart and not beyond
	// Shutdown; then the loss is logged as an error, and the task stays as it was stored last.
	Create(ctx context.Context, action Action) (*Task, error)
	// FetchState looks at the task once. IsTaskObjectNotFound tells that the task is not known, or no longer.
	FetchState(ctx context.Context, taskID string) (*Task, error)
	// MarkAsSucceeded stores the task as stopped and succeeded and returns what is stored then, which is the older state
	// when the task was final before. taskObject itself is left alone; of it only the ID counts, and that may be one that
	// Create didn't make. A running action is not stopped by it.
	MarkAsSucceeded(ctx context.Context, taskObject *Task) (*Task, error)
	// MarkAsFailedWithError is as MarkAsSucceeded, for stopped and failed, with err as the task's error; a nil err is
	// replaced by one that says that none was given.
	MarkAsFailedWithError(ctx context.Context, taskObject *Task, err error) (*Task, error)
	// PersistState stores a copy of the task as it is, unless the stored one is final: then it does nothing.
	PersistState(ctx context.Context, taskObject *Task) error
	// WaitForFinalStatus returns the task once it is final; at once when it is already. It returns nil and nil as soon as
	// closer is closed, where a nil closer never is, and ctx's error, masked, when that ends first. Any error of the
	// Storage ends the wait too, as does a task that is not known (IsTaskObjectNotFound).
	WaitForFinalStatus(ctx context.Context, taskID string, closer <-chan struct{}) (*Task, error)
}

// Storage keeps tasks. It must be safe for use by many goroutines at once. A service gives it copies, and copies what it
// gets. One that can tell when a task becomes final implements Watcher too.
type Storage interface {
	// Get returns the task that Set stored under this ID last. For an unknown ID it returns nil and nil, or an error for
	// which IsTaskObjectNotFound is true.
	Get(taskID string) (*Task, error)
	// Set stores the task under its ID, in place of an older state.
	Set(taskObject *Task) error
}

// Watcher is what a Storage that can notify offers beside it; that of NewMemoryStorage does. With any other Storage,
// waits look at the task every Config.WaitSleep.
type Watcher interface {
	// Watch returns a channel that is closed once the task is final, at once when it is already or is not known. The
	// task is kept until stop is called, so that who waits can also read it. Each Watch needs its stop, once.
	Watch(taskID string) (final <-chan struct{}, stop func())
}

// Canceler is what a Service that can cancel a task offers beside it; the one of NewTaskService does.
type Canceler interface {
	// Cancel asks the task to end: the context of its action ends, and an action that heeds it fails with
	// context.Canceled in its error's chain. It does not wait for that. Cancelling a task that has ended does nothing; one
	// that is not known gives an error for which IsTaskObjectNotFound is true, and one that is stored as started, but
	// whose action this service does not run, an error too.
	Cancel(ctx context.Context, taskID string) error
}

// Shutdowner is what a Service that can end all its tasks offers beside it; the one of NewTaskService does.
type Shutdowner interface {
	// Shutdown cancels every task, makes further calls of Create fail, and waits until every action has returned and its
	// end is stored, or ctx ends, in which case it returns the context's error. Unlike Cancel it also ends the contexts
	// made by KeepOn. It may be called again, to wait longer. An action must not wait for it, since it waits for the action.
	Shutdown(ctx context.Context) error
}

// Config is what NewTaskService needs. Zero fields mean their defaults.
type Config struct {
	// Storage keeps the tasks; NewMemoryStorage() by default.
	Storage Storage
	// WaitSleep is the pause between two looks at a Storage that cannot notify; 1 s by default.
	WaitSleep time.Duration
	// Logger is where a panic of an action is reported, and a final state that could not be stored; nil means silence.
	Logger logging.Logger
}
