package controller

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// kind is what a slice of the model is like. Slices of one kind are alike, so a state is how many there are of each.
type kind int

const (
	oldRunning kind = iota
	oldDown
	oldUnknown
	oldUntold   // not known for long
	newStarting // created by the update
	newReady
	newLoaded   // found, not launched
	newFailed   // created by the update
	newUnready  // found running, not yet for long enough
	raised      // found loaded and launched by the update
	raisedFails // and failed then
	keptRunning // running, and not to be replaced
	keptDown    // not running, and not to be replaced
	settledDown // as wanted and not running, which a scaling leaves alone
	leaving     // being taken away
	kinds
)

var newKinds = []kind{newStarting, newReady, newLoaded, newFailed, newUnready, raised, raisedFails, settledDown}

// modelState is a group in the middle of an update, seen from outside.
type modelState struct {
	count  [kinds]int
	ending bool
	owed   int
	lost   int // slices that failed without the update's doing
}

// model is one update: the numbers that don't change while it runs.
type model struct {
	wanted, found, maxGrowth, minAlive int
}

func (m model) situation(state modelState) situation {
	s := situation{wanted: m.wanted, found: m.found, maxGrowth: m.maxGrowth, minAlive: m.minAlive, ending: state.ending, owed: state.owed}
	for k := range kinds {
		for i := range state.count[k] {
			s.slices = append(s.slices, sliceView{
				id:          fmt.Sprintf("%d-%d", k, i),
				isNew:       slices.Contains(newKinds, k),
				replaceable: k != keptRunning && k != keptDown,
				launched:    k != newLoaded,
				running:     k == oldRunning || k == newReady || k == newUnready || k == keptRunning,
				down:        k == oldDown || k == newFailed || k == newLoaded || k == raisedFails || k == keptDown || k == settledDown,
				untold:      k == oldUntold,
				ready:       k == newReady || k == settledDown,
				failed:      k == newFailed || k == raisedFails,
				made:        k == newStarting || k == newFailed,
				own:         k == newStarting || k == newFailed || k == raised || k == raisedFails,
				removing:    k == leaving,
			})
		}
	}
	return s
}

func kindOf(id string) kind {
	var k, i int
	_, _ = fmt.Sscanf(id, "%d-%d", &k, &i)
	return kind(k)
}

// apply does what was decided.
func (state modelState) apply(d decision) modelState {
	for range d.launch {
		state.count[newLoaded]--
		state.count[raised]++
	}
	for range d.discard {
		state.count[newFailed]--
		state.count[leaving]++
	}
	for _, taken := range d.remove {
		state.count[kindOf(taken.id)]--
		state.count[leaving]++
		if taken.successor {
			state.owed++
		}
	}
	state.count[newStarting] += d.add
	state.owed = max(0, state.owed-d.add)
	return state
}

// events are all that can happen to a state until the next look.
func (state modelState) events(failures bool) []modelState {
	var next []modelState
	move := func(from, to kind, change func(*modelState)) {
		if state.count[from] == 0 {
			return
		}
		moved := state
		moved.count[from]--
		if to != kinds {
			moved.count[to]++
		}
		if change != nil {
			change(&moved)
		}
		next = append(next, moved)
	}
	move(leaving, kinds, nil)
	move(newStarting, newReady, nil)
	move(raised, newReady, nil)
	move(newUnready, newReady, nil)
	move(oldUnknown, oldRunning, nil)
	move(oldUnknown, oldUntold, nil)
	if failures {
		move(newStarting, newFailed, func(s *modelState) { s.ending = true })
		move(raised, raisedFails, func(s *modelState) { s.ending = true })
		if state.lost == 0 {
			move(oldRunning, oldDown, func(s *modelState) { s.lost++ })
			move(newReady, newFailed, func(s *modelState) { s.lost++; s.ending = true })
			move(newUnready, raisedFails, func(s *modelState) { s.lost++; s.ending = true })
		}
		if !state.ending {
			ended := state // cancelled
			ended.ending = true
			next = append(next, ended)
		}
	}
	return next
}

// TestDecideModel walks through everything that can happen in an update of up to 5 slices, with all small options:
// whatever comes, the bounds of R22 hold after each decision, and the update comes to an end. Without failures that end
// is the group as wanted.
func TestDecideModel(t *testing.T) {
	checked := 0
	for _, mix := range mixes {
		for m, start := range mix.models() {
			walk := &modelWalk{model: m, seen: map[modelState]bool{}, onPath: map[modelState]bool{}}
			finding := walk.visit(start)
			require.Empty(t, finding, "%+v from %+v", m, start)
			checked += len(walk.seen)
		}
	}
	t.Logf("%d states", checked)
}

