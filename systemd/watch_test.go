package systemd

import (
	"context"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// next waits for a value.
func next(t *testing.T, watch <-chan struct{}, after string) {
	t.Helper()
	select {
	case _, ok := <-watch:
		require.True(t, ok, "the watch ended after %s", after)
	case <-time.After(10 * time.Second):
		require.Fail(t, "no value after "+after)
	}
}

// drain takes what has come up to now.
func drain(watch <-chan struct{}) {
	for {
		select {
		case <-watch:
		case <-time.After(50 * time.Millisecond):
			return
		}
	}
}

// A value comes after each change: those of this backend, those that systemd tells, and those of other programs in the
// directory; and none for other units.
func TestWatchUnits(t *testing.T) {
	s := newSite(t, Config{})
	require.NoError(t, s.host.SubmitLaunched(t.Context(), "web@1.service", service("a")))
	watch, err := s.host.WatchUnits(t.Context())
	require.NoError(t, err)
	signal := func(name string) {
		s.fake.mutex.Lock()
		defer s.fake.mutex.Unlock()
		s.fake.tell(name)
	}
	for _, change := range []struct {
		what string
		do   func() error
	}{
		{"a submit", func() error { return s.host.Submit(t.Context(), "web@2.service", service("a")) }},
		{"a start", func() error { return s.host.Start(t.Context(), "web@2.service") }},
		{"a stop", func() error { return s.host.Stop(t.Context(), "web@2.service") }},
		{"a destroy", func() error { return s.host.Destroy(t.Context(), "web@2.service") }},
		{"a signal", func() error { signal("web@1.service"); return nil }},
		{"a reload", func() error { signal(""); return nil }},
		{"a change by hand", func() error { return os.WriteFile(s.disk.file("web@1.service"), []byte("x"), 0o644) }},
		{"a stop by another program", func() error { return s.disk.unlaunch("web@1.service") }},
	} {
		drain(watch)
		require.NoError(t, change.do(), change.what)
		next(t, watch, change.what)
	}
	drain(watch)
	for range 100 {
		signal("other.service")
	}
	select {
	case <-watch:
		assert.Fail(t, "a value for a unit of somebody else's")
	default:
	}
}

// A reader who sleeps holds up nothing and finds one value.
func TestWatchCoalesces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &watcher{out: make(chan struct{}, 1)}
		for range 1000 {
			w.tell()
		}
		<-w.out
		select {
		case <-w.out:
			assert.Fail(t, "a second value")
		default:
		}
		w.close()
		w.tell()
		_, ok := <-w.out
		assert.False(t, ok)
	})
}

// The channel is closed when the context ends and when the connection breaks.
func TestWatchEnds(t *testing.T) {
	s := newSite(t, Config{})
	ctx, cancel := context.WithCancel(t.Context())
	watch, err := s.host.WatchUnits(ctx)
	require.NoError(t, err)
	other, err := s.host.WatchUnits(t.Context())
	require.NoError(t, err)
	cancel()
	for range watch {
	}
	require.NoError(t, s.host.Submit(t.Context(), "web@1.service", service("a")))
	next(t, other, "a submit")
	for ended := range s.fake.watches {
		s.fake.breakWatch(ended)
	}
	for range other {
	}
}
