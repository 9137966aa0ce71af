package task

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m)
}

var errTest = errors.New("test error")

func succeed(context.Context) error { return nil }

func untilEnd(ctx context.Context) error {
	<-ctx.Done()
	return ctx.Err()
}

func create(t *testing.T, s Service, action Action) *Task {
	t.Helper()
	created, err := s.Create(t.Context(), action)
	require.NoError(t, err)
	return created
}

func fetch(t *testing.T, s Service, taskID string) *Task {
	t.Helper()
	found, err := s.FetchState(t.Context(), taskID)
	require.NoError(t, err)
	return found
}

// finished runs action as a task of s to its end.
func finished(t *testing.T, s Service, action Action) *Task {
	t.Helper()
	created := create(t, s, action)
	ended, err := s.WaitForFinalStatus(t.Context(), created.ID, nil)
	require.NoError(t, err)
	return ended
}

// sharingStorage is a foreign Storage: it can't notify, keeps and returns the very pointers that it was given, answers
// nil and nil for what it doesn't know, and fails when told to.
type sharingStorage struct {
	mutex  sync.Mutex
	tasks  map[string]*Task
	looks  int
	getErr func() error
	setErr func(*Task) error
}

func newSharingStorage() *sharingStorage {
	return &sharingStorage{
		tasks:  map[string]*Task{},
		getErr: func() error { return nil },
		setErr: func(*Task) error { return nil },
	}
}

func (s *sharingStorage) Get(taskID string) (*Task, error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.looks++
	return s.tasks[taskID], s.getErr()
}

func (s *sharingStorage) Set(taskObject *Task) error {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if err := s.setErr(taskObject); err != nil {
		return err
	}
	s.tasks[taskObject.ID] = taskObject
	return nil
}

// memoryLogger keeps the lines of level error and above.
type memoryLogger struct {
	mutex sync.Mutex
	lines []string
}

func (l *memoryLogger) add(level, f string, v []any) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.lines = append(l.lines, level+" "+fmt.Sprintf(f, v...))
}

func (l *memoryLogger) Debug(context.Context, string, ...interface{})   {}
func (l *memoryLogger) Info(context.Context, string, ...interface{})    {}
func (l *memoryLogger) Notice(context.Context, string, ...interface{})  {}
func (l *memoryLogger) Warning(context.Context, string, ...interface{}) {}
func (l *memoryLogger) Error(_ context.Context, f string, v ...interface{}) {
	l.add("ERROR", f, v)
}
func (l *memoryLogger) Critical(_ context.Context, f string, v ...interface{}) {
	l.add("CRITICAL", f, v)
}

func TestStatusPredicates(t *testing.T) {
	tests := []struct {
		task                     *Task
		failed, final, succeeded bool
	}{
		{task: nil},
		{task: &Task{}},
		{task: &Task{ActiveStatus: StatusStarted}},
		{task: &Task{ActiveStatus: StatusStopped, FinalStatus: StatusFailed}, failed: true, final: true},
		{task: &Task{ActiveStatus: StatusStopped, FinalStatus: StatusSucceeded}, final: true, succeeded: true},
	}
	for _, test := range tests {
		assert.Equal(t, test.failed, HasFailedStatus(test.task), "%+v", test.task)
		assert.Equal(t, test.final, HasFinalStatus(test.task), "%+v", test.task)
		assert.Equal(t, test.succeeded, HasSucceededStatus(test.task), "%+v", test.task)
	}
}

func TestR42ZeroConfigMeansDefaults(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, config := range []Config{{}, DefaultConfig(), {WaitSleep: -time.Second}} {
			s := NewTaskService(config)
			assert.True(t, HasSucceededStatus(finished(t, s, succeed)))
			assert.True(t, HasFailedStatus(finished(t, s, func(context.Context) error { panic("no logger") })))
			assert.Equal(t, time.Second, s.(*service).waitSleep)
		}
	})
}
