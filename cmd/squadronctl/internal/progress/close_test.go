package progress

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/squadronctl/squadron/cmd/squadronctl/internal/progress/termtest"
	"github.com/squadronctl/squadron/controller"
)

// After Close nothing is written, and closing again gives the same.
func TestClosed(t *testing.T) {
	for _, onTerminal := range []bool{true, false} {
		term := termtest.New(80, 24)
		d := New(Config{Out: term, Terminal: onTerminal})
		d.Status("a", "running", true)
		require.NoError(t, d.Close())
		writes := term.Writes()
		d.Status("b", "running", true)
		d.Event(event("a", controller.PhaseFailed))
		d.Line("late")
		d.Frame([]string{"late"})
		require.NoError(t, d.Close())
		assert.Equal(t, writes, term.Writes())
	}
}

var errBroken = errors.New("broken")

type brokenPipe struct{ writes int }

func (b *brokenPipe) Write([]byte) (int, error) {
	b.writes++
	return 0, errBroken
}

func TestWriteFails(t *testing.T) {
	var out brokenPipe
	d := newDisplay(Config{Out: &out, Terminal: true})
	d.Line("a")
	d.Line("b")
	for range 2 {
		err := d.Close()
		assert.ErrorIs(t, err, errBroken)
		assert.EqualError(t, err, "write progress: broken")
	}
	assert.Equal(t, 1, out.writes)
}

func TestNothingSet(t *testing.T) {
	d := New(Config{Terminal: true})
	d.Status("a", "running", true)
	require.NoError(t, d.Close())
}
