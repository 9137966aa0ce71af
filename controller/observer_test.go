package controller

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/squadronctl/squadron/fleet"
	"github.com/squadronctl/squadron/logging"
)

// reader is a fleet.UnitReader that takes its time.
type reader struct {
	takes time.Duration
	err   error

	mutex     sync.Mutex
	selectors []fleet.Selector
	began     []time.Time
	ended     atomic.Int32
}

func (r *reader) ReadUnits(ctx context.Context, selector fleet.Selector) (fleet.Listing, error) {
	r.mutex.Lock()
	r.selectors = append(r.selectors, selector)
	r.began = append(r.began, time.Now())
	r.mutex.Unlock()
	if err := sleep(ctx, r.takes); err != nil {
		r.ended.Add(1)
		return fleet.Listing{}, err
	}
	return fleet.Listing{}, r.err
}

func observerOf(r *reader) *observer {
	return newObserver(&backend{UnitReader: r, cancellable: true, logger: logging.Silent()}, time.Second)
}

// R19: looks begin an interval apart, or at once for who does not want to wait, and the first one begins at once. One that
// was hurried does not put off those who wait, nor does it count for them.
func TestObserverPaceR19(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &reader{takes: 300 * time.Millisecond}
		o := observerOf(r)
		start := time.Now()
		for _, p := range []lookPace{patient, patient, urgent, patient} {
			_, err := o.look(t.Context(), fleet.Selector{}, p)
			require.NoError(t, err)
		}
		var offsets []time.Duration
		for _, began := range r.began {
			offsets = append(offsets, began.Sub(start))
		}
		assert.Equal(t, []time.Duration{0, time.Second, 1300 * time.Millisecond, 2 * time.Second}, offsets)
	})
}

// R19: one look serves all who asked before it began, for all that they asked for, and nobody who asks later.
func TestObserverSharesR19(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &reader{takes: 5 * time.Second}
		o := observerOf(r)
		var all sync.WaitGroup
		ask := func(selector fleet.Selector) {
			all.Go(func() {
				asked := time.Now()
				_, err := o.look(t.Context(), selector, patient)
				assert.NoError(t, err)
				assert.GreaterOrEqual(t, time.Since(asked), r.takes)
			})
		}
		ask(fleet.Selector{Names: []string{"first"}})
		synctest.Wait()
		for _, name := range []string{"a", "b", "a"} {
			ask(fleet.Selector{Names: []string{name}, Groups: []string{"g" + name}})
		}
		time.Sleep(5500 * time.Millisecond)
		ask(fleet.Selector{Names: []string{"late"}})
		all.Wait()
		require.Len(t, r.selectors, 3)
		assert.Equal(t, fleet.Selector{Names: []string{"first"}}, r.selectors[0])
		assert.ElementsMatch(t, []string{"a", "b"}, r.selectors[1].Names)
		assert.ElementsMatch(t, []string{"ga", "gb"}, r.selectors[1].Groups)
		assert.Equal(t, []string{"late"}, r.selectors[2].Names)
	})
}

// R15, R19: an asker leaves alone; the last one ends the look, whether it has begun or not, and nothing is left.
func TestObserverEndsWithItsAskersR15R19(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &reader{}
		o := observerOf(r)
		_, err := o.look(t.Context(), fleet.Selector{}, patient) // so that the next one waits a second for all to join it
		require.NoError(t, err)
		r.takes = time.Hour
		mine := errors.New("enough")
		leave := func(after time.Duration) (context.Context, func()) {
			ctx, cancel := context.WithTimeoutCause(t.Context(), after, mine)
			return ctx, cancel
		}
		var all sync.WaitGroup
		for _, after := range []time.Duration{1500 * time.Millisecond, 2500 * time.Millisecond, 3500 * time.Millisecond} {
			all.Go(func() {
				ctx, cancel := leave(after)
				defer cancel()
				began := time.Now()
				_, err := o.look(ctx, fleet.Selector{}, patient)
				assert.ErrorIs(t, err, mine)
				assert.Equal(t, after, time.Since(began))
			})
		}
		time.Sleep(2 * time.Second)
		assert.Zero(t, r.ended.Load())
		all.Wait()
		assert.Equal(t, int32(1), r.ended.Load())

		// One that has not begun: the interval is not over.
		synctest.Wait()
		r.takes = 0
		_, err = o.look(t.Context(), fleet.Selector{}, patient)
		require.NoError(t, err)
		ctx, cancel := leave(500 * time.Millisecond)
		defer cancel()
		_, err = o.look(ctx, fleet.Selector{}, patient)
		require.ErrorIs(t, err, mine)
		assert.Len(t, r.began, 3)
		assert.Nil(t, o.pending[patient])
		_, err = o.look(ctx, fleet.Selector{}, patient)
		require.ErrorIs(t, err, mine)
		assert.Len(t, r.began, 3)
		assert.Empty(t, o.slot)
	})
}

