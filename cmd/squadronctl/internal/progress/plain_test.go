package progress

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/squadronctl/squadron/controller"
)

func TestPlain(t *testing.T) {
	var out bytes.Buffer
	at := time.Date(2026, 5, 4, 13, 14, 15, 0, time.UTC)
	d := New(Config{Out: &out, Color: true, Now: func() time.Time { return at }})
	planned := event("a", controller.PhasePlanned)
	planned.Time = at.Add(time.Minute)
	planned.Counts = controller.UpdateCounts{Existing: 3, Running: 2}
	d.Event(planned)
	unit := event("n", controller.PhaseFailed)
	unit.Unit, unit.Err = "web-app@n.service", errors.New("exit\n\x1b[31mcode")
	d.Event(unit)
	d.Status("web@b", "starting", false)
	d.Status("web@b", "starting", false)
	d.Status("web@b", "running", true)
	d.Line("one\r\n\ttwo\x07")
	d.Frame([]string{"a", "b"})
	d.Frame([]string{"a", "b"})
	d.Frame([]string{"c"})
	require.NoError(t, d.Close())
	assertLines(t, `
13:15:15 slice a: planned (3 there, 2 running, 0 going)
13:14:15 web-app@n.service: failed (0 there, 0 running, 0 going): exit ?[31mcode
13:14:15 web@b: starting
13:14:15 web@b: running
one
 two?
a
b

c
`, strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n"))
}
