package speed_test

import (
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/squadronctl/squadron/controller"
	"github.com/squadronctl/squadron/integration/groups/bench"
)

const (
	lifeSlices   = 5
	maxGrowth    = 2
	minAlive     = 4
	updateRounds = (lifeSlices + maxGrowth - 1) / maxGrowth
	lives        = 2

	waitCount = 3
	waitSleep = time.Second // the default

	oursPrefix = "ours"

	oldExec = "/bin/sleep 100001"
	newExec = "/bin/sleep 100002"
)

// step is one operation, and how many waits it has that must follow one another.
type step struct {
	name  string
	waits int
}

var steps = []step{{"submit", 1}, {"start", 1}, {"update", 3 * updateRounds}, {"stop", 1}, {"destroy", 1}}

// Each operation on a real cluster takes no longer than a bare loop of the same writes, which polls /state every 50 ms and
// believes what it sees first, but for WaitCount looks for each wait, and a tenth. Both do each step at the same time, on the
// same machines: how long an agent takes depends on where in its interval of 5 s a write meets it, and so it is the same for
// both.
func TestBareLoopOnARealCluster(t *testing.T) {
	ours, bare := oursOn(t), bareOn(t)
	took := map[string][2]float64{} // seconds of all lives: ours, bare
	for range lives {
		untilClear(t, oursPrefix)
		for _, s := range steps {
			var both sync.WaitGroup
			var oursTook, bareTook float64
			both.Go(func() { oursTook = timed(t, s.name, ours[s.name]) })
			both.Go(func() { bareTook = timed(t, s.name, bare[s.name]) })
			both.Wait()
			if t.Failed() {
				return
			}
			took[s.name] = [2]float64{took[s.name][0] + oursTook, took[s.name][1] + bareTook}
		}
	}
	for _, s := range steps {
		holdAgainstBare(t, s, took[s.name])
	}
}

func timed(t *testing.T, name string, do func() error) float64 {
	began := time.Now()
	assert.NoError(t, do(), name)
	return time.Since(began).Seconds()
}

// holdAgainstBare asserts of a step, in the mean of all lives, what the library may take beside the bare loop.
func holdAgainstBare(t *testing.T, s step, took [2]float64) {
	ours, bare := took[0]/lives, took[1]/lives
	allowed := (bare + float64(s.waits*waitCount)*waitSleep.Seconds()) * 1.1
	t.Logf("%-8s ours %5.1f s, bare %5.1f s, allowed %5.1f s", s.name, ours, bare, allowed)
	assert.LessOrEqual(t, ours, allowed, s.name)
}

// oursOn gives the steps as the library does them.
func oursOn(t *testing.T) map[string]func() error {
	b := site.Open(t, oursPrefix, bench.Options{WaitSleep: waitSleep})
	content := func(exec string) controller.Request {
		return bench.Request(oursPrefix,
			controller.Unit{Name: oursPrefix + "-main@.service", Content: bench.Service(exec)},
			controller.Unit{Name: oursPrefix + "-side@.service", Content: bench.Service(exec)})
	}
	all := bench.Request(oursPrefix)
	return map[string]func() error{
		"submit": func() error { return b.Submit(bench.Number(content(oldExec), lifeSlices)) },
		"start":  func() error { return b.Start(all) },
		"update": func() error {
			return b.Update(content(newExec), controller.UpdateOptions{MaxGrowth: maxGrowth, MinAlive: minAlive})
		},
		"stop":    func() error { return b.Stop(all) },
		"destroy": func() error { return b.Destroy(all) },
	}
}

// bareOn gives the steps as a bareLoop does them.
func bareOn(t *testing.T) map[string]func() error {
	site.Observer.DeleteAll(t, barePrefix)
	b := &bareLoop{client: &http.Client{Transport: &http.Transport{}}}
	t.Cleanup(b.client.CloseIdleConnections)
	var made []int
	return map[string]func() error{
		"submit": func() error {
			made = b.newSlices(lifeSlices)
			return b.put(unitsOf(barePrefix, made...), "loaded", oldExec, isInactive)
		},
		"start": func() error { return b.put(unitsOf(barePrefix, made...), "launched", oldExec, isActive) },
		"update": func() (err error) {
			made, err = b.update(made, maxGrowth, newExec)
			return err
		},
		"stop":    func() error { return b.put(unitsOf(barePrefix, made...), "loaded", newExec, isInactive) },
		"destroy": func() error { return b.remove(unitsOf(barePrefix, made...)) },
	}
}
