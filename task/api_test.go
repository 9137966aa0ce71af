package task_test

import (
	"context"
	"testing"
	"time"

	"github.com/squadronctl/squadron/logging"
	"github.com/squadronctl/squadron/task"
)

// Every name of spec/companions.md at its exact type: this file compiles or the contract is broken.
var (
	_ func(*task.Task) bool          = task.HasFailedStatus
	_ func(*task.Task) bool          = task.HasFinalStatus
	_ func(*task.Task) bool          = task.HasSucceededStatus
	_ func() task.Storage            = task.NewMemoryStorage
	_ func() task.Config             = task.DefaultConfig
	_ func(task.Config) task.Service = task.NewTaskService
	_ func(error) bool               = task.IsTaskObjectNotFound
	_ task.Action                    = func(context.Context) error { return nil }
	_ exactService                   = task.Service(nil)
	_ task.Service                   = exactService(nil)
	_ exactStorage                   = task.Storage(nil)
	_ task.Storage                   = exactStorage(nil)
)

const (
	_ task.ActiveStatus = task.StatusStarted
	_ task.ActiveStatus = task.StatusStopped
	_ task.FinalStatus  = task.StatusFailed
	_ task.FinalStatus  = task.StatusSucceeded
	_                   = task.ContextTaskID
)

type exactService interface {
	Create(ctx context.Context, action task.Action) (*task.Task, error)
	FetchState(ctx context.Context, taskID string) (*task.Task, error)
	MarkAsSucceeded(ctx context.Context, taskObject *task.Task) (*task.Task, error)
	MarkAsFailedWithError(ctx context.Context, taskObject *task.Task, err error) (*task.Task, error)
	PersistState(ctx context.Context, taskObject *task.Task) error
	WaitForFinalStatus(ctx context.Context, taskID string, closer <-chan struct{}) (*task.Task, error)
}

type exactStorage interface {
	Get(taskID string) (*task.Task, error)
	Set(taskObject *task.Task) error
}

func TestStructsHaveTheirFields(t *testing.T) {
	_ = task.Task{ActiveStatus: task.StatusStarted, Error: error(nil), FinalStatus: task.StatusFailed, ID: ""}
	_ = task.Config{Storage: task.Storage(nil), WaitSleep: time.Second, Logger: logging.Logger(nil)}
}
