package task

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func sleepFor(d time.Duration) Action {
	return func(context.Context) error {
		time.Sleep(d)
		return nil
	}
}

func TestR32WaitEndsWithTheTask(t *testing.T) {
	tests := map[string]struct {
		storage Storage
		wait    time.Duration
		looks   int
	}{
		"memory storage notifies":        {storage: NewMemoryStorage(), wait: 2500 * time.Millisecond},
		"a foreign one is looked at":     {storage: newSharingStorage(), wait: 3 * time.Second, looks: 4},
		"a watcher that is always early": {storage: earlyWatcher{newSharingStorage()}, wait: 3 * time.Second, looks: 5},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := NewTaskService(Config{Storage: test.storage, WaitSleep: time.Second})
				begin := time.Now()
				ended := finished(t, s, sleepFor(2500*time.Millisecond))
				assert.True(t, HasSucceededStatus(ended))
				assert.Equal(t, test.wait, time.Since(begin))
				if foreign := foreignStorage(test.storage); foreign != nil {
					assert.Equal(t, test.looks+1, foreign.looks, "looks of the wait, and the one before the final write")
				}
				_, err := s.WaitForFinalStatus(t.Context(), ended.ID, nil)
				require.NoError(t, err)
				assert.Equal(t, test.wait, time.Since(begin), "a wait for a final task took time")
			})
		})
	}
}

// earlyWatcher breaks Watcher's word: the channel is closed before the task is final.
type earlyWatcher struct{ *sharingStorage }

func (earlyWatcher) Watch(string) (<-chan struct{}, func()) { return closedChannel(), func() {} }

func foreignStorage(s Storage) *sharingStorage {
	switch s := s.(type) {
	case *sharingStorage:
		return s
	case earlyWatcher:
		return s.sharingStorage
	default:
		return nil
	}
}

func TestR32ManyWaitsSeeOneEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := NewTaskService(Config{WaitSleep: time.Hour})
		created := create(t, s, sleepFor(time.Minute))
		begin := time.Now()
		var wg sync.WaitGroup
		for range 20 {
			wg.Go(func() {
				ended, err := s.WaitForFinalStatus(t.Context(), created.ID, nil)
				assert.NoError(t, err)
				assert.True(t, HasSucceededStatus(ended))
				assert.Equal(t, time.Minute, time.Since(begin))
			})
		}
		wg.Wait()
	})
}

func TestWaitIsEndedByCloserOrContext(t *testing.T) {
	for name, newStorage := range map[string]func() Storage{
		"memory":  NewMemoryStorage,
		"foreign": func() Storage { return newSharingStorage() },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := NewTaskService(Config{Storage: newStorage(), WaitSleep: time.Hour})
				created := create(t, s, untilEnd)
				begin := time.Now()

				closer := make(chan struct{})
				time.AfterFunc(time.Second, func() { close(closer) })
				got, err := s.WaitForFinalStatus(t.Context(), created.ID, closer)
				assert.NoError(t, err)
				assert.Nil(t, got)
				assert.Equal(t, time.Second, time.Since(begin))

				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				got, err = s.WaitForFinalStatus(ctx, created.ID, nil)
				assert.ErrorIs(t, err, context.DeadlineExceeded)
				assert.ErrorContains(t, err, created.ID)
				assert.Nil(t, got)
				assert.Equal(t, 2*time.Second, time.Since(begin))

				require.NoError(t, s.(Shutdowner).Shutdown(t.Context()))
				got, err = s.WaitForFinalStatus(ctx, created.ID, closer)
				assert.NoError(t, err, "a final task is returned whatever has ended")
				assert.True(t, HasFailedStatus(got))
			})
		})
	}
}

func TestWaitsThatEndedLeaveNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		storage := NewMemoryStorage().(*memoryStorage)
		s := NewTaskService(Config{Storage: storage})
		created := create(t, s, untilEnd)
		closed := make(chan struct{})
		close(closed)
		for range 100 {
			_, err := s.WaitForFinalStatus(t.Context(), created.ID, closed)
			require.NoError(t, err)
		}
		assert.Zero(t, storage.entries[created.ID].watchers)
		require.NoError(t, s.(Shutdowner).Shutdown(t.Context()))
	})
}
