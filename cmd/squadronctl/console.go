package main

import (
	"io"
	"strings"
	"sync"

	"github.com/squadronctl/squadron/cmd/squadronctl/internal/progress"
)

// console is standard error. While progress is drawn there, lines of others are written above it.
type console struct {
	out io.Writer

	mutex   sync.Mutex
	display *progress.Display
}

// Write writes whole lines.
func (c *console) Write(text []byte) (int, error) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.display == nil {
		return c.out.Write(text)
	}
	for line := range strings.Lines(string(text)) {
		c.display.Line(strings.TrimSuffix(line, "\n"))
	}
	return len(text), nil
}

// show has a display drawn from now on, until the function that it gives is called.
func (c *console) show(display *progress.Display) (end func()) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.display = display
	return func() {
		c.mutex.Lock()
		defer c.mutex.Unlock()
		c.display = nil
		_ = display.Close() // what can't be drawn is no fault of the operation
	}
}
