package progress

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/squadronctl/squadron/controller"
)

// How many slices are done of how many, after the events of each step: "a planned" and so on.
func TestTally(t *testing.T) {
	for name, steps := range map[string][]struct {
		events []string
		want   tally
	}{
		"added first, then removed": {
			{[]string{"a planned", "b planned", "c kept"}, tally{done: 1, all: 3}},
			{[]string{"n submitting"}, tally{done: 1, all: 3}},
			{[]string{"n running"}, tally{done: 1, all: 3}},
			{[]string{"a stopping", "a destroyed"}, tally{done: 2, all: 3}},
			{[]string{"m running", "b destroyed"}, tally{done: 3, all: 3}},
		},
		"removed first": {
			{[]string{"a planned", "a destroyed", "n submitting"}, tally{done: 0, all: 1}},
			{[]string{"n running"}, tally{done: 1, all: 1}},
		},
		"more slices": {
			{[]string{"a kept", "n submitting", "m running"}, tally{done: 2, all: 3}},
		},
		"fewer slices": {
			{[]string{"a kept", "b planned", "c planned", "b destroyed"}, tally{done: 2, all: 3}},
		},
		"a slice that was done goes down": {
			{[]string{"a kept", "n running", "a down", "n down"}, tally{done: 0, all: 2}},
			{[]string{"a running", "n running"}, tally{done: 2, all: 2}},
		},
		"an old slice that runs again is not done": {
			{[]string{"a planned", "a down", "a running"}, tally{done: 0, all: 1}},
		},
		"a new slice that failed has no place": {
			{[]string{"a planned", "n failed"}, tally{done: 0, all: 1, failed: 1}},
			{[]string{"n destroyed", "m running", "a destroyed"}, tally{done: 1, all: 1, failed: 1}},
		},
		"rolled back": {
			{[]string{"a planned", "a destroyed", "n failed", "n destroyed", "m submitting"}, tally{done: 0, all: 1, failed: 1}},
			{[]string{"m rolled back"}, tally{done: 1, all: 1, failed: 1}},
		},
	} {
		l := newSliceList(time.Time{})
		for _, step := range steps {
			for _, text := range step.events {
				slice, phase, _ := strings.Cut(text, " ")
				l.event(event(slice, controller.UpdatePhase(phase)))
			}
			assert.Equal(t, step.want, l.tally(), "%s: %v", name, step.events)
		}
	}
}
