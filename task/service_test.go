package task

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/juju/errgo"
	uuid "github.com/satori/go.uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestCreateReturnsWhileTheActionRuns(t *testing.T) {
	s := NewTaskService(Config{})
	release := make(chan struct{})
	created, err := s.Create(t.Context(), func(context.Context) error {
		<-release
		return nil
	})
	require.NoError(t, err)
	assert.Equal(t, &Task{ActiveStatus: StatusStarted, ID: created.ID}, created)
	id, err := uuid.FromString(created.ID)
	require.NoError(t, err)
	assert.EqualValues(t, 4, id.Version())
	assert.Equal(t, created, fetch(t, s, created.ID))

	close(release)
	ended, err := s.WaitForFinalStatus(t.Context(), created.ID, nil)
	require.NoError(t, err)
	assert.Equal(t, &Task{ActiveStatus: StatusStopped, FinalStatus: StatusSucceeded, ID: created.ID}, ended)
	assert.Equal(t, StatusStarted, created.ActiveStatus, "the copy that Create returned has changed")
}

func TestFailedTaskKeepsTheErrorAsItIs(t *testing.T) {
	ended := finished(t, NewTaskService(Config{}), func(context.Context) error { return errTest })
	assert.Equal(t, &Task{ActiveStatus: StatusStopped, Error: errTest, FinalStatus: StatusFailed, ID: ended.ID}, ended)
}

func TestCreateRefusesWhatItCannotRun(t *testing.T) {
	storage := newSharingStorage()
	s := NewTaskService(Config{Storage: storage})

	_, err := s.Create(t.Context(), nil)
	assert.True(t, IsInvalidArgument(err))
	assert.EqualError(t, err, "create task: action is nil: invalid argument")

	ended, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = s.Create(ended, succeed)
	assert.ErrorIs(t, err, context.Canceled)
	assert.Empty(t, storage.tasks)
}

func TestCreateStartsNothingThatItCannotStore(t *testing.T) {
	storage := newSharingStorage()
	storage.setErr = func(*Task) error { return errTest }
	s := NewTaskService(Config{Storage: storage})
	_, err := s.Create(t.Context(), func(context.Context) error {
		t.Error("action was started")
		return nil
	})
	assert.ErrorIs(t, err, errTest)
	require.NoError(t, s.(Shutdowner).Shutdown(t.Context()), "Shutdown must find nothing to wait for")
}

func TestR5TasksAreCopies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := NewTaskService(Config{Storage: newSharingStorage()})
		created := create(t, s, untilEnd)
		want := *created
		same := func() {
			t.Helper()
			assert.Equal(t, &want, fetch(t, s, want.ID))
		}
		spoil := func(task *Task) { *task = Task{ID: "spoiled"} }

		spoil(created)
		same()
		spoil(fetch(t, s, want.ID))
		same()

		mine := want
		require.NoError(t, s.PersistState(t.Context(), &mine))
		spoil(&mine)
		same()

		mine = want
		marked, err := s.MarkAsFailedWithError(t.Context(), &mine, errTest)
		require.NoError(t, err)
		assert.Equal(t, want, mine, "a Mark method has changed its argument")
		want = *marked
		spoil(marked)
		same()

		marked, err = s.MarkAsSucceeded(t.Context(), &mine)
		require.NoError(t, err)
		spoil(marked)
		same()

		ended, err := s.WaitForFinalStatus(t.Context(), want.ID, nil)
		require.NoError(t, err)
		spoil(ended)
		same()
		require.NoError(t, s.(Shutdowner).Shutdown(t.Context()))
	})
}

func TestC17CallersCancelDoesNotReachTheTask(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := NewTaskService(Config{})
		type key struct{}
		ctx, cancel := context.WithTimeout(context.WithValue(t.Context(), key{}, "value"), time.Minute)
		created, err := s.Create(ctx, func(ctx context.Context) error {
			time.Sleep(time.Hour)
			_, hasDeadline := ctx.Deadline()
			return errors.Join(ctx.Err(), fmt.Errorf("%v, %v, %v", ctx.Value(key{}), ctx.Value(ContextTaskID), hasDeadline))
		})
		cancel()
		require.NoError(t, err)
		ended, err := s.WaitForFinalStatus(t.Context(), created.ID, nil)
		require.NoError(t, err)
		assert.EqualError(t, ended.Error, "value, "+created.ID+", false")
	})
}

func TestContextOfAnActionEndsWithTheAction(t *testing.T) {
	var kept context.Context
	finished(t, NewTaskService(Config{}), func(ctx context.Context) error {
		kept = ctx
		return nil
	})
	<-kept.Done()
}

