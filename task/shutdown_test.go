package task

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestR41CancelEndsOneTask(t *testing.T) {
	s := NewTaskService(Config{})
	var cause error
	one := create(t, s, func(ctx context.Context) error {
		<-ctx.Done()
		cause = context.Cause(ctx)
		return ctx.Err()
	})
	other := create(t, s, untilEnd)

	require.NoError(t, s.(Canceler).Cancel(t.Context(), one.ID))
	ended, err := s.WaitForFinalStatus(t.Context(), one.ID, nil)
	require.NoError(t, err)
	assert.True(t, HasFailedStatus(ended))
	assert.ErrorIs(t, ended.Error, context.Canceled)
	assert.EqualError(t, cause, "task is cancelled")
	assert.ErrorIs(t, cause, context.Canceled)
	assert.False(t, IsShutdown(cause))

	require.NoError(t, s.(Canceler).Cancel(t.Context(), one.ID), "cancelling an ended task does nothing")
	assert.False(t, HasFinalStatus(fetch(t, s, other.ID)))
	require.NoError(t, s.(Shutdowner).Shutdown(t.Context()))
}

func TestCancelOfATaskThatIsRunElsewhere(t *testing.T) {
	s := NewTaskService(Config{})
	require.NoError(t, s.PersistState(t.Context(), &Task{ID: "elsewhere", ActiveStatus: StatusStarted}))
	err := s.(Canceler).Cancel(t.Context(), "elsewhere")
	assert.EqualError(t, err, "cancel task elsewhere: this service does not run it")
	assert.False(t, IsTaskObjectNotFound(err))
}

func TestR41ShutdownEndsAllAndWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := NewTaskService(Config{})
		var created []*Task
		for range 5 {
			created = append(created, create(t, s, func(ctx context.Context) error {
				<-ctx.Done()
				time.Sleep(time.Minute) // ends what is under way
				return context.Cause(ctx)
			}))
		}
		begin := time.Now()
		require.NoError(t, s.(Shutdowner).Shutdown(t.Context()))
		assert.Equal(t, time.Minute, time.Since(begin))
		for _, c := range created {
			ended := fetch(t, s, c.ID)
			assert.True(t, HasFailedStatus(ended))
			assert.ErrorIs(t, ended.Error, context.Canceled)
			assert.True(t, IsShutdown(ended.Error))
		}

		_, err := s.Create(t.Context(), succeed)
		assert.True(t, IsShutdown(err))
		assert.EqualError(t, err, "create task: task service is shut down")
		assert.NotErrorIs(t, err, context.Canceled, "Create's own context has not ended")
		require.NoError(t, s.(Shutdowner).Shutdown(t.Context()), "a second time")
	})
}

func TestShutdownOfAnIdleServiceNeedsNoTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		s := NewTaskService(Config{})
		finished(t, s, succeed)
		synctest.Wait()
		require.NoError(t, s.(Shutdowner).Shutdown(ended))
	})
}

func TestShutdownStopsWaitingWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := NewTaskService(Config{})
		release := make(chan struct{})
		created := create(t, s, func(context.Context) error {
			<-release
			return nil
		})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		assert.ErrorIs(t, s.(Shutdowner).Shutdown(ctx), context.DeadlineExceeded)

		close(release)
		require.NoError(t, s.(Shutdowner).Shutdown(t.Context()))
		assert.True(t, HasSucceededStatus(fetch(t, s, created.ID)), "an action that heeds nothing ends as it likes")
	})
}

func TestShutdownDoesNotWaitForAStorageThatRefuses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		storage := newSharingStorage()
		storage.setErr = func(task *Task) error {
			if HasFinalStatus(task) {
				return errTest
			}
			return nil
		}
		var logger memoryLogger
		s := NewTaskService(Config{Storage: storage, Logger: &logger, WaitSleep: time.Hour})
		create(t, s, untilEnd)
		begin := time.Now()
		require.NoError(t, s.(Shutdowner).Shutdown(t.Context()))
		assert.Zero(t, time.Since(begin))
		assert.Len(t, logger.lines, 1)
	})
}

// ends reports whether ctx has ended by the time that nothing in the bubble moves any more.
func ends(ctx context.Context) bool {
	synctest.Wait()
	return ctx.Err() != nil
}

func TestR6KeepOnEndsAtShutdownAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		type key struct{}
		s := NewTaskService(Config{})
		contexts := make(chan context.Context, 3)
		created := create(t, s, func(ctx context.Context) error {
			derived, cancel := context.WithTimeout(context.WithValue(ctx, key{}, "value"), time.Second)
			kept := KeepOn(derived)
			cancel()
			below, cancelBelow := context.WithCancelCause(kept)
			defer cancelBelow(nil)
			contexts <- kept
			contexts <- below
			contexts <- KeepOn(context.WithoutCancel(kept))
			<-ctx.Done()
			<-below.Done()
			return errors.Join(ctx.Err(), context.Cause(below))
		})
		kept, below, again := <-contexts, <-contexts, <-contexts
		all := []context.Context{kept, below, again}

		require.NoError(t, s.(Canceler).Cancel(t.Context(), created.ID))
		for _, ctx := range all {
			assert.False(t, ends(ctx))
			assert.NoError(t, context.Cause(ctx))
			assert.Equal(t, "value", ctx.Value(key{}))
			assert.Equal(t, created.ID, ctx.Value(ContextTaskID))
			_, hasDeadline := ctx.Deadline()
			assert.False(t, hasDeadline)
		}

		require.NoError(t, s.(Shutdowner).Shutdown(t.Context()))
		for _, ctx := range all {
			assert.True(t, ends(ctx))
			assert.Equal(t, context.Canceled, ctx.Err())
			assert.True(t, IsShutdown(context.Cause(ctx)))
		}
		assert.True(t, IsShutdown(fetch(t, s, created.ID).Error))
	})
}

func TestKeepOnOutlivesItsAction(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := NewTaskService(Config{})
		var kept context.Context
		finished(t, s, func(ctx context.Context) error {
			kept = KeepOn(ctx)
			return nil
		})
		assert.False(t, ends(kept))
		require.NoError(t, s.(Shutdowner).Shutdown(t.Context()))
		assert.True(t, ends(kept))
	})
}

func TestKeepOnBelongsToTheInnermostService(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		outer, inner := NewTaskService(Config{}), NewTaskService(Config{})
		var kept context.Context
		finished(t, outer, func(ctx context.Context) error {
			created, err := inner.Create(ctx, func(ctx context.Context) error {
				kept = KeepOn(ctx)
				return nil
			})
			assert.NoError(t, err)
			_, err = inner.WaitForFinalStatus(ctx, created.ID, nil)
			return err
		})
		require.NoError(t, outer.(Shutdowner).Shutdown(t.Context()))
		assert.False(t, ends(kept))
		require.NoError(t, inner.(Shutdowner).Shutdown(t.Context()))
		assert.True(t, ends(kept))
	})
}

func TestKeepOnWithoutAService(t *testing.T) {
	type key struct{}
	ctx, cancel := context.WithCancel(context.WithValue(t.Context(), key{}, "value"))
	kept := KeepOn(ctx)
	cancel()
	assert.NoError(t, kept.Err())
	assert.Nil(t, kept.Done())
	assert.Equal(t, "value", kept.Value(key{}))
}
