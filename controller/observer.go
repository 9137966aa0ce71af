package controller

import (
	"context"
	"sync"
	"time"

	"github.com/squadronctl/squadron/fleet"
	"github.com/squadronctl/squadron/internal/errmask"
)

// observer shares looks at the cluster (R19). Whoever wants one asks for it; all who ask before the next look begins
// are served by that one, and looks begin at least interval apart, unless somebody asks for one at once. With nobody
// asking it does nothing and holds nothing.
type observer struct {
	backend  *backend
	interval time.Duration

	mutex   sync.Mutex
	begun   time.Time // when the last look began
	current *look     // the look that runs, nil while none does
	next    *look     // the look that has been asked for and has not begun
}

// look is one listing, and those who wait for it.
type look struct {
	names  map[string]bool
	groups map[string]bool
	askers int

	ctx    context.Context // ends when the last asker has left
	cancel context.CancelFunc
	hurry  chan struct{} // closed once somebody does not want to wait for the interval
	after  chan struct{} // done of the look before, nil where there is none
	done   chan struct{} // closed when view and err stand

	urgent bool
	view   view
	err    error
}

// view is what a look found. It is shared by those who asked and must not be changed.
type view struct {
	units  []fleet.UnitDetail // sorted by name
	byName map[string]*fleet.UnitDetail
	whole  bool // see fleet.Listing.Whole
}

func newObserver(b *backend, interval time.Duration) *observer {
	return &observer{backend: b, interval: interval}
}

// look gives a listing that began after the call did and that covers the selector. It begins at once when urgent, or
// when the last one began an interval ago; it blocks until the listing is there or ctx ends.
func (o *observer) look(ctx context.Context, selector fleet.Selector, urgent bool) (view, error) {
	if err := ctx.Err(); err != nil {
		return view{}, errmask.Mask(context.Cause(ctx))
	}
	l := o.join(selector, urgent)
	select {
	case <-l.done:
		return l.view, errmask.Mask(l.err)
	case <-ctx.Done():
		o.leave(l)
		return view{}, errmask.Mask(context.Cause(ctx))
	}
}

func (o *observer) join(selector fleet.Selector, urgent bool) *look {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	if o.next == nil {
		o.next = newLook()
		if o.current != nil {
			o.next.after = o.current.done
		}
		go o.run(o.next)
	}
	l := o.next
	l.askers++
	for _, name := range selector.Names {
		l.names[name] = true
	}
	for _, group := range selector.Groups {
		l.groups[group] = true
	}
	if urgent && !l.urgent {
		l.urgent = true
		close(l.hurry)
	}
	return l
}

func newLook() *look {
	l := &look{
		names:  map[string]bool{},
		groups: map[string]bool{},
		hurry:  make(chan struct{}),
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
	if last && o.next == l {
		o.next = nil
	}
	o.mutex.Unlock()
	if !last {
		return
	}
	l.cancel()
	if o.backend.cancellable {
		<-l.done
	}
}

func (o *observer) run(l *look) {
	defer l.cancel()
	defer close(l.done)
	if err := o.awaitTurn(l); err != nil {
		l.err = err
		return
	}
	listing, err := o.backend.ReadUnits(l.ctx, o.begin(l))
	o.mutex.Lock()
	if o.current == l {
		o.current = nil
	}
	o.mutex.Unlock()
	l.view, l.err = newView(listing), err
}

// awaitTurn blocks until the look before has ended, and the interval too unless the look is urgent.
func (o *observer) awaitTurn(l *look) error {
	if l.after != nil {
		select {
		case <-l.after:
		case <-l.ctx.Done():
			return l.ctx.Err()
		}
	}
	o.mutex.Lock()
	pause := time.Until(o.begun.Add(o.interval))
	o.mutex.Unlock()
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-l.hurry:
	case <-l.ctx.Done():
	}
	return l.ctx.Err()
}

// begin closes the look to further askers and gives what it has to cover.
func (o *observer) begin(l *look) fleet.Selector {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	if o.next == l {
		o.next = nil
	}
	o.current = l
	o.begun = time.Now()
	var selector fleet.Selector
	for name := range l.names {
		selector.Names = append(selector.Names, name)
	}
	for group := range l.groups {
		selector.Groups = append(selector.Groups, group)
	}
	return selector
}

func newView(listing fleet.Listing) view {
	v := view{units: listing.Units, byName: make(map[string]*fleet.UnitDetail, len(listing.Units)), whole: listing.Whole}
	for i := range v.units {
		v.byName[v.units[i].Name] = &v.units[i]
	}
	return v
}
