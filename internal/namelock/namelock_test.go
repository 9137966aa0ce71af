package namelock

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// One at a time has a name; who waits for it goes when his context ends; what nobody wants is forgotten.
func TestLocks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var locks Locks
		unlock, err := locks.Lock(t.Context(), "a")
		require.NoError(t, err)
		other, err := locks.Lock(t.Context(), "b")
		require.NoError(t, err)
		other()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err = locks.Lock(ctx, "a")
		assert.ErrorIs(t, err, context.DeadlineExceeded)
		_, err = locks.Lock(ctx, "c")
		assert.ErrorIs(t, err, context.DeadlineExceeded, "not even where it is free")
		got := errors.New("not yet")
		go func() {
			var unlock func()
			unlock, got = locks.Lock(t.Context(), "a")
			unlock()
		}()
		synctest.Wait()
		assert.Error(t, got)
		unlock()
		synctest.Wait()
		assert.NoError(t, got)
		assert.Empty(t, locks.byName)
	})
}