func TestC18PanicEndsItsTaskAndNothingElse(t *testing.T) {
	tests := map[string]struct {
		value any
		text  string
	}{
		"string":  {"boom", "panic: boom"},
		"error":   {errTest, "panic: test error"},
		"nil":     {nil, "panic: panic called with nil argument"},
		"pointer": {(*Task)(nil), "panic: <nil>"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var logger memoryLogger
			s := NewTaskService(Config{Logger: &logger})
			other := create(t, s, untilEnd)
			ended := finished(t, s, func(context.Context) error { panicWith(test.value); return nil })
			require.True(t, HasFailedStatus(ended))
			assert.EqualError(t, ended.Error, test.text)
			if test.value == errTest {
				assert.ErrorIs(t, ended.Error, errTest)
			}
			require.Len(t, logger.lines, 1)
			assert.True(t, strings.HasPrefix(logger.lines[0], "CRITICAL action of task "+ended.ID+": panic: "))
			assert.Contains(t, logger.lines[0], "panicWith", "the stack of the panic is missing")

			assert.False(t, HasFinalStatus(fetch(t, s, other.ID)))
			require.NoError(t, s.(Shutdowner).Shutdown(t.Context()))
		})
	}
}

func panicWith(v any) { panic(v) }

func TestGoexitFailsTheTask(t *testing.T) {
	s := NewTaskService(Config{})
	ended := finished(t, s, func(context.Context) error {
		runtime.Goexit()
		return nil
	})
	assert.True(t, HasFailedStatus(ended))
	assert.ErrorContains(t, ended.Error, "Goexit")
	require.NoError(t, s.(Shutdowner).Shutdown(t.Context()))
}

func TestFirstFinalStatusStays(t *testing.T) {
	for name, storage := range map[string]Storage{"memory": NewMemoryStorage(), "foreign": newSharingStorage()} {
		t.Run(name, func(t *testing.T) {
			s := NewTaskService(Config{Storage: storage, WaitSleep: time.Millisecond})
			ended := finished(t, s, func(context.Context) error { return errTest })

			got, err := s.MarkAsSucceeded(t.Context(), ended)
			require.NoError(t, err)
			assert.Equal(t, ended, got)
			got, err = s.MarkAsFailedWithError(t.Context(), ended, errors.New("another"))
			require.NoError(t, err)
			assert.Equal(t, ended, got)
			require.NoError(t, s.PersistState(t.Context(), &Task{ID: ended.ID, ActiveStatus: StatusStarted}))
			assert.Equal(t, ended, fetch(t, s, ended.ID))
		})
	}
}

// yieldingStorage lets others run between a look at a task and what follows.
type yieldingStorage struct{ Storage }

func (s yieldingStorage) Get(taskID string) (*Task, error) {
	defer func() {
		for range 100 {
			runtime.Gosched()
		}
	}()
	return s.Storage.Get(taskID)
}

func TestOneOfManyMarksWins(t *testing.T) {
	s := NewTaskService(Config{Storage: yieldingStorage{NewMemoryStorage()}})
	got := make([]*Task, 20)
	var wg sync.WaitGroup
	for i := range got {
		wg.Go(func() {
			var err error
			if got[i], err = s.MarkAsFailedWithError(t.Context(), &Task{ID: "mine"}, fmt.Errorf("%d", i)); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	for _, task := range got {
		assert.Equal(t, got[0], task)
	}
}

func TestMarkWhileTheActionRuns(t *testing.T) {
	var logger memoryLogger
	s := NewTaskService(Config{Logger: &logger})
	release := make(chan struct{})
	created, err := s.Create(t.Context(), func(context.Context) error {
		<-release
		return errTest
	})
	require.NoError(t, err)
	_, err = s.MarkAsSucceeded(t.Context(), created)
	require.NoError(t, err)
	ended, err := s.WaitForFinalStatus(t.Context(), created.ID, nil)
	require.NoError(t, err)
	assert.True(t, HasSucceededStatus(ended))

	close(release)
	require.NoError(t, s.(Shutdowner).Shutdown(t.Context()))
	assert.Equal(t, ended, fetch(t, s, created.ID))
	assert.Equal(t, []string{"ERROR action of task " + created.ID +
		" failed after the task was marked as succeeded: test error"}, logger.lines)
}

func TestMarkAsFailedWithoutAnError(t *testing.T) {
	got, err := NewTaskService(Config{}).MarkAsFailedWithError(t.Context(), &Task{ID: "mine"}, nil)
	require.NoError(t, err)
	assert.True(t, HasFailedStatus(got))
	assert.Error(t, got.Error)
}

func TestTaskObjectsAreChecked(t *testing.T) {
	s := NewTaskService(Config{})
	for _, taskObject := range []*Task{nil, {}} {
		_, err := s.MarkAsSucceeded(t.Context(), taskObject)
		assert.True(t, IsInvalidArgument(err))
		_, err = s.MarkAsFailedWithError(t.Context(), taskObject, errTest)
		assert.True(t, IsInvalidArgument(err))
		assert.True(t, IsInvalidArgument(s.PersistState(t.Context(), taskObject)))
		assert.True(t, IsInvalidArgument(NewMemoryStorage().Set(taskObject)))
	}
}

func TestStorageErrorsComeBack(t *testing.T) {
	storage := newSharingStorage()
	storage.getErr = func() error { return errTest }
	s := NewTaskService(Config{Storage: storage})
	mine := &Task{ID: "mine"}
	_, err := s.FetchState(t.Context(), "mine")
	assert.ErrorIs(t, err, errTest)
	_, err = s.WaitForFinalStatus(t.Context(), "mine", nil)
	assert.ErrorIs(t, err, errTest)
	assert.ErrorIs(t, s.(Canceler).Cancel(t.Context(), "mine"), errTest)
	assert.ErrorIs(t, s.PersistState(t.Context(), mine), errTest)

	storage.getErr = func() error { return nil }
	storage.setErr = func(*Task) error { return errTest }
	_, err = s.MarkAsSucceeded(t.Context(), mine)
	assert.EqualError(t, err, "mark task mine as succeeded: store its state: test error")
	got, err := s.MarkAsFailedWithError(t.Context(), mine, errors.New("other"))
	assert.ErrorIs(t, err, errTest)
	assert.Nil(t, got)
}

func TestFinalStateIsOfferedAgain(t *testing.T) {
	tests := map[string]struct {
		refusals int
		logged   int
	}{
		"accepted at last":       {refusals: finishTries - 1},
		"kept until it is taken": {refusals: finishTries + 1, logged: 1},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var logger memoryLogger
				storage := newSharingStorage()
				refusals := test.refusals
				storage.setErr = func(task *Task) error {
					if !HasFinalStatus(task) || refusals == 0 {
						return nil
					}
					refusals--
					return errTest
				}
				s := NewTaskService(Config{Storage: storage, Logger: &logger, WaitSleep: time.Second})
				created := create(t, s, succeed)
				time.Sleep(time.Minute)
				synctest.Wait()
				assert.True(t, HasFinalStatus(fetch(t, s, created.ID)), "the storage still refuses it")
				assert.True(t, HasFinalStatus(fetch(t, s, created.ID)), "the storage has it")
				stored, err := storage.Get(created.ID)
				require.NoError(t, err)
				assert.True(t, HasFinalStatus(stored))
				assert.Empty(t, s.(*service).unstored)
				assert.Len(t, logger.lines, test.logged)
				assert.Empty(t, s.(*service).running)
			})
		})
	}
}

