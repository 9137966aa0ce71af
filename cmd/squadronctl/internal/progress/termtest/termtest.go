// Package termtest is a small emulation of a terminal, for tests of what is drawn on one.
//
// It knows what the command writes and no more: text, \r, \n, and the sequences that move the cursor up, erase to the end
// of the line or the screen, and set colours. Everything else is a fault, which a test should look for.
package termtest

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"
)

// Terminal is an emulated terminal. It is safe for use by many goroutines at once.
type Terminal struct {
	mutex         sync.Mutex
	width, height int
	cutting       bool

	rows    []termRow // what has scrolled away, and what is seen
	top     int       // the first that is seen
	row     int       // the cursor's
	column  int
	pending bool // the last column was written to, and the next character wraps

	writes    int
	sequences []string
	faults    []string
}

// termRow is a row of cells; the cell behind a wide rune is empty.
type termRow struct {
	cells   []string
	wrapped bool // it goes on in the next row
}

// New makes an empty terminal that, as most do, wraps anew what it shows when its window changes.
func New(width, height int) *Terminal {
	return &Terminal{width: width, height: height, rows: make([]termRow, 1)}
}

// NewCutting makes a terminal that cuts off what does not fit into a narrower window.
func NewCutting(width, height int) *Terminal {
	t := New(width, height)
	t.cutting = true
	return t
}

// Width is the window's number of columns.
func (t *Terminal) Width() int {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	return t.width
}

// Height is the window's number of rows.
func (t *Terminal) Height() int {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	return t.height
}

// Write shows what is written, and never fails.
func (t *Terminal) Write(p []byte) (int, error) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	t.writes++
	text := string(p)
	if !utf8.ValidString(text) {
		t.fault("no UTF-8: %q", text)
	}
	for text != "" {
		text = t.take(text)
	}
	return len(p), nil
}

func (t *Terminal) fault(format string, args ...any) {
	t.faults = append(t.faults, fmt.Sprintf(format, args...))
}

// take carries out what a text begins with, and gives the rest.
func (t *Terminal) take(text string) string {
	if strings.HasPrefix(text, "\x1b[") {
		end := strings.IndexFunc(text[2:], func(r rune) bool { return r >= '@' })
		if end < 0 {
			t.fault("half a sequence: %q", text)
			return ""
		}
		t.control(text[2:2+end], text[2+end])
		return text[3+end:]
	}
	r, size := utf8.DecodeRuneInString(text)
	switch {
	case r == '\r':
		t.column, t.pending = 0, false
	case r == '\n':
		t.newline()
	case r < ' ' || r >= 0x7f && r < 0xa0:
		t.fault("control character %q", r)
	default:
		t.put(r)
	}
	return text[size:]
}

func (t *Terminal) control(parameter string, final byte) {
	t.sequences = append(t.sequences, parameter+string(final))
	n, _ := strconv.Atoi(parameter)
	switch final {
	case 'A':
		t.row, t.pending = max(t.top, t.row-n), false
	case 'K':
		t.eraseLine()
	case 'J':
		t.eraseLine()
		for i := t.row + 1; i < len(t.rows); i++ {
			t.rows[i] = termRow{}
		}
	case 'm':
	default:
		t.fault("sequence %q", parameter+string(final))
	}
}

func (t *Terminal) eraseLine() {
	row := &t.rows[t.row]
	row.cells, row.wrapped = row.cells[:min(t.column, len(row.cells))], false
}

// newline is what a terminal makes of \n where its driver adds a \r.
func (t *Terminal) newline() {
	t.row++
	t.column, t.pending = 0, false
	if t.row == len(t.rows) {
		t.rows = append(t.rows, termRow{})
	}
	t.top = max(t.top, t.row-t.height+1)
}

func (t *Terminal) put(r rune) {
	width := 1
	switch {
	case r >= 0x300 && r < 0x370: // combining
		if row := t.rows[t.row]; len(row.cells) > 0 {
			row.cells[len(row.cells)-1] += string(r)
		}
		return
	case r >= 0x4e00 && r < 0xa000, r >= 0x1f300 && r < 0x1f700:
		width = 2
	}
	if t.pending || t.column+width > t.width {
		t.rows[t.row].wrapped = true
		t.newline()
	}
	row := &t.rows[t.row]
	for len(row.cells) < t.column+width {
		row.cells = append(row.cells, " ")
	}
	row.cells[t.column] = string(r)
	if width == 2 {
		row.cells[t.column+1] = ""
	}
	t.column += width
	if t.column >= t.width {
		t.column, t.pending = t.width-1, true
	}
}

// Resize gives the window another size.
func (t *Terminal) Resize(width, height int) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	if !t.cutting {
		t.wrapAnew(width)
	}
	for i, row := range t.rows {
		t.rows[i].cells = row.cells[:min(len(row.cells), width)]
	}
	t.width, t.height = width, height
	t.column, t.pending = min(t.column, width-1), false
	t.top = max(0, t.row-height+1)
}

// wrapAnew puts the rows that belong together into rows of another width. The cursor stays before the character it was
// before; it is only ever at the beginning of a row here.
func (t *Terminal) wrapAnew(width int) {
	var rows []termRow
	var line []string
	cursor := 0
	for i, row := range t.rows {
		if i == t.row {
			cursor = len(rows)
		}
		line = append(line, row.cells...)
		if row.wrapped {
			continue
		}
		for len(line) > width {
			cut := width
			if line[cut] == "" {
				cut-- // no wide rune is cut in two
			}
			rows = append(rows, termRow{cells: line[:cut:cut], wrapped: true})
			line = line[cut:]
		}
		rows = append(rows, termRow{cells: line})
		line = nil
	}
	t.rows, t.row = rows, cursor
}

// All gives every line ever written that has not been replaced, with those that have scrolled away; a line that wraps is
// one. Blanks at the end of a line and empty lines at the end don't count.
func (t *Terminal) All() []string {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	return t.lines(0)
}

// Seen gives what the window shows, likewise.
func (t *Terminal) Seen() []string {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	return t.lines(t.top)
}

// Wraps tells whether one of so many rows above the cursor's goes on in the next row.
func (t *Terminal) Wraps(rows int) bool {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	for _, row := range t.rows[max(0, t.row-rows):t.row] {
		if row.wrapped {
			return true
		}
	}
	return false
}

// Writes is how often Write was called.
func (t *Terminal) Writes() int {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	return t.writes
}

// Sequences are the escape sequences that were written, without what each begins with: 2A, K, 31m.
func (t *Terminal) Sequences() []string {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	return slices.Clone(t.sequences)
}

// Faults say what was written that should not have been: control characters, half a sequence, one that is not known, bytes
// that are no UTF-8.
func (t *Terminal) Faults() []string {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	return slices.Clone(t.faults)
}

func (t *Terminal) lines(from int) []string {
	var lines []string
	var line string
	for _, row := range t.rows[from:] {
		line += strings.Join(row.cells, "")
		if !row.wrapped {
			lines = append(lines, strings.TrimRight(line, " "))
			line = ""
		}
	}
	for len(lines) > 0 && lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	return lines
}