// R15, R19: however often somebody looks at once, those who wait see looks that lie an interval apart; and once their time
// has come, both share one.
func TestObserverHurriedLooksDoNotSpeedUpWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &reader{}
		o := observerOf(r)
		var all sync.WaitGroup
		all.Go(func() {
			for range 500 {
				_, err := o.look(t.Context(), fleet.Selector{Names: []string{"at once"}}, urgent)
				assert.NoError(t, err)
				time.Sleep(10 * time.Millisecond)
			}
		})
		var before time.Time
		for range 4 {
			_, err := o.look(t.Context(), fleet.Selector{Names: []string{"patient"}}, patient)
			require.NoError(t, err)
			if !before.IsZero() {
				assert.GreaterOrEqual(t, time.Since(before), time.Second)
			}
			before = time.Now()
		}
		all.Wait()
		assert.InDelta(t, 500, len(r.began), 4)
	})
}

// R15, R19: those who wait don't slip into a look that was asked for at once before their time has come; when it has come,
// they do, and share it.
func TestObserverPatientAndUrgentR19(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &reader{takes: 300 * time.Millisecond}
		o := observerOf(r)
		var all sync.WaitGroup
		start := time.Now()
		ask := func(after time.Duration, name string, p lookPace) {
			all.Go(func() {
				time.Sleep(after)
				_, err := o.look(t.Context(), fleet.Selector{Names: []string{name}}, p)
				assert.NoError(t, err)
			})
		}
		ask(0, "patient", patient)
		ask(400*time.Millisecond, "urgent", urgent)
		ask(500*time.Millisecond, "urgent too", urgent) // has to wait until the one before has ended
		ask(600*time.Millisecond, "patient too", patient)
		ask(1900*time.Millisecond, "urgent, later", urgent)
		ask(2010*time.Millisecond, "patient, later", patient)
		ask(2020*time.Millisecond, "urgent, with it", urgent)
		all.Wait()
		var offsets []time.Duration
		for _, began := range r.began {
			offsets = append(offsets, began.Sub(start)/time.Millisecond)
		}
		assert.Equal(t, []time.Duration{0, 400, 700, 1000, 1900, 2200}, offsets)
		require.Len(t, r.selectors, 6)
		assert.Equal(t, []string{"urgent too"}, r.selectors[2].Names)
		assert.Equal(t, []string{"patient too"}, r.selectors[3].Names)
		assert.ElementsMatch(t, []string{"patient, later", "urgent, with it"}, r.selectors[5].Names)
	})
}

// R19: an error is for those who asked, and not for the next.
func TestObserverErrorR19(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &reader{err: errors.New("no")}
		o := observerOf(r)
		_, err := o.look(t.Context(), fleet.Selector{}, patient)
		require.ErrorIs(t, err, r.err)
		r.err = nil
		_, err = o.look(t.Context(), fleet.Selector{}, patient)
		require.NoError(t, err)
	})
}

// Askers that come and go at all moments find the observer in order.
func TestObserverUnderStress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &reader{takes: 7 * time.Millisecond}
		o := observerOf(r)
		o.interval = 5 * time.Millisecond
		var all sync.WaitGroup
		for i := range 200 {
			all.Go(func() {
				time.Sleep(time.Duration(i%37) * time.Millisecond)
				ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i%23)*time.Millisecond)
				defer cancel()
				p := patient
				if i%5 == 0 {
					p = urgent
				}
				if _, err := o.look(ctx, fleet.Selector{}, p); err != nil {
					assert.ErrorIs(t, err, context.DeadlineExceeded)
				}
			})
		}
		all.Wait()
		synctest.Wait()
		assert.Nil(t, o.pending[patient])
		assert.Nil(t, o.pending[urgent])
		assert.Empty(t, o.slot)
		for i := 1; i < len(r.began); i++ {
			assert.Greater(t, r.began[i].Sub(r.began[i-1]), time.Duration(0))
		}
	})
}

// leaver is a fleet.UnitReader that ends the goroutine it is called from.
type leaver struct{}

func (leaver) ReadUnits(context.Context, fleet.Selector) (fleet.Listing, error) {
	runtime.Goexit()
	return fleet.Listing{}, nil
}

// A look that never came back is an error, and not a cluster without units.
func TestObserverGoexit(t *testing.T) {
	o := newObserver(&backend{UnitReader: leaver{}, cancellable: true, logger: logging.Silent()}, time.Second)
	_, err := o.look(t.Context(), fleet.Selector{}, urgent)
	assert.ErrorIs(t, err, errLookCutOff)
}
