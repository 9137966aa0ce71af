package progress

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// ellipsis stands for what was cut off; it is one column wide.
const ellipsis = "…"

// clean makes a text fit to be shown on one line: white space is a blank, and all else that doesn't print (control and
// formatting characters, bytes that are no UTF-8) a question mark.
func clean(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case r == utf8.RuneError || !unicode.IsPrint(r):
			return '?'
		default:
			return r
		}
	}, text)
}

// cleanLines are the lines of a text, each made clean. A newline at the very end begins no further line.
func cleanLines(text string) []string {
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	for i, line := range lines {
		lines[i] = clean(strings.TrimSuffix(line, "\r"))
	}
	return lines
}

// textWidth is how many columns a clean text takes.
func textWidth(text string) int {
	total := 0
	for _, r := range text {
		total += runeWidth(r)
	}
	return total
}

// wide are the runes that take two columns. Symbols of which only some do are in it as a whole: a text that is cut a
// little early does no harm, one that runs over does.
var wide = &unicode.RangeTable{
	R16: []unicode.Range16{
		{Lo: 0x1100, Hi: 0x115f, Stride: 1}, // Hangul that begins a syllable
		{Lo: 0x231a, Hi: 0x23ff, Stride: 1}, // clocks and other technical pictures
		{Lo: 0x25a0, Hi: 0x27bf, Stride: 1}, // geometric shapes, symbols, dingbats
		{Lo: 0x2b00, Hi: 0x2bff, Stride: 1}, // arrows and stars
		{Lo: 0x2e80, Hi: 0xa4cf, Stride: 1}, // CJK
		{Lo: 0xa960, Hi: 0xa97f, Stride: 1},
		{Lo: 0xac00, Hi: 0xd7a3, Stride: 1}, // Hangul
		{Lo: 0xf900, Hi: 0xfaff, Stride: 1},
		{Lo: 0xfe10, Hi: 0xfe6f, Stride: 1},
		{Lo: 0xff00, Hi: 0xff60, Stride: 1}, // full-width forms
		{Lo: 0xffe0, Hi: 0xffe6, Stride: 1},
	},
	R32: []unicode.Range32{
		{Lo: 0x16fe0, Hi: 0x1b2ff, Stride: 1},
		{Lo: 0x1f000, Hi: 0x1faff, Stride: 1}, // emoji
		{Lo: 0x20000, Hi: 0x3fffd, Stride: 1}, // more CJK
	},
}

func runeWidth(r rune) int {
	switch {
	case r < 0x300: // all of it one column, and nearly all there is
		return 1
	case unicode.In(r, unicode.Mn, unicode.Me):
		return 0
	case unicode.Is(wide, r):
		return 2
	default:
		return 1
	}
}

// cutText gives as much of a text's beginning as fits into so many columns.
func cutText(text string, columns int) string {
	used := 0
	for i, r := range text {
		if used += runeWidth(r); used > columns {
			return text[:i]
		}
	}
	return text
}

// shorten is a text cut to so many columns, with an ellipsis where something is missing.
func shorten(text string, columns int) string {
	switch {
	case textWidth(text) <= columns:
		return text
	case columns < 1:
		return ""
	default:
		return cutText(text, columns-1) + ellipsis
	}
}

// pad fills a text up with blanks.
func pad(text string, columns int) string {
	return text + strings.Repeat(" ", max(0, columns-textWidth(text)))
}
