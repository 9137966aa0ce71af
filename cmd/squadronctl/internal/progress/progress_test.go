package progress

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/squadronctl/squadron/cmd/squadronctl/internal/progress/termtest"
	"github.com/squadronctl/squadron/controller"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// onTerminal runs a test with a Display on a terminal, in a bubble.
func onTerminal(t *testing.T, width, height int, test func(t *testing.T, d *Display, term *termtest.Terminal)) {
	on(t, termtest.New(width, height), test)
}

func on(t *testing.T, term *termtest.Terminal, test func(t *testing.T, d *Display, term *termtest.Terminal)) {
	synctest.Test(t, func(t *testing.T) {
		d := New(Config{Out: term, Terminal: true, Width: term.Width, Height: term.Height})
		test(t, d, term)
		require.NoError(t, d.Close())
		assert.Empty(t, term.Faults())
	})
}

// after lets time go by, and the display draw.
func after(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func event(slice string, phase controller.UpdatePhase) controller.UpdateEvent {
	return controller.UpdateEvent{Group: "web", Slice: slice, Phase: phase}
}

func assertLines(t *testing.T, want string, got []string) {
	t.Helper()
	assert.Equal(t, strings.TrimSpace(want), strings.Join(got, "\n"))
}

func TestUpdateIsDrawnInPlace(t *testing.T) {
	onTerminal(t, 80, 24, func(t *testing.T, d *Display, term *termtest.Terminal) {
		_, _ = io.WriteString(term, "$ squadronctl update web\n")
		for _, id := range []string{"a", "b"} {
			d.Event(event(id, controller.PhasePlanned))
		}
		d.Event(event("c", controller.PhaseKept))
		after(3 * time.Second)
		assertLines(t, `
$ squadronctl update web
web@a  planned           3s
web@b  planned           3s
web@c  kept              3s
[########------------------] 1 of 3 slices done, 3s`, term.All())

		d.Event(event("new1", controller.PhaseSubmitting))
		d.Event(event("new1", controller.PhaseStarting))
		after(time.Second)
		d.Event(event("new1", controller.PhaseRunning))
		d.Event(event("a", controller.PhaseStopping))
		after(61 * time.Second)
		assertLines(t, `
$ squadronctl update web
web@a     stopping       1m01s
web@b     planned        1m05s
web@c     kept           1m05s
web@new1  running        1m01s
[########------------------] 1 of 3 slices done, 1m05s`, term.All())

		d.Event(event("a", controller.PhaseDestroyed))
		d.Event(event("new2", controller.PhaseSubmitting))
		d.Event(event("new2", controller.PhaseRunning))
		d.Event(event("b", controller.PhaseDestroyed))
		require.NoError(t, d.Close())
		assertLines(t, `
$ squadronctl update web
web@a     destroyed         0s
web@b     destroyed         0s
web@c     kept           1m05s
web@new1  running        1m01s
web@new2  running           0s
[##########################] 3 of 3 slices done, 1m05s`, term.All())
	})
}

// Of an instance group the one copy is taken away and made again under its name.
func TestInstanceGroupIsOnePlace(t *testing.T) {
	onTerminal(t, 80, 24, func(t *testing.T, d *Display, term *termtest.Terminal) {
		for _, phase := range []controller.UpdatePhase{controller.PhasePlanned, controller.PhaseStopping, controller.PhaseDestroyed, controller.PhaseSubmitting} {
			d.Event(event("", phase))
		}
		after(time.Second)
		assertLines(t, `
web  submitting        1s
[--------------------------] 0 of 1 slice done, 1s`, term.All())
		d.Event(event("", controller.PhaseRunning))
		after(time.Second)
		assertLines(t, `
web  running           1s
[##########################] 1 of 1 slice done, 2s`, term.All())
	})
}

func TestFailureStaysAboveTheBlock(t *testing.T) {
	onTerminal(t, 40, 24, func(t *testing.T, d *Display, term *termtest.Terminal) {
		d.Event(event("a", controller.PhasePlanned))
		d.Event(event("n", controller.PhaseStarting))
		why := errors.New("unit web-app@n.service has failed: exit code 203, which is quite a long story")
		unit := event("n", controller.PhaseFailed)
		unit.Unit, unit.Err = "web-app@n.service", why
		d.Event(unit)
		failed := event("n", controller.PhaseFailed)
		failed.Err = fmt.Errorf("new slice n: %w", why)
		d.Event(failed)
		gone := event("n", controller.PhaseStopping)
		gone.Err = failed.Err
		d.Event(gone)
		d.Event(event("n", controller.PhaseDestroyed))
		back := event("", controller.PhaseRollingBack)
		back.Err = errors.New("slice n has failed")
		d.Event(back)
		after(time.Second)
		assertLines(t, `
web-app@n.service: failed: unit web-app@n.service has failed: exit code 203, which is quite a long story
web: rolling back: slice n has failed
web@a  planned           1s
web@n  destroyed         1s
[-------------] 0 of 1 slice done, 1 f…`, term.All())
	})
}

func TestPausedIsSaid(t *testing.T) {
	onTerminal(t, 80, 24, func(t *testing.T, d *Display, term *termtest.Terminal) {
		d.Event(event("a", controller.PhasePlanned))
		d.Event(event("", controller.PhasePaused))
		after(time.Second)
		assert.Contains(t, term.All()[1], "0 of 1 slice done, paused, 1s")
		d.Event(event("", controller.PhaseResumed))
		after(time.Second)
		assert.Contains(t, term.All()[1], "0 of 1 slice done, 2s")
	})
}

func TestStatus(t *testing.T) {
	onTerminal(t, 80, 24, func(t *testing.T, d *Display, term *termtest.Terminal) {
		d.Status("web@a", "starting", false)
		d.Status("web@b", "starting", false)
		after(2 * time.Second)
		d.Status("web@a", "running", true)
		d.Status("web@b", "starting", false)
		after(time.Second)
		assertLines(t, `
web@a  running           1s
web@b  starting          3s
[#############-------------] 1 of 2 slices done, 3s`, term.All())
		d.Status("web@b", "failed", true)
		after(time.Second)
		assert.Contains(t, term.All()[2], "1 of 2 slices done, 1 failed, 4s")
	})
}

func TestLinesStayAndScroll(t *testing.T) {
	onTerminal(t, 30, 6, func(t *testing.T, d *Display, term *termtest.Terminal) {
		d.Status("a", "starting", false)
		d.Status("b", "starting", false)
		var want []string
		for i := range 20 {
			line := fmt.Sprintf("line %d.%s", i, strings.Repeat("x", i*4))
			want = append(want, line)
			d.Line(line)
		}
		d.Line("two\nat once\n")
		want = append(want, "two", "at once", "a  starting          0s", "b  starting          0s", "[---------] 0 of 2 slices do…")
		assert.Equal(t, want, term.All())
	})
}

// A row never reaches the terminal's last column, and what is longer is cut.
func TestLongRowsAreCut(t *testing.T) {
	onTerminal(t, 34, 24, func(t *testing.T, d *Display, term *termtest.Terminal) {
		d.Status("web@"+strings.Repeat("3", 40), "starting", false)
		d.Status("web@"+strings.Repeat("界", 40), "starting", false)
		after(time.Second)
		assertLines(t, `
web@333333…  starting          1s
web@界界界…  starting          1s
[-----------] 0 of 2 slices done…`, term.All())
	})
}

func TestWindowChanges(t *testing.T) {
	for _, term := range []*termtest.Terminal{termtest.New(100, 24), termtest.NewCutting(100, 24)} {
		on(t, term, func(t *testing.T, d *Display, term *termtest.Terminal) {
			d.Line("stays")
			for i := range 3 {
				d.Status(fmt.Sprintf("web@%d", i), "cooling down", false)
			}
			after(time.Second)
			for _, size := range [][2]int{{60, 24}, {100, 10}, {60, 30}, {200, 24}} {
				term.Resize(size[0], size[1])
				after(100 * time.Millisecond)
				require.Len(t, term.All(), 5, "%v %v", size, term.All())
				assert.Equal(t, "stays", term.All()[0])
			}
		})
	}
}

// Rows that a narrower window has wrapped are gone with the next drawing.
func TestWindowNarrowerThanRows(t *testing.T) {
	onTerminal(t, 120, 24, func(t *testing.T, d *Display, term *termtest.Terminal) {
		d.Line("stays")
		for i := range 3 {
			d.Status(fmt.Sprintf("web@%d-%s", i, strings.Repeat("x", 80)), "cooling down", false)
		}
		after(time.Second)
		for _, width := range []int{70, 20, 33, 12, 120, 25} {
			term.Resize(width, 24)
			after(100 * time.Millisecond)
			require.Len(t, term.All(), 5, "%d %v", width, term.All())
			assert.Equal(t, "stays", term.All()[0])
		}
	})
}

func TestMoreSlicesThanRows(t *testing.T) {
	onTerminal(t, 80, 8, func(t *testing.T, d *Display, term *termtest.Terminal) {
		_, _ = io.WriteString(term, "$\n")
		for i := range 30 {
			d.Status(fmt.Sprintf("web@%02d", i), "starting", false)
		}
		after(time.Second)
		for i := range 30 {
			if i != 3 && i != 17 && i != 20 {
				d.Status(fmt.Sprintf("web@%02d", i), "running", true)
			}
		}
		d.Status("web@20", "failed", true)
		d.Status("web@20", "failed", false)
		after(time.Second)
		assertLines(t, `
$
web@00  running           1s
web@01  running           1s
web@03  starting          2s
web@17  starting          2s
web@20  failed            1s
… and 25 more
[#######################---] 27 of 30 slices done, 1 failed, 2s`, term.All())
	})
}

func TestFrame(t *testing.T) {
	onTerminal(t, 20, 5, func(t *testing.T, d *Display, term *termtest.Terminal) {
		d.Line("stays")
		d.Frame([]string{"GROUP  STATUS", "web    starting"})
		assertLines(t, "stays\nGROUP  STATUS\nweb    starting", term.All())
		d.Frame([]string{"GROUP  STATUS", "web    running, and so on", "c", "d", "e"})
		assertLines(t, "GROUP  STATUS\nweb    running, an…\nc\n… and 2 more", term.Seen())
		d.Frame([]string{"GROUP  STATUS"})
		assertLines(t, "stays\nGROUP  STATUS", term.All())
		d.Frame(nil)
		assert.Equal(t, []string{"stays"}, term.All()[:1])
	})
}

func TestColors(t *testing.T) {
	for _, colors := range []bool{true, false} {
		term := termtest.New(80, 24)
		d := newDisplay(Config{Out: term, Terminal: true, Color: colors})
		d.Status("web@a", "running", true)
		d.Status("web@b", "failed", false)
		d.Status("web@c", "starting", false)
		require.NoError(t, d.Close())
		var seen []string
		for _, sequence := range term.Sequences() {
			if strings.HasSuffix(sequence, "m") {
				seen = append(seen, sequence)
			}
		}
		if colors {
			assert.Equal(t, []string{"32m", "0m", "31m", "0m", "31m", "0m"}, seen)
		} else {
			assert.Empty(t, seen)
		}
	}
}

// Each drawing is one write, and nothing is written where nothing has changed.
func TestWrites(t *testing.T) {
	onTerminal(t, 80, 24, func(t *testing.T, d *Display, term *termtest.Terminal) {
		after(time.Minute)
		assert.Equal(t, 1, term.Writes())
		d.Status("web@a", "starting", false)
		after(10*time.Second - time.Millisecond)
		assert.Equal(t, 1+10, term.Writes())
		d.Line("one\ntwo")
		assert.Equal(t, 1+10+1, term.Writes())
		for i := range 1000 {
			d.Status(fmt.Sprintf("web@%d", i), "starting", false)
		}
		assert.Equal(t, 1+10+1, term.Writes())
	})
}

func TestManyAtOnce(t *testing.T) {
	onTerminal(t, 80, 24, func(t *testing.T, d *Display, term *termtest.Terminal) {
		var callers sync.WaitGroup
		for i := range 8 {
			callers.Go(func() {
				for j := range 50 {
					id := fmt.Sprint(i, "-", j)
					d.Event(event(id, controller.PhaseStarting))
					d.Status("web@"+id, "running", true)
					d.Line(id)
					time.Sleep(7 * time.Millisecond)
				}
			})
		}
		callers.Wait()
		after(time.Second)
		assert.Contains(t, term.Seen()[22], "400 of 400 slices done")
		assert.Len(t, term.All(), 400+23)
	})
}
