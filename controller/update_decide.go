package controller

import (
	"cmp"
	"slices"
	"strings"
)

// sliceView is what an update's decision needs to know of one slice.
type sliceView struct {
	id string
	// isNew: it has the request's content.
	isNew bool
	// replaceable: the request lets the update replace or remove it.
	replaceable bool
	// launched: fleet was asked to run it.
	launched bool
	// running: it ran in the last look. down: it did not. With neither the look did not tell.
	running, down bool
	// untold: no look has told for WaitCount looks in a row.
	untold bool
	// ready: it is new, and has been running for WaitCount looks and ReadySecs (R23).
	ready bool
	// failed: it is new, and won't become ready.
	failed bool
	// own: this update has created or launched it. made: it has created it.
	own, made bool
	// removing: this update is taking it away.
	removing bool
	// absent: the last look lacked it, which has to be seen again to be believed.
	absent bool
	// abandoned: this update has given up on taking it away; it is no longer waited for.
	abandoned bool
	// age is when this controller has made it, in its own count; 0 where it has not. Of slices that are alike in all else
	// the youngest goes first, and then by ID.
	age int
}

// situation is all that an update decides on. It is made anew from each look.
type situation struct {
	slices []sliceView
	wanted int // how many slices there are to be at the end
	found  int // how many there were at the call

	maxGrowth int
	minAlive  int

	// ending: nothing new is taken up, what is under way is brought to its end (R6, R25). paused: so for the time
	// being, and no slice that runs is taken away.
	ending, paused bool
	// owed is how many slices this update has taken away whose successor has yet to be made.
	owed int
}

// decision is what to do next.
type decision struct {
	launch  []string  // new slices that are loaded and to be launched
	discard []string  // failed new slices to be destroyed
	remove  []removed // slices to be taken away
	add     int       // how many new slices to create
	// done: the group is as wanted.
	done bool
	// waiting: something is under way, or has just been decided; without it nothing will change by this update's doing.
	waiting bool
}

// removed is a slice to be taken away, and whether a new one will take its place later; it is false where the new one is
// there already, or none is wanted.
type removed struct {
	id        string
	successor bool
}

// decide says what to do in a situation, so that the bounds of R22 hold whatever happens until the next look. It has no
// state and touches nothing.
//
// The strategy follows from the options. Slices that do not run go first, and cost nothing. With MaxGrowth above 0 new
// slices come ahead, and one that runs goes for each that is ready; with MaxGrowth 0 as many go as MinAlive allows, and
// new ones take their places once they are gone.
func decide(s situation) decision {
	var d decision
	t := s.tally()
	t.discard(s, &d)
	t.removeOld(s, &d)
	t.removeSurplus(s, &d)
	t.launch(s, &d)
	t.add(s, &d)
	d.waiting = t.underWay || len(d.launch)+len(d.discard)+len(d.remove)+d.add > 0
	t.addWhenStuck(s, &d)
	d.done = s.isDone()
	return d
}

// tally is the count of a situation, kept up to date while a decision is made.
type tally struct {
	existing int  // slices there, those being taken away included
	removing int  // of these, being taken away
	alive    int  // slices that count towards MinAlive
	standing int  // slices that serve or could: not being taken away, and old, ready, or none of the update's business
	staying  int  // slices that are there to stay: new, or not replaceable
	underWay bool // something will change by this update's doing
}

func (s situation) tally() *tally {
	t := &tally{existing: len(s.slices)}
	for _, slice := range s.slices {
		if slice.removing {
			t.removing++
			t.underWay = t.underWay || !slice.abandoned
			continue
		}
		if slice.becomesReady(s.ending) {
			t.underWay = true
		}
		if slice.counts() {
			t.alive++
		}
		if !slice.absent && (!slice.isNew || slice.ready || !slice.replaceable) {
			t.standing++
		}
		if slice.stays() {
			t.staying++
		}
	}
	return t
}

// counts says whether the slice is one of those that MinAlive is about: an old one that runs, a new one that is ready.
// A slice that was brought back and did not run before is ready without running.
func (v sliceView) counts() bool {
	return !v.removing && v.running && (v.ready || !v.isNew)
}

// becomesReady says whether the slice is a new one that the update waits for. One that is to end waits for its own only.
func (v sliceView) becomesReady(ending bool) bool {
	return v.isNew && v.replaceable && !v.ready && !v.failed && (v.own || v.launched && !ending)
}

// stays says whether the slice is one of those wanted at the end.
func (v sliceView) stays() bool {
	return !v.removing && (!v.replaceable || v.isNew && !(v.failed && v.made))
}

// mayRemove says whether the number of removals under way allows one more (R22).
func (t *tally) mayRemove(s situation) bool {
	return s.minAlive == 0 || t.removing < s.minAlive
}

// discard takes away failed new slices. One that may run for all that is known stays while MinAlive needs it.
func (t *tally) discard(s situation, d *decision) {
	for _, slice := range s.slices {
		if slice.isNew && slice.failed && slice.made && !slice.removing && t.mayRemove(s) && t.canDoWithout(slice, s) {
			d.discard = append(d.discard, slice.id)
			t.removing++
		}
	}
}

