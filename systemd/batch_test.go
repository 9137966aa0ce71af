package systemd

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A run serves all who asked before it began, and nobody who asked later.
func TestBatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var life lifetime
		runs := 0
		b := &batch[struct{}]{life: &life, run: forAll(func(context.Context) error {
			runs++
			time.Sleep(time.Second)
			return fmt.Errorf("run %d", runs)
		})}
		var wait sync.WaitGroup
		ask := func(want string) { wait.Go(func() { assert.EqualError(t, b.do(t.Context(), ""), want) }) }
		ask("run 1")
		synctest.Wait()
		for range 50 {
			ask("run 2")
		}
		synctest.Wait()
		time.Sleep(time.Second + time.Millisecond)
		ask("run 3")
		wait.Wait()
		assert.Equal(t, 3, runs)
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		assert.ErrorIs(t, b.do(ctx, ""), context.DeadlineExceeded)
		life.end()
		assert.Equal(t, 4, runs)
		assert.ErrorIs(t, b.do(t.Context(), ""), errClosed)
	})
}

// Many changes at once cost few reloads: those that come while one runs share the next.
func TestReloadsAreShared(t *testing.T) {
	const units = 40
	s := newSite(t, Config{})
	s.fake.keeps = true
	name := func(i int) string { return fmt.Sprintf("web@%d.service", i) }
	for i := range units {
		require.NoError(t, s.host.Submit(t.Context(), name(i), service("a")))
	}
	asked := make(chan struct{})
	s.fake.onCall = func(call string) {
		if call == "reload" {
			<-asked
		}
	}
	var wait sync.WaitGroup
	var done sync.WaitGroup
	done.Add(units)
	go func() { done.Wait(); close(asked) }()
	s.host.step = func(step string) {
		if step == "directories on disk" {
			done.Done()
		}
	}
	for i := range units {
		wait.Go(func() { assert.NoError(t, s.host.Submit(t.Context(), name(i), service("b"))) })
	}
	wait.Wait()
	assert.LessOrEqual(t, s.fake.count("reload"), 3)
	assert.Positive(t, s.fake.count("reload"))
}
