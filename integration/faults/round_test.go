package faults_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/squadronctl/squadron/controller"
	"github.com/squadronctl/squadron/integration/groups/bench"
)

const (
	// atOnce is how many clusters are broken at the same time.
	atOnce = 6
	// lookPause is what passes between two looks from outside: many clusters are looked at here.
	lookPause = 150 * time.Millisecond
	// strikeWithin is when, after the operations have begun, the fault strikes at the latest, and updateWithin when after the
	// updates have begun the other operations begin; when exactly is left to chance.
	strikeWithin, updateWithin = 4 * time.Second, 12 * time.Second
	// undoneWithin is for how long before its end the looks may lie by which an operation found its success.
	undoneWithin = 10 * time.Second
	// settleLimit is how long a cluster may take, once it is whole again, to come to what is asked of it: among other things
	// it unloads a destroyed unit every five seconds.
	settleLimit = 3 * time.Minute
)

// number gives the environment variable's value, or the default.
func number(t *testing.T, variable string, otherwise int) int {
	t.Helper()
	text := os.Getenv(variable)
	if text == "" {
		return otherwise
	}
	n, err := strconv.Atoi(text)
	require.NoError(t, err, variable)
	return n
}

// Each fault comes upon all operations, each on a group of its own, at a moment left to chance. SQUADRON_FAULT_ROUNDS says
// how often each; 1 by default.
func TestFaults(t *testing.T) {
	t.Parallel()
	slots := make(chan struct{}, atOnce)
	for i := range number(t, "SQUADRON_FAULT_ROUNDS", 1) {
		for _, f := range faults {
			t.Run(fmt.Sprint(f.name, " ", i), func(t *testing.T) {
				t.Parallel()
				slots <- struct{}{}
				defer func() { <-slots }()
				t.Run("round", func(t *testing.T) { newRound(t, f).run(t) })
			})
		}
	}
}

// round is one fault, and the operations it comes upon.
type round struct {
	fault    fault
	site     *bench.Site
	patient  *bench.Bench // prepares, and calls a second time
	hurried  *bench.Bench // has the fault's WaitTimeout
	attempts []*attempt
	healed   chan struct{} // closed when the fault has healed
}

// attempt is one operation of a round.
type attempt struct {
	operation
	group string
	watch *bench.Watch // an update's

	took    time.Duration
	err     error
	missing string // what the outside lacked of a success, at once
}

func newRound(t *testing.T, f fault) *round {
	r := &round{fault: f, site: &bench.Site{Machines: 3, Pause: lookPause}, healed: make(chan struct{})}
	r.site.StopAtEnd(t)
	r.site.Start(t)
	options := bench.Options{WaitTimeout: 3 * time.Minute, RequestTimeout: 3 * time.Second, CleanupTimeout: cleanupTimeout}
	r.patient = bench.New(t, r.site.Cluster.Endpoint(), options)
	options.WaitTimeout = f.waitTimeout
	r.hurried = bench.New(t, r.site.Cluster.Endpoint(), options)
	for _, o := range operations {
		r.attempts = append(r.attempts, &attempt{operation: o, group: groupOf(o)})
	}
	return r
}

func (r *round) run(t *testing.T) {
	began := time.Now()
	phase := func(name string) { t.Logf("%.1f s: %s", time.Since(began).Seconds(), name) }
	r.prepare(t)
	phase("prepared")
	var all, finite sync.WaitGroup // finite has all but those that are repeated until the fault has healed
	lead := rand.N(updateWithin)
	for _, a := range r.attempts {
		if !a.repeated {
			finite.Add(1)
		}
		all.Go(func() {
			if a.bounds == nil {
				time.Sleep(lead)
			}
			r.try(t, a)
			if !a.repeated {
				finite.Done()
			}
		})
	}
	time.Sleep(lead)
	t.Logf("updates go on for %.2f s", lead.Seconds())
	r.breakAndHeal(t, &finite)
	all.Wait()
	phase("first calls over")
	for _, a := range r.attempts {
		r.check(t, a)
	}
	r.settle(t)
	phase("settled")
	r.finishAll(t)
	phase("second calls over")
	r.compareWithMachines(t)
	phase("the machines agree")
}

