package controller_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/squadronctl/squadron/controller"
	"github.com/squadronctl/squadron/fleet"
	"github.com/squadronctl/squadron/fleet/fleettest"
	"github.com/squadronctl/squadron/task"
)

// lyingBackend is the client, with answers that a test has changed.
type lyingBackend struct {
	*fleet.Client

	mutex   sync.Mutex
	read    func(ctx context.Context, selector fleet.Selector, listing fleet.Listing) (fleet.Listing, error)
	destroy func(name string) error
}

func (l *lyingBackend) ReadUnits(ctx context.Context, selector fleet.Selector) (fleet.Listing, error) {
	listing, err := l.Client.ReadUnits(ctx, selector)
	l.mutex.Lock()
	read := l.read
	l.mutex.Unlock()
	if err == nil && read != nil {
		return read(ctx, selector, listing)
	}
	return listing, err
}

func (l *lyingBackend) Destroy(ctx context.Context, name string) error {
	l.mutex.Lock()
	destroy := l.destroy
	l.mutex.Unlock()
	if destroy != nil {
		if err := destroy(name); err != nil {
			return err
		}
	}
	return l.Client.Destroy(ctx, name)
}

// lie sets what the backend says from now on.
func (l *lyingBackend) lie(change func(l *lyingBackend)) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	change(l)
}

// onLies runs a test on a backend that lies, with the slices named running.
func onLies(t *testing.T, ids []string, f func(t *testing.T, b *bench, liar *lyingBackend)) {
	synctest.Test(t, func(t *testing.T) {
		liar := &lyingBackend{}
		b := newBench(t, fleettest.Config{Timing: fleettest.Measured()}, func(c *controller.Config) {
			liar.Client = c.Fleet.(*fleet.Client)
			c.Fleet = liar
		})
		defer b.close()
		b.do(b.controller.Submit, request("web", 0, ids...))
		b.do(b.controller.Start, of("web"))
		f(t, b, liar)
	})
}

// checked begins to hold the cluster against the bounds of an update that is about to be asked for.
func (b *bench) checked(opts controller.UpdateOptions) *boundsCheck {
	check := newBoundsCheck("web", opts, 0)
	b.replay(check)
	b.cluster.OnChange(check.take)
	check.begin()
	return check
}

// meddle does something every so often until the update has ended, and gives how that was. An update that goes on for a
// day has no end.
func (b *bench) meddle(every time.Duration, req controller.Request, opts controller.UpdateOptions, meddle func()) error {
	stop := make(chan struct{})
	var meddler sync.WaitGroup
	meddler.Go(func() {
		for {
			select {
			case <-stop:
				return
			case <-time.After(every):
				meddle()
			}
		}
	})
	defer meddler.Wait()
	defer close(stop)
	created, err := b.controller.Update(b.t.Context(), req, opts)
	require.NoError(b.t, err)
	ctx, cancel := context.WithTimeout(b.t.Context(), 24*time.Hour)
	defer cancel()
	final, err := b.controller.WaitForTask(ctx, created.ID, nil)
	require.NoError(b.t, err, "an update without end")
	return final.Error
}

// newUnits are the units of the new content.
func (b *bench) newUnits() []fleettest.UnitState {
	var units []fleettest.UnitState
	for _, unit := range b.cluster.Units() {
		if isV2(unit.Content) {
			units = append(units, unit)
		}
	}
	return units
}

func TestUpdateEndsThoughSomebodyStopsItsSlices(t *testing.T) {
	inBubble(t, 2, nil, func(t *testing.T, b *bench) {
		b.cluster.ResetCounts()
		puts := 0
		err := b.meddle(700*time.Millisecond, v2(0), controller.UpdateOptions{MaxGrowth: 1, MinAlive: 2}, func() {
			for _, unit := range b.newUnits() {
				if unit.Desired == "launched" {
					puts++
					_ = b.client.Stop(context.Background(), unit.Name)
				}
			}
		})
		assert.True(t, controller.IsUpdateFailed(err), "%v", err)
		assert.LessOrEqual(t, b.cluster.Counts().Puts-puts, 2, "R24: one write a unit, and no fight")
	})
}

func TestUpdateEndsThoughSomebodyDestroysItsSlices(t *testing.T) {
	inBubble(t, 2, nil, func(t *testing.T, b *bench) {
		before := b.sliceIDs()
		err := b.meddle(3*time.Second, v2(0), controller.UpdateOptions{MaxGrowth: 1, MinAlive: 2}, func() {
			for _, unit := range b.newUnits() {
				b.cluster.Remove(unit.Name)
				b.cluster.Remove(strings.Replace(unit.Name, "-app@", "-log@", 1))
			}
		})
		assert.True(t, controller.IsUpdateFailed(err), "%v", err)
		assert.Subset(t, b.sliceIDs(), before, "no old slice went for one that vanished")
	})
}

