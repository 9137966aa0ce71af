package controller

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/squadronctl/squadron/fleet"
	"github.com/squadronctl/squadron/logging"
	"github.com/squadronctl/squadron/task"
)

// watched is a backend that tells of changes, when the test says so, and counts its looks.
type watched struct {
	*fleet.DummyFleet
	takes time.Duration // how long a look takes
	begin func() error  // what comes of beginning to watch

	mutex   sync.Mutex
	looks   []time.Time
	watches []chan struct{} // those that are not closed
	begun   int
}

func newWatched() *watched {
	return &watched{DummyFleet: fleet.NewDummyFleet(fleet.DefaultDummyConfig()), begin: func() error { return nil }}
}

func (w *watched) ReadUnits(ctx context.Context, selector fleet.Selector) (fleet.Listing, error) {
	w.mutex.Lock()
	w.looks = append(w.looks, time.Now())
	w.mutex.Unlock()
	listing, err := w.DummyFleet.ReadUnits(ctx, selector)
	if err := sleep(ctx, w.takes); err != nil {
		return fleet.Listing{}, err
	}
	return listing, err
}

func (w *watched) WatchUnits(ctx context.Context) (<-chan struct{}, error) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	w.begun++
	if err := w.begin(); err != nil {
		return nil, err
	}
	changes := make(chan struct{}, 1)
	w.watches = append(w.watches, changes)
	context.AfterFunc(ctx, func() { w.cut(changes) })
	return changes, nil
}

// cut closes a watch.
func (w *watched) cut(changes chan struct{}) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	if at := slices.Index(w.watches, changes); at >= 0 {
		w.watches = slices.Delete(w.watches, at, at+1)
		close(changes)
	}
}

// tell tells all who watch of a change.
func (w *watched) tell() {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	for _, changes := range w.watches {
		select {
		case changes <- struct{}{}:
		default:
		}
	}
}

// looksSince counts the looks that began since then.
func (w *watched) looksSince(then time.Time) int {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	count := 0
	for _, look := range w.looks {
		if !look.Before(then) {
			count++
		}
	}
	return count
}

// onWatched runs f in a bubble with a controller on a watched backend that has the unit web@1.service, loaded.
func onWatched(t *testing.T, f func(t *testing.T, w *watched, c Controller)) {
	synctest.Test(t, func(t *testing.T) {
		w := newWatched()
		require.NoError(t, w.Submit(t.Context(), "web@1.service", "[Service]\nExecStart=/bin/true\n"))
		c := NewController(Config{Fleet: w, TaskService: task.NewTaskService(task.DefaultConfig())})
		f(t, w, c)
		synctest.Wait()
		w.mutex.Lock()
		defer w.mutex.Unlock()
		assert.Empty(t, w.watches, "nobody waits, and the backend is still watched")
	})
}

// waiting waits for the group to run, and gives the time at which it did.
func waiting(t *testing.T, c Controller) <-chan time.Time {
	ended := make(chan time.Time, 1)
	go func() {
		assert.NoError(t, c.WaitForStatus(t.Context(), NewRequest(RequestConfig{Group: "web"}), nil, StatusRunning))
		ended <- time.Now()
	}()
	return ended
}

// A wait ends within 50 ms of the change, having seen it WaitCount times in a row (R15), and takes one look per WaitSleep while
// there is none (R19).
func TestWaitEndsWithTheChange(t *testing.T) {
	onWatched(t, func(t *testing.T, w *watched, c Controller) {
		w.takes = 3 * time.Millisecond
		ended := waiting(t, c)
		time.Sleep(300 * time.Millisecond)
		quiet := time.Now()
		time.Sleep(10 * time.Second)
		assert.InDelta(t, 10, w.looksSince(quiet), 1)

		changed := time.Now()
		require.NoError(t, w.Start(t.Context(), "web@1.service"))
		w.tell()
		assert.LessOrEqual(t, (<-ended).Sub(changed), 50*time.Millisecond)
		assert.Equal(t, 3, w.looksSince(changed))
	})
}

