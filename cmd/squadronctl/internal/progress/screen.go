package progress

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// What is written to a terminal beside text. These five are understood by every terminal since the VT100.
const (
	carriageReturn = "\r"
	cursorUp       = "\x1b[%dA"
	eraseLine      = "\x1b[K" // from the cursor on
	eraseBelow     = "\x1b[J" // from the cursor on
	colorEnd       = "\x1b[0m"
)

// color is the sequence that begins a colour; empty for none.
type color string

const (
	red   color = "\x1b[31m"
	green color = "\x1b[32m"
)

// span is a piece of a row in one colour.
type span struct {
	text  string
	color color
}

// row is one row of the block.
type row []span

func (r row) width() int {
	total := 0
	for _, s := range r {
		total += textWidth(s.text)
	}
	return total
}

// cut is the row in so many columns, with an ellipsis where something is missing.
func (r row) cut(columns int) row {
	if r.width() <= columns {
		return r
	}
	var short row
	for _, s := range r {
		used := textWidth(s.text)
		if used >= columns {
			return append(short, span{text: shorten(s.text+ellipsis, columns), color: s.color})
		}
		short = append(short, s)
		columns -= used
	}
	return short
}

func (r row) render(colors bool) string {
	var text strings.Builder
	for _, s := range r {
		if colors && s.color != "" {
			text.WriteString(string(s.color) + s.text + colorEnd)
		} else {
			text.WriteString(s.text)
		}
	}
	return text.String()
}

// screen is what has been written to a terminal, as far as it is to be replaced. Between two drawings the cursor is at the
// beginning of the row below the block.
type screen struct {
	out   io.Writer
	color bool
	err   error // the first of a write; nothing is written after it

	block []string // the rows drawn last
	width []int    // and how many columns each takes
	in    int      // the terminal's width at that time
}

// draw puts lines above the block, and the block below them, in one write. Nothing is written where nothing has changed.
func (s *screen) draw(above []string, block []row, width int) {
	rendered, widths := make([]string, len(block)), make([]int, len(block))
	for i, r := range block {
		rendered[i], widths[i] = r.render(s.color), r.width()
	}
	if len(above) == 0 && slices.Equal(rendered, s.block) && width == s.in {
		return
	}
	var out strings.Builder
	out.WriteString(carriageReturn)
	if up := s.height(width); up > 0 {
		fmt.Fprintf(&out, cursorUp, up)
	}
	if len(above) > 0 {
		// These may wrap, so that erasing line by line would leave something behind.
		out.WriteString(eraseBelow)
	}
	for _, line := range above {
		out.WriteString(line + "\n")
	}
	for _, text := range rendered {
		out.WriteString(text + eraseLine + "\n")
	}
	out.WriteString(eraseBelow)
	s.write(out.String())
	s.block, s.width, s.in = rendered, widths, width
}

// height is how many rows the block takes in a terminal of the width given: where a window was made narrower since, the
// terminal has wrapped the rows that no longer fit.
func (s *screen) height(width int) int {
	total := 0
	for _, w := range s.width {
		total += max(1, (w+width-1)/width)
	}
	return total
}

// print writes plain lines, in one write.
func (s *screen) print(lines ...string) {
	s.write(strings.Join(lines, "\n") + "\n")
}

func (s *screen) write(text string) {
	if s.err == nil {
		_, s.err = io.WriteString(s.out, text)
	}
}