// R22: a new slice that runs without being ready yet may be one of those that MinAlive needs.
func TestSurplusOfSlicesThatAreNotReadyYet(t *testing.T) {
	inBubble(t, 5, nil, func(t *testing.T, b *bench) {
		opts := controller.UpdateOptions{MinAlive: 3, ReadySecs: 10}
		check := b.checked(opts)
		require.NoError(t, b.update(request("web", 3), opts))
		assert.Empty(t, check.findings)
		assert.Equal(t, 3, check.minimum)
	})
}

func TestRefusedWhereOnlySlicesThatMayNotGoAreLeft(t *testing.T) {
	inBubble(t, 0, nil, func(t *testing.T, b *bench) {
		b.do(b.controller.Submit, request("web", 0, "aaa", "bbb", "ccc", "ddd", "eee"))
		b.do(b.controller.Start, of("web", "aaa", "bbb", "ccc"))
		before := b.desires("")
		for _, c := range []struct {
			req  controller.Request
			opts controller.UpdateOptions
		}{
			{request("web", 3, "aaa", "bbb"), controller.UpdateOptions{MinAlive: 3}},
			{v2(0, "aaa", "bbb", "ccc"), controller.UpdateOptions{MinAlive: 3}},
		} {
			err := b.update(c.req, c.opts)
			assert.True(t, controller.IsUpdateNotAllowed(err), "%v", err)
		}
		assert.Equal(t, before, b.desires(""))
	})
}

// R22: slices whose states are not told for a while can't be counted on, and are not lost either.
func TestUntoldSlicesAreLeftAlone(t *testing.T) {
	onLies(t, []string{"aaa", "bbb", "ccc", "ddd"}, func(t *testing.T, b *bench, liar *lyingBackend) {
		opts := controller.UpdateOptions{MaxGrowth: 1, MinAlive: 4}
		check := b.checked(opts)
		created, err := b.controller.Update(t.Context(), v2(0), opts)
		require.NoError(t, err)
		began := time.Now()
		liar.lie(func(l *lyingBackend) {
			l.read = func(_ context.Context, _ fleet.Selector, listing fleet.Listing) (fleet.Listing, error) {
				for i, unit := range listing.Units {
					if time.Since(began) < 20*time.Second && (unit.SliceID == "bbb" || unit.SliceID == "ccc" || unit.SliceID == "ddd") {
						listing.Units[i].Machine = []fleet.MachineStatus{{ID: unit.Machine[0].ID}}
					}
				}
				return listing, nil
			}
		})
		require.NoError(t, b.outcome(created, nil))
		assert.Empty(t, check.findings)
		assert.Equal(t, 4, check.minimum)
	})
}

// R22: a look that is older than a write shows neither that a slice is missing nor that one more may be made.
func TestStaleLookMakesNoSlice(t *testing.T) {
	onLies(t, []string{"aaa", "bbb"}, func(t *testing.T, b *bench, liar *lyingBackend) {
		opts := controller.UpdateOptions{MaxGrowth: 1, MinAlive: 2}
		check := b.checked(opts)
		var before *fleet.Listing
		told := false
		liar.lie(func(l *lyingBackend) {
			l.read = func(_ context.Context, _ fleet.Selector, listing fleet.Listing) (fleet.Listing, error) {
				switch {
				case before == nil || len(listing.Units) <= len(before.Units):
					before = &listing
				case !told:
					told = true
					return *before, nil
				}
				return listing, nil
			}
		})
		require.NoError(t, b.update(v2(0), opts))
		assert.True(t, told)
		assert.Empty(t, check.findings)
		assert.Equal(t, 3, check.greatest)
	})
}

// R10: a DELETE that was not answered is repeated, whatever the listings show.
func TestUnansweredDeleteIsRepeated(t *testing.T) {
	const lost = "web-log@aaa.service"
	onLies(t, []string{"aaa"}, func(t *testing.T, b *bench, liar *lyingBackend) {
		var since time.Time
		liar.lie(func(l *lyingBackend) {
			l.destroy = func(name string) error {
				if name == lost && since.IsZero() {
					since = time.Now()
				}
				if name == lost && time.Since(since) < 6*time.Second {
					return fleet.AsTemporary(errors.New("no answer, however often it was asked"))
				}
				return nil
			}
			l.read = func(_ context.Context, selector fleet.Selector, listing fleet.Listing) (fleet.Listing, error) {
				if selector.Exact || since.IsZero() || time.Since(since) > 8*time.Second {
					return listing, nil
				}
				shifted := fleet.Listing{}
				for _, unit := range listing.Units {
					if unit.Name != lost {
						shifted.Units = append(shifted.Units, unit)
					}
				}
				return shifted, nil
			}
		})
		require.NoError(t, b.update(v2(0), controller.UpdateOptions{MaxGrowth: 1, MinAlive: 1}))
		assert.NotContains(t, b.names("web"), lost)
	})
}

