package progress

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/squadronctl/squadron/cmd/squadronctl/internal/progress/termtest"
	"github.com/squadronctl/squadron/controller"
)

// Whatever happens, the block is there once, on the last rows, no row of it wraps, and all lines that were to stay are
// there, each once and in order.
func TestAnyEvents(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		term := termtest.New(rapid.IntRange(1, 90).Draw(t, "width"), rapid.IntRange(1, 30).Draw(t, "height"))
		now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
		d := newDisplay(Config{Out: term, Terminal: true, Width: term.Width, Height: term.Height, Now: func() time.Time { return now }})
		var lines []string
		for range rapid.IntRange(0, 40).Draw(t, "steps") {
			now = now.Add(time.Duration(rapid.Int64Range(0, 1e11).Draw(t, "pause")))
			if line := anyStep(t, d); line != "" {
				lines = append(lines, line)
			}
			d.draw()
			checkScreen(t, d, term, lines)
		}
		require.NoError(t, d.Close())
		checkScreen(t, d, term, lines)
	})
}

// anyStep does something to a display, and gives the line that must stay, if any.
func anyStep(t *rapid.T, d *Display) string {
	slice := rapid.StringMatching(`[a-f0-9]{1,3}|[a-z]{60}|界{1,20}|e\x{301}\x1b\[2J`).Draw(t, "slice")
	phase := rapid.SampledFrom([]controller.UpdatePhase{
		controller.PhasePlanned, controller.PhaseKept, controller.PhaseSubmitting, controller.PhaseStarting, controller.PhaseCoolingDown,
		controller.PhaseRunning, controller.PhaseDown, controller.PhaseStopping, controller.PhaseDestroyed, controller.PhaseFailed,
		controller.PhaseRolledBack, controller.PhasePaused, controller.PhaseResumed, controller.PhaseRollingBack,
	}).Draw(t, "phase")
	switch rapid.IntRange(0, 3).Draw(t, "what") {
	case 0:
		line := fmt.Sprintf("line %s.", strings.Repeat("y", rapid.IntRange(0, 200).Draw(t, "length")))
		d.Line(line)
		return line
	case 1:
		d.Status(slice, string(phase), rapid.Bool().Draw(t, "done"))
	case 2:
		d.Event(event(slice, phase))
	default:
		failure := event(slice, phase)
		failure.Err = errors.New("line " + slice)
		before := reasonCount(d, failure)
		d.Event(failure)
		if reasonCount(d, failure) != before || isOfUpdate(phase) {
			return clean(reasonOf(failure))
		}
	}
	return ""
}

// reasonCount tells whether the reason of a failure is known.
func reasonCount(d *Display, failure controller.UpdateEvent) string {
	if e := d.slices.byName[clean(sliceName(failure))]; e != nil {
		return e.reason
	}
	return ""
}

func checkScreen(t *rapid.T, d *Display, term *termtest.Terminal, lines []string) {
	require.Empty(t, term.Faults())
	all := term.All()
	block := len(d.screen.block)
	require.Less(t, block, max(2, term.Height()))
	if term.Width() > 1 {
		require.GreaterOrEqual(t, len(all), len(lines))
		require.Equal(t, lines, append([]string(nil), all[:len(lines)]...))
		require.LessOrEqual(t, len(all)-len(lines), block)
	}
	for _, width := range d.screen.width {
		require.Less(t, width, term.Width())
	}
	require.False(t, term.Wraps(block), "%v", all)
	tally := d.slices.tally()
	require.True(t, 0 <= tally.done && tally.done <= tally.all, "%+v", tally)
}

// However a window changes, what was written above the block stays, and there is one block.
func TestAnyWindow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		term := termtest.New(80, 80)
		d := newDisplay(Config{Out: term, Terminal: true, Width: term.Width, Height: term.Height})
		d.Line("stays")
		for i := range rapid.IntRange(1, 5).Draw(t, "slices") {
			d.Status(fmt.Sprint(i, strings.Repeat("x", rapid.IntRange(0, 90).Draw(t, "length"))), "starting", false)
		}
		for range 10 {
			term.Resize(rapid.IntRange(12, 120).Draw(t, "width"), 80)
			d.draw()
			all := term.All()
			require.Equal(t, "stays", all[0])
			require.Len(t, all, 1+len(d.screen.block))
		}
		require.NoError(t, d.Close())
	})
}
