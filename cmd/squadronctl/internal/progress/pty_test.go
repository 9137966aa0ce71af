package progress

import (
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/creack/pty"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/squadronctl/squadron/cmd/squadronctl/internal/progress/termtest"
	"github.com/squadronctl/squadron/controller"
)

// On the pseudo terminal of a real driver: each size, and a window that is made narrower and wider meanwhile.
func TestPseudoTerminal(t *testing.T) {
	for _, columns := range []int{80, 200} {
		t.Run(fmt.Sprint(columns), func(t *testing.T) {
			master, slave, err := pty.Open()
			require.NoError(t, err)
			defer master.Close()
			term := termtest.New(columns, 24)
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				_, _ = io.Copy(term, master) // ends with an error when nobody has the other end open any more
			}()
			playOnPseudoTerminal(t, slave, term)
			require.NoError(t, slave.Close())
			<-ended
			assert.Empty(t, term.Faults())
		})
	}
}

func playOnPseudoTerminal(t *testing.T, slave *os.File, term *termtest.Terminal) {
	columns := term.Width()
	require.NoError(t, pty.Setsize(slave, &pty.Winsize{Rows: 24, Cols: uint16(columns)}))
	out := &countingWriter{to: slave}
	d := New(Config{Out: out, Terminal: true, Color: true, Width: dimension(slave, 1), Height: dimension(slave, 0)})
	resize := func(columns int) {
		d.mutex.Lock() // the window changes between two drawings
		defer d.mutex.Unlock()
		eventually(t, term, func([]string) bool { return erasures(term) == out.erasures })
		term.Resize(columns, 24)
		require.NoError(t, pty.Setsize(slave, &pty.Winsize{Rows: 24, Cols: uint16(columns)}))
	}
	_, err := io.WriteString(slave, "$ squadronctl update web\n")
	require.NoError(t, err)
	long := strings.Repeat("0123456789", 30)
	d.Line(long)
	plan := func(from, to int) {
		for i := from; i < to; i++ {
			d.Event(event(fmt.Sprintf("%02d", i), controller.PhasePlanned))
		}
	}
	plan(0, 5)
	d.Event(event(long, controller.PhaseStarting))
	eventually(t, term, func(all []string) bool { return len(all) == 2+7 && strings.HasPrefix(all[8], "[") })
	resize(columns / 2)
	eventually(t, term, func(all []string) bool { return rowsWithin(all[2:], columns/2) })
	resize(columns)
	eventually(t, term, func(all []string) bool { return !rowsWithin(all[2:], columns/2) })
	assert.Len(t, term.All(), 2+7)
	plan(5, 30)
	eventually(t, term, func(all []string) bool { return len(all) == 2+23 })
	for i := range 30 {
		d.Event(event(fmt.Sprintf("%02d", i), controller.PhaseDestroyed))
	}
	d.Event(event(long, controller.PhaseRunning))
	require.NoError(t, d.Close())
	eventually(t, term, func(all []string) bool { return strings.Contains(all[len(all)-1], "30 of 30 slices done") })
	all := term.All()
	assert.Equal(t, []string{"$ squadronctl update web", long}, all[:2])
	assert.Len(t, all, 2+23)
	assert.True(t, rowsWithin(all[2:], columns))
	assert.Contains(t, all[23], "… and 10 more")
}

// countingWriter counts the erasures that end a drawing, so that one can tell when the terminal has got it all.
type countingWriter struct {
	to       io.Writer
	erasures int
}

func (c *countingWriter) Write(p []byte) (int, error) {
	c.erasures += strings.Count(string(p), eraseBelow)
	return c.to.Write(p)
}

func erasures(term *termtest.Terminal) int {
	n := 0
	for _, sequence := range term.Sequences() {
		n += count(sequence == "J")
	}
	return n
}

// rowsWithin tells whether all rows leave the last column free.
func rowsWithin(rows []string, columns int) bool {
	for _, row := range rows {
		if textWidth(row) >= columns {
			return false
		}
	}
	return true
}

// dimension asks for a terminal's rows (0) or columns (1), as the command does.
func dimension(terminal *os.File, which int) func() int {
	return func() int {
		rows, columns, err := pty.Getsize(terminal)
		if err != nil {
			return 0
		}
		return []int{rows, columns}[which]
	}
}

// eventually waits until the terminal shows what it should.
func eventually(t *testing.T, term *termtest.Terminal, condition func(all []string) bool) {
	t.Helper()
	require.Eventually(t, func() bool {
		all := term.All()
		return len(all) > 2 && condition(all)
	}, time.Minute, 10*time.Millisecond, "%s", strings.Join(term.All(), "\n"))
}