func TestNotFoundAndItsPredicate(t *testing.T) {
	for name, storage := range map[string]Storage{"memory": NewMemoryStorage(), "foreign": newSharingStorage()} {
		s := NewTaskService(Config{Storage: storage})
		_, err := s.FetchState(t.Context(), "no such")
		assert.True(t, IsTaskObjectNotFound(err), name)
		assert.ErrorContains(t, err, `task "no such"`)
		_, err = s.WaitForFinalStatus(t.Context(), "no such", nil)
		assert.True(t, IsTaskObjectNotFound(err), name)
		assert.True(t, IsTaskObjectNotFound(s.(Canceler).Cancel(t.Context(), "no such")), name)
	}
}

func TestR35Predicates(t *testing.T) {
	predicates := map[error]func(error) bool{
		errTaskObjectNotFound: IsTaskObjectNotFound,
		errInvalidArgument:    IsInvalidArgument,
		errShutdown:           IsShutdown,
	}
	for sentinel, is := range predicates {
		masked := errgo.Mask(errgo.Mask(sentinel), errgo.Any)
		for _, err := range []error{sentinel, masked, fmt.Errorf("w: %w", masked), errors.Join(errTest, masked)} {
			assert.True(t, is(err), "%v", err)
		}
		assert.False(t, is(nil))
		assert.False(t, is(errTest))
		assert.False(t, is(errors.New(sentinel.Error())))
	}
}

// A wait ends with the task, though its final state could not be stored.
func TestR32WaitOutlastsTheStorage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		storage := newSharingStorage()
		storage.setErr = func(task *Task) error {
			if HasFinalStatus(task) {
				return errTest
			}
			return nil
		}
		s := NewTaskService(Config{Storage: storage, WaitSleep: time.Second})
		ended, err := s.WaitForFinalStatus(t.Context(), create(t, s, succeed).ID, nil)
		require.NoError(t, err)
		assert.True(t, HasSucceededStatus(ended))
	})
}

// A storage that panics fails the call, or keeps the state from being stored, and ends neither the process nor Shutdown.
func TestStorageThatPanics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		storage := newSharingStorage()
		panics := false
		storage.setErr = func(*Task) error {
			if panics {
				panic("storage")
			}
			return nil
		}
		s := NewTaskService(Config{Storage: storage, WaitSleep: time.Second})
		created := create(t, s, func(context.Context) error {
			panics = true
			return nil
		})
		ended, err := s.WaitForFinalStatus(t.Context(), created.ID, nil)
		require.NoError(t, err)
		assert.True(t, HasSucceededStatus(ended))
		_, err = s.Create(t.Context(), succeed)
		require.ErrorContains(t, err, "panic: storage")
		require.NoError(t, s.(Shutdowner).Shutdown(t.Context()))
	})
}