// A change that comes while a look is under way, which may have missed it, is looked at by the next one.
func TestChangeDuringALook(t *testing.T) {
	onWatched(t, func(t *testing.T, w *watched, c Controller) {
		w.takes = 10 * time.Millisecond
		ended := waiting(t, c)
		time.Sleep(300 * time.Millisecond)
		w.tell()
		synctest.Wait()
		time.Sleep(5 * time.Millisecond)
		changed := time.Now()
		require.NoError(t, w.Start(t.Context(), "web@1.service"))
		w.tell()
		assert.LessOrEqual(t, (<-ended).Sub(changed), 100*time.Millisecond)
	})
}

// However many changes there are, no more than half of the time is spent on looks, and all waits share them (R19).
func TestStormOfChangesR19(t *testing.T) {
	onWatched(t, func(t *testing.T, w *watched, c Controller) {
		w.takes = 20 * time.Millisecond
		var all []<-chan time.Time
		for range 20 {
			all = append(all, waiting(t, c))
		}
		time.Sleep(time.Second)
		storm := time.Now()
		for time.Since(storm) < 10*time.Second {
			w.tell()
			time.Sleep(time.Millisecond)
		}
		looks := w.looksSince(storm)
		assert.LessOrEqual(t, looks, int(10*time.Second/(2*w.takes))+1)
		assert.Greater(t, looks, 100, "changes are looked at")
		require.NoError(t, w.Start(t.Context(), "web@1.service"))
		for _, ended := range all {
			<-ended
		}
	})
}

// Where looks take longer than WaitSleep, a change puts none off: without it the next one would begin at once (R19).
func TestChangeDoesNotPutOffALook(t *testing.T) {
	onWatched(t, func(t *testing.T, w *watched, c Controller) {
		w.takes = 3 * time.Second
		ended := waiting(t, c)
		time.Sleep(10 * time.Second)
		storm := time.Now()
		for time.Since(storm) < 30*time.Second {
			w.tell()
			time.Sleep(100 * time.Millisecond)
		}
		assert.InDelta(t, 10, w.looksSince(storm), 1)
		changed := time.Now()
		require.NoError(t, w.Start(t.Context(), "web@1.service"))
		w.tell()
		assert.LessOrEqual(t, (<-ended).Sub(changed), 4*w.takes, "the look under way, and three that see it")
	})
}

// A look that nobody wants any longer when its turn comes is none: it puts off no other, and a change is still to be seen.
func TestAbandonedLookIsNone(t *testing.T) {
	o := newObserver(&backend{UnitReader: &reader{}, cancellable: true, logger: logging.Silent()}, time.Second)
	o.watch = &watch{live: true, changed: true}
	l := newLook(time.Now())
	l.serves = [paces]bool{patient: true, prompt: true}
	o.slot <- struct{}{}
	_, wanted := o.begin(l)
	assert.False(t, wanted)
	assert.True(t, o.steady.IsZero())
	assert.True(t, o.prompt.IsZero())
	assert.True(t, o.watch.changed)
	l.release()
	assert.Empty(t, o.slot)
}

// Looks of those who are patient, as an update is that takes nothing away, stay an interval apart whatever changes.
func TestChangesDoNotHurryThePatient(t *testing.T) {
	onWatched(t, func(t *testing.T, w *watched, c Controller) {
		ended := waiting(t, c)
		o := c.(*controller).observer
		var before time.Time
		for range 5 {
			for range 10 {
				w.tell()
				time.Sleep(17 * time.Millisecond)
			}
			_, err := o.look(t.Context(), fleet.Selector{}, patient)
			require.NoError(t, err)
			if !before.IsZero() {
				assert.GreaterOrEqual(t, time.Since(before), time.Second)
			}
			before = time.Now()
		}
		require.NoError(t, w.Start(t.Context(), "web@1.service"))
		<-ended
	})
}