func (r *round) prepare(t *testing.T) {
	var preparing sync.WaitGroup
	errs := make([]error, len(r.attempts))
	for i, a := range r.attempts {
		if a.prepare != nil {
			preparing.Go(func() { errs[i] = a.prepare(r.patient, a.group) })
		}
	}
	preparing.Wait()
	for i, err := range errs {
		require.NoError(t, err, "prepare %s", r.attempts[i].name)
	}
	for _, a := range r.attempts {
		if a.bounds != nil {
			a.watch = r.site.Observer.WatchUpdate(t, content(a.group, 1), *a.bounds, len(sliceIDs))
			a.watch.AllowLosses()
		}
	}
}

// try carries the operation out, once or again and again until the fault has healed.
func (r *round) try(t *testing.T, a *attempt) {
	for {
		began, lastGood := time.Now(), r.lastGood(a)
		a.err = a.act(r.hurried, a.group)
		ended, good := time.Now(), lastGood()
		a.took = max(a.took, ended.Sub(began))
		if a.err == nil {
			a.missing = r.missing(t, a, good.After(began) && ended.Sub(good) < undoneWithin)
		}
		if !a.repeated || a.missing != "" || r.isHealed() {
			return
		}
	}
}

func (r *round) isHealed() bool {
	select {
	case <-r.healed:
		return true
	default:
		return false
	}
}

// lastGood follows, until last is called, when the outside last saw the operation's success.
func (r *round) lastGood(a *attempt) (last func() time.Time) {
	var mutex sync.Mutex
	var good time.Time
	end := r.site.Observer.Follow(func(look bench.Snapshot) {
		if a.wrong(look, a.group) == "" {
			mutex.Lock()
			defer mutex.Unlock()
			good = look.At
		}
	})
	return func() time.Time {
		end()
		mutex.Lock()
		defer mutex.Unlock()
		return good
	}
}

// missing says what of a success the outside does not see, at once. What it has seen during the library's last looks may
// have been undone by the fault since.
func (r *round) missing(t *testing.T, a *attempt, wasGood bool) string {
	look, err := r.site.Observer.Look(context.Background())
	if err != nil {
		return "" // nobody can see; what is there once the fault has healed is checked then
	}
	wrong := a.wrong(look, a.group)
	if wrong != "" && wasGood {
		t.Logf("%s was there, and is undone: %s", a.name, wrong)
		return ""
	}
	return wrong
}

func (r *round) breakAndHeal(t *testing.T, finite *sync.WaitGroup) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	moment := rand.N(strikeWithin)
	time.Sleep(moment)
	t.Logf("%s after %.2f s", r.fault.name, moment.Seconds())
	assert.NoError(t, r.fault.strike(ctx, r.site))
	if r.fault.lasts > 0 {
		time.Sleep(r.fault.lasts)
	} else {
		finite.Wait()
	}
	assert.NoError(t, r.fault.heal(ctx, r.site))
	close(r.healed)
}

// check holds what the attempt came to against what is promised at once.
func (r *round) check(t *testing.T, a *attempt) {
	t.Logf("%s took %.1f s: %v", a.name, a.took.Seconds(), a.err)
	assert.LessOrEqual(t, a.took, a.limit(r.fault.waitTimeout), "%s hung", a.name)
	assert.Empty(t, a.missing, "%s reported success that is not there", a.name)
	if a.err != nil {
		assert.False(t, controller.IsUnitNotFound(a.err) || controller.IsUnitSliceNotFound(a.err), "%s: what is there can't be not found: %v", a.name, a.err)
		assert.False(t, controller.IsInvalidArgument(a.err) || controller.IsAmbiguousGroup(a.err), "%s: nothing is wrong with the request: %v", a.name, a.err)
	}
	if a.outlasts && r.fault.waitTimeout == patient {
		assert.NoError(t, a.err, "%s: its time was not over", a.name)
	}
	if a.watch != nil {
		a.watch.End(t)
	}
}