// R6, R18: a backend whose reads hang holds an update for WaitTimeout, and no longer.
func TestHangingReadsEndAnUpdate(t *testing.T) {
	onLies(t, []string{"aaa", "bbb"}, func(t *testing.T, b *bench, liar *lyingBackend) {
		created, err := b.controller.Update(t.Context(), v2(0), controller.UpdateOptions{MaxGrowth: 1, MinAlive: 2})
		require.NoError(t, err)
		time.Sleep(3 * time.Second)
		liar.lie(func(l *lyingBackend) {
			l.read = func(ctx context.Context, _ fleet.Selector, _ fleet.Listing) (fleet.Listing, error) {
				<-ctx.Done()
				return fleet.Listing{}, ctx.Err()
			}
		})
		began := time.Now()
		require.NoError(t, b.tasks.(task.Canceler).Cancel(t.Context(), created.ID))
		err = b.outcome(created, nil)
		assert.True(t, controller.IsUpdateFailed(err), "%v", err)
		assert.LessOrEqual(t, time.Since(began), 6*time.Minute)
	})
}

// R17: how long a slice may take counts from when it became a new one, and not from the update's begin.
func TestSliceMadeNewBySomebodyElse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, fleettest.Config{Timing: fleettest.Measured()}, func(c *controller.Config) { c.WaitTimeout = 40 * time.Second })
		defer b.close()
		b.do(b.controller.Submit, request("web", 0, "aaa", "bbb", "ccc"))
		b.do(b.controller.Start, of("web"))
		created, err := b.controller.Update(t.Context(), v2(0), controller.UpdateOptions{MaxGrowth: 1, MinAlive: 3, ReadySecs: 20})
		require.NoError(t, err)
		time.Sleep(70 * time.Second)
		require.NoError(t, b.cluster.Put("web-app@ccc.service", service("v2"), "launched"))
		require.NoError(t, b.outcome(created, nil))
		old, fresh, incomplete := b.sliceContents("web")
		assert.Equal(t, [3]int{0, 3, 0}, [3]int{old, fresh, incomplete})
	})
}

// R21: the request's own IDs are given to slices that are missing, though a neighbour has one by that ID.
func TestNamedIDOfANeighbour(t *testing.T) {
	inBubble(t, 1, nil, func(t *testing.T, b *bench) {
		b.do(b.controller.Submit, request("webhook", 0, "blue"))
		require.NoError(t, b.update(v2(0, b.sliceIDs()[0], "blue"), controller.UpdateOptions{}))
		assert.Contains(t, b.sliceIDs(), "blue")
	})
}

// What is going to be removed is not launched first.
func TestSurplusIsNotLaunched(t *testing.T) {
	inBubble(t, 0, nil, func(t *testing.T, b *bench) {
		b.do(b.controller.Submit, request("web", 4))
		launched := map[string]bool{}
		b.cluster.OnChange(func(change fleettest.Change) {
			if change.Desired == "launched" && change.Kind == fleettest.DesiredChanged {
				launched[change.Unit] = true
			}
		})
		require.NoError(t, b.update(request("web", 2), controller.UpdateOptions{}))
		assert.Len(t, launched, 2*2)
	})
}

// R2: an update is about whole slices, of which a single unit's name says too little.
func TestUnitsOfOneSliceAreRefused(t *testing.T) {
	inBubble(t, 0, nil, func(t *testing.T, b *bench) {
		req := controller.NewRequest(controller.RequestConfig{Group: "web"})
		req.Units = []controller.Unit{{Name: "web-app@1.service", Content: service("v1")}}
		req.DesiredSlices = 1
		err := b.update(req, controller.UpdateOptions{})
		assert.True(t, controller.IsInvalidArgument(err), "%v", err)
		_, _, err = b.controller.GroupNeedsUpdate(t.Context(), req)
		assert.True(t, controller.IsInvalidArgument(err), "%v", err)
	})
}

