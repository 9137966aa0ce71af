// Package table sets rows of text into columns.
package table

import (
	"io"
	"strings"
	"unicode"
	"unicode/utf8"
)

// gap stands between two columns.
const gap = "   "

// Lines sets a header and rows into columns, each as wide as its widest cell. Rows may be shorter than the header. A cell
// that is empty is shown as "-", so that columns can be told apart by whatever reads them, and a character that would
// move a terminal's cursor as "?". Lines have no blanks at their ends.
func Lines(header []string, rows [][]string) []string {
	widths := make([]int, len(header))
	cells := make([][]string, 0, len(rows)+1)
	for _, row := range append([][]string{header}, rows...) {
		line := make([]string, len(header))
		for column := range header {
			text := "-"
			if column < len(row) && row[column] != "" {
				text = printable(row[column])
			}
			line[column] = text
			widths[column] = max(widths[column], utf8.RuneCountInString(text))
		}
		cells = append(cells, line)
	}
	lines := make([]string, 0, len(cells))
	for _, row := range cells {
		var line strings.Builder
		for column, text := range row {
			line.WriteString(text)
			if column < len(row)-1 {
				line.WriteString(strings.Repeat(" ", widths[column]-utf8.RuneCountInString(text)))
				line.WriteString(gap)
			}
		}
		lines = append(lines, strings.TrimRight(line.String(), " "))
	}
	return lines
}

// Write writes the lines of a table.
func Write(w io.Writer, header []string, rows [][]string) error {
	_, err := io.WriteString(w, strings.Join(Lines(header, rows), "\n")+"\n")
	return err
}

func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return '?'
	}, text)
}