// mix is a choice of the kinds that a group may consist of at the call, and how many slices it may have.
type mix struct {
	kinds []kind
	most  int
}

var mixes = []mix{
	{[]kind{oldRunning, oldDown, newReady}, 5},
	{[]kind{oldRunning, oldUnknown, newUnready, newLoaded}, 3},
	{[]kind{oldRunning, oldDown, keptRunning, keptDown}, 4},
	{[]kind{newUnready, newLoaded, newReady, keptRunning, keptDown}, 3},
	{[]kind{newReady, settledDown, oldRunning, oldDown}, 4}, // a scaling: slices that lack a unit are old
}

// models are all starts of the mix that an update does not refuse.
func (x mix) models() func(yield func(model, modelState) bool) {
	return func(yield func(model, modelState) bool) {
		for start := range x.starts(modelState{}, 0) {
			found := 0
			for _, n := range start.count {
				found += n
			}
			for wanted := 1; wanted <= x.most; wanted++ {
				for growth := range 3 {
					for alive := range found + 1 {
						m := model{wanted: wanted, found: found, maxGrowth: growth, minAlive: alive}
						if m.refuses(start) {
							continue
						}
						if !yield(m, start) {
							return
						}
					}
				}
			}
		}
	}
}

// starts are all groups of the mix's kinds from the given one on.
func (x mix) starts(state modelState, from int) func(yield func(modelState) bool) {
	return func(yield func(modelState) bool) {
		if from == len(x.kinds) {
			yield(state)
			return
		}
		total := 0
		for _, n := range state.count {
			total += n
		}
		for n := range x.most - total + 1 {
			next := state
			next.count[x.kinds[from]] = n
			for s := range x.starts(next, from+1) {
				if !yield(s) {
					return
				}
			}
		}
	}
}

// refuses is what Update itself does with the situation at the call.
func (m model) refuses(start modelState) bool {
	s := m.situation(start)
	for i := range s.slices {
		s.slices[i].ready = s.slices[i].ready && start.count[settledDown] > 0 // what a scaling leaves alone
		s.slices[i].own, s.slices[i].made = false, false
	}
	return s.refusal(true) != nil
}

// modelWalk visits all states that can be reached.
type modelWalk struct {
	model  model
	seen   map[modelState]bool
	onPath map[modelState]bool
}

func (w *modelWalk) visit(state modelState) string {
	if w.onPath[state] {
		return fmt.Sprintf("goes in circles through %+v", state)
	}
	if w.seen[state] {
		return ""
	}
	w.seen[state], w.onPath[state] = true, true
	defer delete(w.onPath, state)

	d := decide(w.model.situation(state))
	if d.done {
		kept := [kinds]int{keptRunning: state.count[keptRunning], keptDown: state.count[keptDown]}
		kept[settledDown] = state.count[settledDown]
		kept[newReady] = w.model.wanted - kept[keptRunning] - kept[keptDown] - kept[settledDown]
		if state.count != kept {
			return fmt.Sprintf("calls itself done in %+v", state)
		}
		return ""
	}
	if finding := w.visitPaused(state); finding != "" {
		return finding
	}
	if !d.waiting && state.count[oldUnknown] == 0 { // more looks will tell
		return w.checkStandstill(state)
	}
	decided := state.apply(d)
	if finding := w.model.check(decided); finding != "" {
		return fmt.Sprintf("%s after %+v in %+v", finding, d, state)
	}
	events := decided.events(true)
	if len(events) == 0 {
		return fmt.Sprintf("waits for nothing in %+v after %+v", decided, d)
	}
	for _, next := range events {
		if finding := w.visit(next); finding != "" {
			return finding
		}
	}
	return ""
}

// visitPaused goes on from the state as an update does that is paused for one look: what that look calls for is done, and
// then it is resumed.
func (w *modelWalk) visitPaused(state modelState) string {
	s := w.model.situation(state)
	s.ending, s.paused = true, true
	d := decide(s)
	if len(d.launch)+len(d.remove) > 0 && !state.ending {
		return fmt.Sprintf("takes up %+v while paused in %+v", d, state)
	}
	decided := state.apply(d)
	if decided == state {
		return ""
	}
	if finding := w.model.check(decided); finding != "" {
		return fmt.Sprintf("%s after %+v, paused in %+v", finding, d, state)
	}
	return w.visit(decided)
}

