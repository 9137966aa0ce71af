// Package progress shows on a terminal, or line by line elsewhere, how far an operation on a group has come.
//
// On a terminal a Display keeps a block of lines at the end of the output and draws it again in place: a line for each
// slice with its phase and for how long it has been in it, and below them a bar over all. What stays is written above the
// block. The block is never higher or wider than the terminal, so it never scrolls a part of itself away, and each
// drawing is one write. Elsewhere each event is one plain line with its time, without any escape sequence.
//
// Nothing that comes from a cluster is trusted: control characters in names, phases and errors never reach the output.
package progress

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/squadronctl/squadron/controller"
)

// pace is the time between two drawings of the block.
const pace = 100 * time.Millisecond

// The size of a terminal that does not tell its own.
const (
	defaultWidth  = 80
	defaultHeight = 24
)

// Config says where a Display writes, and what that can do.
type Config struct {
	// Out is what is written to; nil writes nowhere. Nobody else should write there before Close.
	Out io.Writer
	// Terminal says that Out is a terminal that moves its cursor when told to. Without it only plain lines are written.
	Terminal bool
	// Color allows colours on a terminal: red for what failed, green for what is done.
	Color bool
	// Width and Height give the terminal's size, in columns and rows. They are asked at each drawing, so that the block
	// follows a window that changes. Nil, or a number below 1, stands for 80 columns and 24 rows.
	Width, Height func() int
	// Now is the clock; time.Now by default.
	Now func() time.Time
}

// Display shows the progress of one operation. It is safe for use by many goroutines at once. After Close all of its
// methods do nothing.
type Display struct {
	config Config
	stop   chan struct{} // closed by Close
	drawn  sync.WaitGroup

	mutex  sync.Mutex
	slices sliceList
	frame  []string // in place of the slices; nil before the first
	screen screen
	closed bool
}

// New makes a Display. On a terminal it has a goroutine that draws; Close ends it.
func New(config Config) *Display {
	d := newDisplay(config)
	if config.Terminal {
		d.drawn.Go(d.drawOn)
	}
	return d
}

// newDisplay makes a Display that draws only when it is told to.
func newDisplay(config Config) *Display {
	config = withDefaults(config)
	return &Display{
		config: config,
		stop:   make(chan struct{}),
		slices: newSliceList(config.Now()),
		screen: screen{out: config.Out, color: config.Color},
	}
}

func withDefaults(config Config) Config {
	if config.Out == nil {
		config.Out = io.Discard
	}
	if config.Now == nil {
		config.Now = time.Now
	}
	config.Width = orDefault(config.Width, defaultWidth)
	config.Height = orDefault(config.Height, defaultHeight)
	return config
}

func orDefault(ask func() int, otherwise int) func() int {
	return func() int {
		if ask != nil {
			if n := ask(); n > 0 {
				return n
			}
		}
		return otherwise
	}
}

// Event takes in one event of an update. On a terminal it is seen at the next drawing, a tenth of a second later at most;
// why something failed is written above the block at once. Elsewhere it is a line. It has the form of
// controller.UpdateOptions.Progress.
func (d *Display) Event(event controller.UpdateEvent) {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	if d.closed {
		return
	}
	if event.Time.IsZero() {
		event.Time = d.config.Now()
	}
	reason := d.slices.event(event)
	switch {
	case !d.config.Terminal:
		d.screen.print(stamped(event.Time, event.String()))
	case reason != "":
		d.draw(clean(reason))
	}
}

// Status says which phase a slice is in, and whether it is done with. slice is the name of its line, as the user knows
// it: web@3f1, or the group's name where there is one copy; an empty one is called "the group". The phase "failed" marks a
// failure. Saying the same again changes nothing, so Status may be called for every look at the cluster; elsewhere than on
// a terminal only what has changed is a line.
func (d *Display) Status(slice, phase string, done bool) {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	if d.closed {
		return
	}
	if slice == "" {
		slice = "the group"
	}
	now := d.config.Now()
	if d.slices.status(slice, phase, done, now) && !d.config.Terminal {
		d.screen.print(stamped(now, slice+": "+phase))
	}
}

// Line writes a text that stays: on a terminal above the block, in full, on as many rows as it takes. A text of several
// lines is written as such.
func (d *Display) Line(text string) {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	if d.closed {
		return
	}
	lines := cleanLines(text)
	if d.config.Terminal {
		d.draw(lines...)
		return
	}
	d.screen.print(lines...)
}

// Frame replaces the whole block by the lines given, and draws it at once. Lines that are too long are cut, and of more
// than the terminal has rows the last are left out. From the first Frame on the block shows no slices. Elsewhere than on
// a terminal a frame is written line by line when it differs from the one before, with an empty line between the two. The
// error is the first that a write to Out gave.
func (d *Display) Frame(lines []string) error {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	if d.closed {
		return d.screen.err
	}
	before := d.frame
	d.frame = cleanLines(strings.Join(lines, "\n"))
	switch {
	case d.config.Terminal:
		d.draw()
	case before == nil:
		d.screen.print(d.frame...)
	case !slices.Equal(d.frame, before):
		d.screen.print(append([]string{""}, d.frame...)...)
	}
	return d.screen.err
}

// Close draws the block a last time, leaves it where it is, with the cursor on the row below, and returns when nothing
// more will be written. The error is the first that a write to Out gave; after it nothing was written. Closing again
// gives the same.
func (d *Display) Close() error {
	d.mutex.Lock()
	if !d.closed {
		if d.config.Terminal {
			d.draw()
		}
		d.closed = true
		close(d.stop)
	}
	err := d.screen.err
	d.mutex.Unlock()
	d.drawn.Wait()
	if err != nil {
		return fmt.Errorf("write progress: %w", err)
	}
	return nil
}

// drawOn draws until the Display is closed: for the times, for what events have changed, and for a window's new size.
func (d *Display) drawOn() {
	ticker := time.NewTicker(pace)
	defer ticker.Stop()
	for {
		select {
		case <-d.stop:
			return
		case <-ticker.C:
			d.mutex.Lock()
			if !d.closed {
				d.draw()
			}
			d.mutex.Unlock()
		}
	}
}

// draw brings the screen to the present, with the mutex held: lines that stay, and the block below them.
func (d *Display) draw(above ...string) {
	width, height := d.config.Width(), d.config.Height()
	// The last column stays free, since some terminals wrap once it is written to, and so does the row of the cursor.
	size := size{width: width - 1, height: height - 1}
	var block []row
	if d.frame != nil {
		block = frameBlock(d.frame, size)
	} else {
		block = d.slices.block(d.config.Now(), size)
	}
	d.screen.draw(above, block, width)
}

// stamped is a plain line: a time and what was then.
func stamped(at time.Time, text string) string {
	return at.Format(time.TimeOnly) + " " + clean(text)
}
