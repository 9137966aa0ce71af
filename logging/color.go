package logging

import (
	"bytes"
	"io"
	"slices"
)

const colorOff = "\x1b[0m"

// levelColors is only read.
var levelColors = map[string]string{
	"DEBUG":    "\x1b[36m",
	"INFO":     "\x1b[32m",
	"NOTICE":   "\x1b[34m",
	"WARNING":  "\x1b[33m",
	"ERROR":    "\x1b[31m",
	"CRITICAL": "\x1b[35m",
}

// colorWriter colours the level of each line that a slog.TextHandler writes. It works on the text because the handler
// would quote an escape that stood in the level itself. The handler writes a line per call, under a lock.
type colorWriter struct {
	to io.Writer
}

func (w colorWriter) Write(line []byte) (int, error) {
	if _, err := w.to.Write(colorLevel(line)); err != nil {
		return 0, err
	}
	return len(line), nil
}

// colorLevel relies on the handler's order: only the time, which has no spaces, stands before the level.
func colorLevel(line []byte) []byte {
	before, rest, found := bytes.Cut(line, []byte(" level="))
	if !found {
		return line
	}
	level, after, found := bytes.Cut(rest, []byte(" "))
	color := levelColors[string(level)]
	if !found || color == "" {
		return line
	}
	return slices.Concat(before, []byte(" level="+color), level, []byte(colorOff+" "), after)
}