// checkStandstill says what is wrong with an update that can do nothing more: only one that is ending may, or one that
// lost a slice and so can't keep MinAlive.
func (w *modelWalk) checkStandstill(state modelState) string {
	if state.ending || state.lost > 0 {
		if state.count[newFailed] > 0 && state.ending {
			return fmt.Sprintf("leaves a failed slice in %+v", state)
		}
		return ""
	}
	return fmt.Sprintf("stands still in %+v", state)
}

func (m model) check(state modelState) string {
	existing := 0
	for _, n := range state.count {
		existing += n
	}
	running := state.count[oldRunning] + state.count[newReady] + state.count[newUnready] + state.count[keptRunning]
	switch {
	case running < m.minAlive-state.lost:
		return fmt.Sprintf("%d slices run", running)
	case existing > max(m.found, m.wanted)+m.maxGrowth:
		return fmt.Sprintf("%d slices exist", existing)
	case m.minAlive > 0 && state.count[leaving] > m.minAlive:
		return fmt.Sprintf("%d slices are being removed", state.count[leaving])
	}
	return ""
}

// A slice of which a look does not tell whether it runs is neither counted on nor taken for lost.
func TestDecideLeavesTheUnknownAlone(t *testing.T) {
	var state modelState
	state.count[oldRunning], state.count[oldUnknown] = 2, 1
	d := decide(model{wanted: 3, found: 3, maxGrowth: 0, minAlive: 2}.situation(state))
	require.Empty(t, d.remove)
	d = decide(model{wanted: 3, found: 3, maxGrowth: 0, minAlive: 1}.situation(state))
	require.Equal(t, []removed{{id: "0-0", successor: true}}, d.remove)
}

// An update that is to end takes up no old slice, not even one that is down.
func TestDecideEndingLeavesTheDownAlone(t *testing.T) {
	var state modelState
	state.count[oldRunning], state.count[oldDown] = 2, 1
	state.ending = true
	d := decide(model{wanted: 3, found: 3, maxGrowth: 1, minAlive: 2}.situation(state))
	require.Equal(t, decision{}, d)
}

// A slice that the last look lacked is nothing to count on: none that runs goes because of it.
func TestDecideCountsOnNoAbsentSlice(t *testing.T) {
	var state modelState
	state.count[oldRunning], state.count[newReady] = 3, 1
	s := model{wanted: 3, found: 3, maxGrowth: 1, minAlive: 1}.situation(state)
	s.slices[0].running, s.slices[0].absent = false, true
	require.Empty(t, decide(s).remove)
}

// A plan says how few slices run and how many exist at any moment, whatever becomes ready or goes first: held against all
// orders in which that can happen.
func TestForeseenNumbersAreTheExtremes(t *testing.T) {
	checked := 0
	for _, mix := range []mix{{[]kind{oldRunning, oldDown, newReady}, 4}, {[]kind{oldRunning, newLoaded, keptRunning, keptDown}, 3}} {
		for m, start := range mix.models() {
			s := m.situation(start)
			plan := &Plan{}
			plan.foresee(s)
			w := &extremes{model: m, seen: map[modelState]bool{}, leastRunning: len(s.slices), mostExisting: 0}
			w.visit(start)
			require.Equal(t, [2]int{w.leastRunning, w.mostExisting}, [2]int{plan.LeastRunning, plan.MostExisting}, "%+v from %+v: %v", m, start, plan.Steps)
			checked++
		}
	}
	t.Logf("%d updates", checked)
}

// extremes goes through all orders in which an update without failures can go.
type extremes struct {
	model                      model
	seen                       map[modelState]bool
	leastRunning, mostExisting int
}

func (w *extremes) visit(state modelState) {
	if w.seen[state] {
		return
	}
	w.seen[state] = true
	w.note(state)
	d := decide(w.model.situation(state))
	if d.done {
		return
	}
	decided := state.apply(d)
	w.note(decided)
	for _, next := range decided.events(false) {
		w.visit(next)
	}
}

func (w *extremes) note(state modelState) {
	existing := 0
	for _, n := range state.count {
		existing += n
	}
	running := state.count[oldRunning] + state.count[newReady] + state.count[keptRunning]
	w.leastRunning, w.mostExisting = min(w.leastRunning, running), max(w.mostExisting, existing)
}