// While the watch is broken, looks go on at their pace; it is begun anew, with a look at what was missed.
func TestBrokenWatch(t *testing.T) {
	for name, breaks := range map[string]func(w *watched){
		"error": func(w *watched) { w.begin = func() error { return errors.New("no bus") } },
		"panic": func(w *watched) { w.begin = func() error { panic("no bus") } },
	} {
		t.Run(name, func(t *testing.T) {
			onWatched(t, func(t *testing.T, w *watched, c Controller) {
				ended := waiting(t, c)
				time.Sleep(1300 * time.Millisecond)
				w.mutex.Lock()
				breaks(w)
				broken := w.watches[0]
				w.mutex.Unlock()
				w.cut(broken)
				from := time.Now()
				time.Sleep(10 * time.Second)
				assert.InDelta(t, 11, w.looksSince(from), 1)

				w.mutex.Lock()
				w.begin = func() error { return nil }
				w.mutex.Unlock()
				require.NoError(t, w.Start(t.Context(), "web@1.service")) // and nobody tells
				changed := time.Now()
				assert.LessOrEqual(t, (<-ended).Sub(changed), 1100*time.Millisecond)
			})
		})
	}
}

// While the watch is broken, what is seen counts only when it is seen WaitCount times at the pace of patient looks.
func TestNothingSettlesUnwatchedR15(t *testing.T) {
	onWatched(t, func(t *testing.T, w *watched, c Controller) {
		ended := waiting(t, c)
		time.Sleep(1300 * time.Millisecond)
		w.mutex.Lock()
		w.begin = func() error { return errors.New("no bus") }
		broken := w.watches[0]
		w.mutex.Unlock()
		w.cut(broken)
		time.Sleep(time.Second)
		changed := time.Now()
		require.NoError(t, w.Start(t.Context(), "web@1.service"))
		assert.GreaterOrEqual(t, (<-ended).Sub(changed), 2*time.Second)
	})
}

// With nobody waiting, a watched backend is not watched, and the next wait watches it anew.
func TestWatchEndsWithTheWaitR19(t *testing.T) {
	onWatched(t, func(t *testing.T, w *watched, c Controller) {
		require.NoError(t, w.Start(t.Context(), "web@1.service"))
		for range 3 {
			<-waiting(t, c)
			synctest.Wait()
			assert.Empty(t, w.watches)
			time.Sleep(time.Millisecond)
			idle := time.Now()
			time.Sleep(time.Hour)
			assert.Zero(t, w.looksSince(idle))
		}
		assert.Equal(t, 3, w.begun)

		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		err := c.WaitForStatus(ctx, NewRequest(RequestConfig{Group: "web"}), nil, StatusFailed)
		assert.ErrorIs(t, err, context.DeadlineExceeded)
	})
}

// A unit that has failed is seen so WaitCount times at once (R17); one that is stopped beside one that fails is no reason to hurry.
func TestFailureEndsTheWaitAtOnceR17(t *testing.T) {
	onWatched(t, func(t *testing.T, w *watched, c Controller) {
		failed := make(chan error, 1)
		go func() {
			failed <- c.WaitForStatus(t.Context(), NewRequest(RequestConfig{Group: "web"}), nil, StatusRunning)
		}()
		time.Sleep(300 * time.Millisecond)
		w.fail("web@1.service")
		changed := time.Now()
		w.tell()
		assert.True(t, IsUnitFailed(<-failed))
		assert.LessOrEqual(t, time.Since(changed), 50*time.Millisecond)

		require.NoError(t, w.Submit(t.Context(), "web@2.service", "[Service]\nExecStart=/bin/true\n"))
		require.NoError(t, w.Start(t.Context(), "web@2.service"))
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		from := time.Now()
		err := c.WaitForStatus(ctx, NewRequest(RequestConfig{Group: "web"}), nil, StatusStopped, StatusFailed)
		assert.ErrorIs(t, err, context.DeadlineExceeded)
		assert.LessOrEqual(t, w.looksSince(from), 70)
	})
}

// fail makes a unit one that has failed.
func (w *watched) fail(name string) {
	w.Mutex.Lock()
	defer w.Mutex.Unlock()
	unit := w.Units[name]
	unit.Current, unit.Desired = "launched", "launched"
	unit.Machine[0].SystemdActive, unit.Machine[0].SystemdSub = "failed", "failed"
	w.Units[name] = unit
}

// A reader that has no watcher is never watched, and prompt is patient there.
func TestAttendWithoutWatcher(t *testing.T) {
	o := newObserver(&backend{UnitReader: &reader{}, logger: logging.Silent()}, time.Second)
	o.attend()()
	assert.Nil(t, o.watch)
	c := &controller{backend: o.backend}
	assert.Equal(t, patient, c.pace(&wait{settles: true}))
}
