package controller

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/squadronctl/squadron/fleet"
)

// Looks that follow a change more closely than the interval don't count, and each counts where there is none.
func TestCadence(t *testing.T) {
	start := time.Now()
	spaced, every := cadence{interval: time.Second}, cadence{}
	counted := 0
	for tick := range 31 {
		now := start.Add(time.Duration(tick) * 100 * time.Millisecond)
		assert.True(t, every.counts(now))
		if spaced.counts(now) {
			counted++
		}
	}
	assert.Equal(t, 4, counted, "at the begin, and after each 0.9 s")
}

// What has to be seen WaitCount times in a row is not seen more often by looks that don't count, which end it all the same (R17, R20a).
func TestCloseLooksCountNothing(t *testing.T) {
	failed, running := unitIn("failed/failed"), unitIn("active/running")
	j := judgeOf(StatusRunning)
	m := newSliceMemory()
	r := &updateRun{controller: &controller{config: Config{WaitCount: 3}}, memory: map[string]*sliceMemory{"a1": m}}
	for range 10 {
		_, broken := j.look("web@1.service", failed, time.Now(), false)
		assert.False(t, broken)
		_, _, untold := m.noteActivity(activityUnknown, false, 3)
		assert.False(t, untold)
		r.forgetGone(comparison{slices: map[string]*comparedSlice{}})
		assert.Contains(t, r.memory, "a1")
	}
	look := func(detail *fleet.UnitDetail, counts bool) bool {
		_, broken := j.look("web@1.service", detail, time.Now(), counts)
		return broken
	}
	assert.False(t, look(failed, true))
	assert.False(t, look(failed, true))
	assert.False(t, look(running, false), "that ends the row")
	assert.False(t, look(failed, true))
	assert.False(t, look(failed, true))
	assert.True(t, look(failed, true))
}