// R25: what the update has not made it does not destroy.
func TestFoundSliceThatCanNotBeLaunchedStays(t *testing.T) {
	inBubble(t, 0, nil, func(t *testing.T, b *bench) {
		b.do(b.controller.Submit, request("web", 0, "aaa", "bbb"))
		b.faults.Set(fleettest.On("PUT", "/units/web-log@aaa", fleettest.Always(fleettest.Fail(400, "not now"))))
		err := b.update(request("web", 0), controller.UpdateOptions{})
		require.True(t, controller.IsUpdateFailed(err), "%v", err)
		assert.ErrorContains(t, err, "not now")
		assert.Equal(t, []string{"aaa", "bbb"}, b.sliceIDs())
	})
}

// R22: failed new slices are removed no faster than MinAlive says either.
func TestManyFailedSlicesGoWithinBounds(t *testing.T) {
	inBubble(t, 4, nil, func(t *testing.T, b *bench) {
		opts := controller.UpdateOptions{MaxGrowth: 4, MinAlive: 1}
		check := b.checked(opts)
		b.faults.Set(fleettest.On("PUT", "/units/web-log@", fleettest.Always(fleettest.Fail(400, "no such thing"))))
		err := b.update(v2(0), opts)
		assert.True(t, controller.IsUpdateFailed(err), "%v", err)
		assert.Empty(t, check.findings)
		assert.Len(t, b.names("web"), 8)
	})
}

// R18: a wait that begins while the cluster is out of order goes on, too.
func TestWaitByGroupOutlastsTemporaryErrors(t *testing.T) {
	inBubble(t, 2, nil, func(t *testing.T, b *bench) {
		b.faults.Set(fleettest.Always(fleettest.Fail(500, "")))
		defer in(30*time.Second, func() { b.faults.Set() })()
		assert.NoError(t, b.controller.WaitForStatus(t.Context(), of("web"), nil, controller.StatusRunning))
	})
}

// R20: a read that hung and can't be ended holds up nobody once those who waited for it have gone.
func TestHungReadOfANarrowBackendIsLeftBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		backend := newMemoryFleet()
		free := make(chan struct{})
		var hung atomic.Bool
		backend.before = func(method, _ string) error {
			if method == "list" && hung.CompareAndSwap(false, true) {
				<-free
			}
			return nil
		}
		b := onBackend(t, backend)
		require.NoError(t, backend.Submit(t.Context(), "web-a@1.service", service("v1")))
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := b.controller.GetStatus(ctx, of("web"))
		require.ErrorIs(t, err, context.DeadlineExceeded)
		_, err = b.controller.GetStatus(t.Context(), of("web"))
		require.NoError(t, err)
		close(free)
		b.close()
	})
}

// R20a: a unit that the shifting pages of a listing skip is asked for by name before its slice is called incomplete.
func TestSkippedUnitMakesNoSliceOld(t *testing.T) {
	onLies(t, []string{"aaa", "bbb", "ccc"}, func(t *testing.T, b *bench, liar *lyingBackend) {
		require.NoError(t, b.update(v2(0, "bbb"), controller.UpdateOptions{MaxGrowth: 1, MinAlive: 3}))
		kept := b.sliceIDs()
		liar.lie(func(l *lyingBackend) {
			l.read = func(_ context.Context, selector fleet.Selector, listing fleet.Listing) (fleet.Listing, error) {
				if selector.Exact || len(selector.Names) == 0 { // looks of the update name what they are about
					return listing, nil
				}
				shifted := fleet.Listing{}
				for _, unit := range listing.Units {
					if !strings.HasPrefix(unit.Name, "web-log@") {
						shifted.Units = append(shifted.Units, unit)
					}
				}
				return shifted, nil
			}
		})
		require.NoError(t, b.update(v2(0), controller.UpdateOptions{MaxGrowth: 1, MinAlive: 3}))
		for _, id := range kept {
			if id != "aaa" && id != "ccc" {
				assert.Contains(t, b.sliceIDs(), id, "it was new already")
			}
		}
	})
}

// R6: a cancelled update takes up nothing new, however much is left to do.
func TestCancelledUpdateTakesUpNothingNew(t *testing.T) {
	inBubble(t, 5, nil, func(t *testing.T, b *bench) {
		created, err := b.controller.Update(t.Context(), v2(0), controller.UpdateOptions{MaxGrowth: 1, MinAlive: 5})
		require.NoError(t, err)
		time.Sleep(3 * time.Second)
		require.NoError(t, b.tasks.(task.Canceler).Cancel(t.Context(), created.ID))
		err = b.outcome(created, nil)
		require.True(t, controller.IsUpdateFailed(err), "%v", err)
		require.ErrorIs(t, err, context.Canceled)
		old, fresh, incomplete := b.sliceContents("web")
		assert.Equal(t, [3]int{4, 1, 0}, [3]int{old, fresh, incomplete})
	})
}
