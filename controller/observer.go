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
//
// Where the backend tells of changes, there are looks of a third pace (see attend): those begin with the next change.
type observer struct {
	backend  *backend
	interval time.Duration
	settle   time.Duration // the pause between two looks that are to see the same, where the backend is watched
	slot     chan struct{} // held by the look that runs, while anybody waits for it: there is one at a time

	mutex   sync.Mutex
	pending [paces]*look  // by pace: the look asked for, until it begins
	steady  time.Time     // when the last look for those who are patient began
	prompt  time.Time     // when the last look for those who are prompt began
	took    time.Duration // how long the last look took
	watch   *watch        // while anybody attends to changes
}

// lookPace says when a look begins.
type lookPace int

const (
	// patient: an interval after the last look for those who are patient.
	patient lookPace = iota
	// urgent: at once.
	urgent
	// prompt: as patient, but with the next change where the backend tells of changes.
	prompt
	paces // their number

	// settling is prompt, and shortly after the last look in any case: to see once more what that one has seen.
	settling
)

// settleTime is within what time WaitCount looks see the same, where the backend is watched and a look takes next to nothing.
const settleTime = 20 * time.Millisecond

// minGap is how far apart looks begin at least, however many changes the backend tells of. They lie twice as far apart as a
// look takes, too, so that half of the time is nobody's, but no farther than they would without a change.
const minGap = 5 * time.Millisecond

// look is one listing, and those who wait for it.
type look struct {
	names  map[string]bool
	groups map[string]bool
	askers int
	serves [paces]bool   // whom it serves: the next look for those who are patient, say, is an interval away
	due    time.Time     // when it begins
	hurry  chan struct{} // holds a token when due may have come closer

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

// look gives a listing that began after the call did, at the pace wanted, and that covers the selector. It blocks until the
// listing is there or ctx ends.
func (o *observer) look(ctx context.Context, selector fleet.Selector, p lookPace) (view, error) {
	if ctx.Err() != nil {
		return view{}, errmask.Mask(endOf(ctx))
	}
	l := o.join(selector, p)
	select {
	case <-l.done:
		return l.view, errmask.Mask(l.err)
	case <-ctx.Done():
		o.leave(l)
		return view{}, errmask.Mask(endOf(ctx))
	}
}

func (o *observer) join(selector fleet.Selector, p lookPace) *look {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	due := o.due(p)
	p = min(p, prompt)
	l := o.joinable(p, due)
	l.askers++
	l.serves[p] = true
	l.hurryTo(due)
	for _, name := range selector.Names {
		l.names[name] = true
	}
	for _, group := range selector.Groups {
		l.groups[group] = true
	}
	return l
}

// due says when a look of this pace may begin, with the observer's lock held.
func (o *observer) due(p lookPace) time.Time {
	switch p {
	case patient:
		return o.steady.Add(o.interval)
	case prompt, settling:
		return o.prompt.Add(min(o.gap(p), o.interval))
	}
	return time.Now()
}

// gap is how far apart looks of these paces are to begin at least, whatever the interval.
func (o *observer) gap(p lookPace) time.Duration {
	switch {
	case o.watch != nil && o.watch.changed:
		return max(minGap, 2*o.took)
	case o.watch != nil && o.watch.live && p == settling:
		return max(o.settle, 2*o.took)
	}
	return o.interval
}

// joinable is the look that has yet to begin and suits an asker of this pace: the one of that pace, or another where the
// time has come for both.
func (o *observer) joinable(p lookPace, due time.Time) *look {
	if l := o.pending[p]; l != nil {
		return l
	}
	now := time.Now()
	for _, l := range o.pending {
		if l != nil && !due.After(now) && !l.due.After(now) {
			return l
		}
	}
	l := newLook(due)
	o.pending[p] = l
	go o.run(l)
	return l
}

// hurryTo makes the look begin at due where that is earlier, with the observer's lock held.
func (l *look) hurryTo(due time.Time) {
	if !due.Before(l.due) {
		return
	}
	l.due = due
	select {
	case l.hurry <- struct{}{}:
	default:
	}
}

func newLook(due time.Time) *look {
	l := &look{
		names:  map[string]bool{},
		groups: map[string]bool{},
		due:    due,
		hurry:  make(chan struct{}, 1),
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
func (o *observer) run(l *look) {
	defer l.cancel()
	defer close(l.done)
	if l.err = o.untilDue(l); l.err != nil {
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
	began := time.Now()
	listing, err := o.backend.ReadUnits(l.ctx, selector)
	o.noteTime(time.Since(began))
	l.view, l.err = newView(listing), err
}

// untilDue blocks until the look is due, which may come closer meanwhile.
func (o *observer) untilDue(l *look) error {
	for {
		o.mutex.Lock()
		pause := time.Until(l.due)
		o.mutex.Unlock()
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
			return nil
		case <-l.hurry:
			timer.Stop()
		case <-l.ctx.Done():
			timer.Stop()
			return context.Cause(l.ctx)
		}
	}
}

func (o *observer) noteTime(took time.Duration) {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	o.took = took
}

// begin closes the look to further askers and gives what it has to cover, and whether anybody still wants to know.
func (o *observer) begin(l *look) (selector fleet.Selector, wanted bool) {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	o.close(l)
	l.release = sync.OnceFunc(func() { <-o.slot })
	if l.askers == 0 {
		return fleet.Selector{}, false
	}
	if l.serves[patient] {
		o.steady = time.Now()
	}
	if l.serves[prompt] {
		o.prompt = time.Now()
		if o.watch != nil {
			o.watch.changed = false
		}
	}
	return fleet.Selector{Names: slices.Collect(maps.Keys(l.names)), Groups: slices.Collect(maps.Keys(l.groups))}, true
}

// close takes the look off those that can be joined, with the lock held.
func (o *observer) close(l *look) {
	for p := range o.pending {
		if o.pending[p] == l {
			o.pending[p] = nil
		}
	}
}

func newView(listing fleet.Listing) view {
	v := view{units: listing.Units, byName: make(map[string]*fleet.UnitDetail, len(listing.Units)), whole: listing.Whole}
	for i := range v.units {
		v.byName[v.units[i].Name] = &v.units[i]
	}
	return v
}