// launch starts new slices that were found loaded, each of them once: somebody who stops one again wants it so, and it
// fails when its time is over.
func (t *tally) launch(s situation, d *decision) {
	if s.ending {
		return
	}
	leaving := make(map[string]bool, len(d.remove))
	for _, r := range d.remove {
		leaving[r.id] = true
	}
	for _, slice := range s.slices {
		leaves := slice.removing || leaving[slice.id]
		if slice.isNew && slice.replaceable && !slice.launched && !slice.own && !slice.failed && !leaves {
			d.launch = append(d.launch, slice.id)
		}
	}
}

// removeOld takes away old slices: those that don't run at once, those that run as far as the bounds allow.
func (t *tally) removeOld(s situation, d *decision) {
	for _, slice := range s.removalOrder() {
		if slice.isNew || !t.mayRemove(s) || !t.mayTake(slice, s) {
			continue
		}
		d.remove = append(d.remove, removed{id: slice.id, successor: t.standing <= s.wanted})
		t.take(slice)
	}
}

// mayTake says whether an old slice may be taken away now. One that runs has to have a successor. One of which no look
// tells whether it runs can neither be counted on nor be taken as lost.
func (t *tally) mayTake(slice sliceView, s situation) bool {
	switch {
	case !t.canDoWithout(slice, s):
		return false
	case slice.running:
		return t.hasSuccessor(s) && !s.paused
	default:
		return (slice.down || slice.untold) && !s.ending
	}
}

// canDoWithout says whether MinAlive holds, by what can be counted on, when the slice no longer runs.
func (t *tally) canDoWithout(slice sliceView, s situation) bool {
	switch {
	case slice.down:
		return true
	case slice.counts():
		return t.alive-1 >= s.minAlive
	default:
		return t.alive >= s.minAlive
	}
}

// hasSuccessor says whether one more slice that runs can go: its successor is ready, or it is one too many, or it has to
// make room (MaxGrowth 0). An update that ends only finishes what it has begun, which leaves as many slices as there were.
func (t *tally) hasSuccessor(s situation) bool {
	if s.ending {
		return t.standing > max(s.found, s.wanted)
	}
	return t.standing > s.wanted || s.maxGrowth == 0
}

func (t *tally) take(slice sliceView) {
	t.removing++
	t.standing--
	if slice.counts() {
		t.alive--
	}
	if slice.stays() {
		t.staying--
	}
}

// removeSurplus takes away new slices that are more than wanted, once no old one is left that could go instead.
func (t *tally) removeSurplus(s situation, d *decision) {
	if s.ending {
		return
	}
	for _, slice := range s.removalOrder() {
		surplus := slice.isNew && !slice.failed && t.staying > s.wanted
		if !surplus || !t.mayRemove(s) || !t.canDoWithout(slice, s) {
			continue
		}
		d.remove = append(d.remove, removed{id: slice.id})
		t.removing++
		t.staying--
		if slice.counts() {
			t.alive--
			t.standing--
		}
	}
}

// removalOrder gives the slices that may be taken away: those that don't run before those that do, young ones before old
// ones, then by ID.
func (s situation) removalOrder() []sliceView {
	var order []sliceView
	for _, slice := range s.slices {
		if slice.replaceable && !slice.removing {
			order = append(order, slice)
		}
	}
	slices.SortStableFunc(order, func(a, b sliceView) int {
		if a.running != b.running {
			if b.running {
				return -1
			}
			return 1
		}
		return cmp.Or(cmp.Compare(b.age, a.age), strings.Compare(a.id, b.id))
	})
	return order
}

// add creates what is missing, ahead of removals by MaxGrowth at most.
func (t *tally) add(s situation, d *decision) {
	for d.add < t.missing(s) && t.existing+d.add < s.wanted+s.maxGrowth {
		d.add++
	}
}

// missing is how many new slices are yet to be created. An update that ends creates only successors of those it took.
func (t *tally) missing(s situation) int {
	missing := max(0, s.wanted-t.staying)
	if s.ending {
		return min(missing, s.owed)
	}
	return missing
}

// addWhenStuck uses the room that the group had at the call, where there were more slices than wanted: with MaxGrowth 0
// and MinAlive at the number wanted, nothing could go on otherwise.
func (t *tally) addWhenStuck(s situation, d *decision) {
	if d.waiting || t.missing(s) == 0 || t.existing >= max(s.found, s.wanted)+s.maxGrowth {
		return
	}
	d.add = 1
	d.waiting = true
}

// ready counts the new slices that are ready.
func (s situation) ready() int {
	n := 0
	for _, slice := range s.slices {
		if slice.ready {
			n++
		}
	}
	return n
}

// isDone says whether the group is as wanted: so many new slices, all of them ready, and nothing else that could go.
func (s situation) isDone() bool {
	staying := 0
	for _, slice := range s.slices {
		if slice.removing || slice.replaceable && !slice.isNew {
			return false
		}
		if slice.isNew && slice.replaceable && !slice.ready {
			return false
		}
		staying++
	}
	return staying == s.wanted
}
