package controller

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/squadronctl/squadron/fleet"
	"github.com/squadronctl/squadron/internal/errmask"
)

// observer shares looks at the cluster (R19). Whoever wants one asks for it, and all who ask before it begins are served
// by that one. Looks for those who wait for something begin at least an interval apart; one for somebody who wants to
// know at once begins at once, and does not count for those who wait unless their time has come: what they see so often
// in a row has to lie that far apart. With nobody asking the observer does nothing and holds nothing.
type observer struct {
	backend  *backend
	interval time.Duration
	slot     chan struct{} // held by the look that runs, while anybody waits for it: there is one at a time

	mutex   sync.Mutex
	paced   time.Time // when the last look for those who wait began
	patient *look     // the look asked for by those who wait, until it begins
	urgent  *look     // the look asked for at once, until it begins
}

// look is one listing, and those who wait for it.
type look struct {
	names  map[string]bool
	groups map[string]bool
	askers int
	paced  bool // it serves some who wait, so the next one for them is an interval away

	ctx     context.Context // ends when the last asker has left
	cancel  context.CancelFunc
	release func()        // gives the slot back; nil until the look has it
	done    chan struct{} // closed when view and err stand

	view view
	err  error
}

// view is what a look found. It is shared by those who asked and must not be changed.
type view struct {
	units  []fleet.UnitDetail // sorted by name
	byName map[string]*fleet.UnitDetail
	whole  bool // see fleet.Listing.Whole
}

// errLookCutOff is what a look comes to whose backend ended the goroutine.
var errLookCutOff = errors.New("the backend ended the goroutine of the look")

func newObserver(b *backend, interval time.Duration) *observer {
	return &observer{backend: b, interval: interval, slot: make(chan struct{}, 1)}
}

// look gives a listing that began after the call did and that covers the selector. It begins at once when urgent, else
// an interval after the last one for those who wait; it blocks until the listing is there or ctx ends.
func (o *observer) look(ctx context.Context, selector fleet.Selector, urgent bool) (view, error) {
	if ctx.Err() != nil {
		return view{}, errmask.Mask(endOf(ctx))
	}
	l := o.join(selector, urgent)
	select {
	case <-l.done:
		return l.view, errmask.Mask(l.err)
	case <-ctx.Done():
		o.leave(l)
		return view{}, errmask.Mask(endOf(ctx))
	}
}

func (o *observer) join(selector fleet.Selector, urgent bool) *look {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	l := o.pending(urgent)
	l.askers++
	l.paced = l.paced || !urgent
	for _, name := range selector.Names {
		l.names[name] = true
	}
	for _, group := range selector.Groups {
		l.groups[group] = true
	}
	return l
}

// pending is the look that has yet to begin and suits the asker. Once their time has come, those who wait and those who
// want to know at once share one.
func (o *observer) pending(urgent bool) *look {
	pause := time.Until(o.paced.Add(o.interval))
	mine, other := &o.patient, &o.urgent
	if urgent {
		mine, other = other, mine
	}
	if *mine == nil && *other != nil && pause <= 0 {
		return *other
	}
	if *mine == nil {
		*mine = newLook()
		if urgent {
			pause = 0
		}
		go o.run(*mine, pause)
	}
	return *mine
}

func newLook() *look {
	l := &look{
		names:  map[string]bool{},
		groups: map[string]bool{},
		done:   make(chan struct{}),
	}
	l.ctx, l.cancel = context.WithCancel(context.Background())
	return l
}

// leave takes an asker off the look. The last one ends it, and stays until it has ended where it can be ended, so that
// no goroutine outlives the call that asked.
func (o *observer) leave(l *look) {
	o.mutex.Lock()
	l.askers--
	last := l.askers == 0
	if last {
		o.close(l)
	}
	o.mutex.Unlock()
	if !last {
		return
	}
	l.cancel()
	if o.backend.cancellable {
		<-l.done
		return
	}
	// A read that can't be ended must not hold up all others for as long as it hangs.
	o.mutex.Lock()
	defer o.mutex.Unlock()
	if l.release != nil {
		l.release()
	}
}

// run is the look's goroutine. It ends with the listing, or soon after the last asker has left.
func (o *observer) run(l *look, pause time.Duration) {
	defer l.cancel()
	defer close(l.done)
	if l.err = sleep(l.ctx, pause); l.err != nil {
		return
	}
	select {
	case o.slot <- struct{}{}:
	case <-l.ctx.Done():
		l.err = l.ctx.Err()
		return
	}
	l.err = errLookCutOff // unless the read comes back
	selector, wanted := o.begin(l)
	defer l.release()
	if !wanted {
		return
	}
	listing, err := o.backend.ReadUnits(l.ctx, selector)
	l.view, l.err = newView(listing), err
}

// begin closes the look to further askers and gives what it has to cover, and whether anybody still wants to know.
func (o *observer) begin(l *look) (selector fleet.Selector, wanted bool) {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	o.close(l)
	l.release = sync.OnceFunc(func() { <-o.slot })
	if l.paced {
		o.paced = time.Now()
	}
	return fleet.Selector{Names: slices.Collect(maps.Keys(l.names)), Groups: slices.Collect(maps.Keys(l.groups))}, l.askers > 0
}

// close takes the look off those that can be joined, with the lock held.
func (o *observer) close(l *look) {
	if o.patient == l {
		o.patient = nil
	}
	if o.urgent == l {
		o.urgent = nil
	}
}

func newView(listing fleet.Listing) view {
	v := view{units: listing.Units, byName: make(map[string]*fleet.UnitDetail, len(listing.Units)), whole: listing.Whole}
	for i := range v.units {
		v.byName[v.units[i].Name] = &v.units[i]
	}
	return v
}
