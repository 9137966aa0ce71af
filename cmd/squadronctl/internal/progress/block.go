package progress

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/squadronctl/squadron/controller"
)

// size is the room for a block.
type size struct{ width, height int }

// frameBlock lays out lines that somebody else has made.
func frameBlock(lines []string, room size) []row {
	rest := 0
	if len(lines) > room.height {
		shown := max(0, room.height-1)
		lines, rest = lines[:shown], len(lines)-shown
	}
	var block []row
	for _, line := range lines {
		block = append(block, row{{text: line}})
	}
	return fit(append(block, more(rest)...), room)
}

// block lays out the slices and the bar.
func (l *sliceList) block(now time.Time, room size) []row {
	if len(l.entries) == 0 {
		return nil
	}
	shown := l.entries
	if rows := room.height - 1; len(shown) > rows { // without the bar's
		shown = l.chosen(max(0, rows-1))
	}
	block := entryRows(shown, now, room.width)
	if rest := len(l.entries) - len(shown); room.height > 1 {
		block = append(block, more(rest)...)
	}
	return fit(append(block, l.bar(now, room.width)), room)
}

// fit makes sure that a block stays within its room, whatever it is made of.
func fit(block []row, room size) []row {
	if extra := len(block) - max(0, room.height); extra > 0 {
		block = block[extra:]
	}
	for i, r := range block {
		block[i] = r.cut(room.width)
	}
	return block
}

// more is the row that stands for those left out.
func more(n int) []row {
	if n == 0 {
		return nil
	}
	return []row{{{text: fmt.Sprintf("%s and %d more", ellipsis, n)}}}
}

// chosen are the n entries that are most worth showing, in their order: those that move, then those that failed, those
// that wait, and those that are done; of each the latest.
func (l *sliceList) chosen(n int) []*entry {
	ranked := slices.Clone(l.entries)
	slices.SortStableFunc(ranked, func(a, b *entry) int {
		return cmp.Or(cmp.Compare(a.state(), b.state()), b.since.Compare(a.since))
	})
	ranked = ranked[:min(n, len(ranked))]
	slices.SortFunc(ranked, func(a, b *entry) int { return cmp.Compare(a.place, b.place) })
	return ranked
}

// The columns of a slice's row: a name of at least minName, a phase of at least minPhase, so that it stays where it is
// while phases come and go, and a time.
const (
	gap      = "  "
	minName  = 4
	minPhase = len(controller.PhaseCoolingDown)
	ageWidth = 6
)

// entryRows has a row for each entry: name, phase, and how long it has been in it.
func entryRows(entries []*entry, now time.Time, width int) []row {
	names, phases := 0, minPhase
	for _, e := range entries {
		names, phases = max(names, textWidth(e.name)), max(phases, textWidth(e.phase))
	}
	names = min(names, max(minName, width-phases-ageWidth-2*len(gap)))
	rows := make([]row, len(entries))
	for i, e := range entries {
		rows[i] = row{
			{text: pad(shorten(e.name, names), names) + gap},
			{text: e.phase, color: e.color()},
			{text: pad("", phases-textWidth(e.phase)) + gap + fmt.Sprintf("%*s", ageWidth, age(now.Sub(e.since)))},
		}
	}
	return rows
}

// The bar's length, in columns: a third of the terminal's, or none where that is too little to tell anything.
const (
	minBar = 8
	maxBar = 40
)

// bar is the row over all slices.
func (l *sliceList) bar(now time.Time, width int) row {
	t := l.tally()
	var bar row
	if length := min(maxBar, width/3); length >= minBar {
		filled := 0
		if t.all > 0 {
			filled = length * t.done / t.all
		}
		bar = append(bar, span{text: "[" + strings.Repeat("#", filled) + strings.Repeat("-", length-filled) + "] "})
	}
	done := span{text: fmt.Sprintf("%d of %d slices done", t.done, t.all)}
	if t.all == 1 {
		done.text = fmt.Sprintf("%d of 1 slice done", t.done)
	}
	if t.done == t.all {
		done.color = green
	}
	bar = append(bar, done)
	if t.failed > 0 {
		bar = append(bar, span{text: ", "}, span{text: fmt.Sprintf("%d failed", t.failed), color: red})
	}
	if l.note != "" {
		bar = append(bar, span{text: ", " + l.note})
	}
	return append(bar, span{text: ", " + age(now.Sub(l.began))})
}

// age is a time in few characters: 42s, 3m05s, 2h07m.
func age(d time.Duration) string {
	seconds := int(max(0, d) / time.Second)
	switch {
	case seconds < 60:
		return fmt.Sprintf("%ds", seconds)
	case seconds < 3600:
		return fmt.Sprintf("%dm%02ds", seconds/60, seconds%60)
	default:
		return fmt.Sprintf("%dh%02dm", seconds/3600, seconds/60%60)
	}
}
