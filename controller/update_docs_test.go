package controller_test

import (
	"flag"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/squadronctl/squadron/controller"
	"github.com/squadronctl/squadron/fleet"
	"github.com/squadronctl/squadron/fleet/fleettest"
	"github.com/squadronctl/squadron/task"
)

var redrawPictures = flag.Bool("update", false, "redraw the pictures of docs/update.md instead of checking them")

const updateDocs = "../docs/update.md"

// pictured is one update that docs/update.md has a picture of. The group has the slices a, b and c.
type pictured struct {
	name     string
	sliceIDs []string // those that may be replaced; none: all
	opts     controller.UpdateOptions
	failing  int // which new slice fails, the first being 1; 0: none
}

var picturedUpdates = []pictured{
	{name: "one by one", opts: controller.UpdateOptions{MaxGrowth: 1, MinAlive: 3}},
	{name: "one by one, in place", opts: controller.UpdateOptions{MaxGrowth: 0, MinAlive: 2}},
	{name: "all at once", opts: controller.UpdateOptions{MaxGrowth: 0, MinAlive: 0}},
	{name: "hot swap", opts: controller.UpdateOptions{MaxGrowth: 3, MinAlive: 3}},
	{name: "canary", sliceIDs: []string{"a"}, opts: controller.UpdateOptions{MaxGrowth: 1, MinAlive: 3, ReadySecs: 20}},
	{name: "failing", opts: controller.UpdateOptions{MaxGrowth: 1, MinAlive: 3}, failing: 2},
	{name: "rollback", opts: controller.UpdateOptions{MaxGrowth: 1, MinAlive: 3, Rollback: true}, failing: 2},
	{name: "rolling restart", opts: controller.UpdateOptions{MaxGrowth: 1, MinAlive: 3, Force: true}},
}

// TestPicturesOfUpdates holds each picture of docs/update.md against what happens in a cluster. The cluster is as fast as
// a real one, and the waits have their default pace.
func TestPicturesOfUpdates(t *testing.T) {
	text, err := os.ReadFile(updateDocs)
	require.NoError(t, err)
	page := string(text)
	for _, update := range picturedUpdates {
		t.Run(update.name, func(t *testing.T) {
			var drawn string
			synctest.Test(t, func(t *testing.T) { drawn = update.draw(t) })
			place := regexp.MustCompile("(?s)(<!-- picture: " + regexp.QuoteMeta(update.name) + " -->\n```text\n)(.*?)(```\n)")
			match := place.FindStringSubmatch(page)
			require.NotNil(t, match, "%s has no picture %q", updateDocs, update.name)
			if *redrawPictures {
				page = strings.Replace(page, match[0], match[1]+drawn+match[3], 1)
				return
			}
			assert.Equal(t, drawn, match[2], "what happens is not what %s shows; redraw it with: go test ./controller -run TestPicturesOfUpdates -update", updateDocs)
		})
	}
	if *redrawPictures {
		require.NoError(t, os.WriteFile(updateDocs, []byte(page), 0o644))
	}
}

// draw runs the update and gives its picture, by what the update tells of itself.
func (p pictured) draw(t *testing.T) string {
	cluster := fleettest.NewCluster(fleettest.Config{Timing: fleettest.Measured(), Behave: p.behave()})
	client, err := fleet.NewFleet(fleettest.ClientConfig(cluster))
	require.NoError(t, err)
	ctl := controller.NewController(controller.Config{Fleet: client, TaskService: task.NewTaskService(task.DefaultConfig())})
	defer func() { assert.NoError(t, ctl.(io.Closer).Close()) }()
	for _, id := range []string{"a", "b", "c"} {
		require.NoError(t, cluster.Put("web@"+id+".service", "[Service]\nExecStart=/bin/sleep 1\n", "launched"))
	}
	time.Sleep(time.Minute)
	cluster.Advance()

	film := newFilm()
	opts := p.opts
	opts.Progress = film.take
	req := controller.NewRequest(controller.RequestConfig{Group: "web", SliceIDs: p.sliceIDs})
	req.Units = []controller.Unit{{Name: "web@.service", Content: "[Service]\nExecStart=/bin/sleep 2\n"}}
	if opts.Force {
		req.Units[0].Content = "[Service]\nExecStart=/bin/sleep 1\n"
	}
	started, err := ctl.Update(t.Context(), req, opts)
	require.NoError(t, err)
	ended, err := ctl.WaitForTask(t.Context(), started.ID, nil)
	require.NoError(t, err)
	require.Equal(t, p.failing > 0, controller.IsUpdateFailed(ended.Error), "%v", ended.Error)
	return film.picture(time.Now())
}

// behave makes the new slice fail whose turn it is to.
func (p pictured) behave() func(fleettest.Start) fleettest.Behavior {
	turns := map[string]int{}
	return func(start fleettest.Start) fleettest.Behavior {
		if !strings.Contains(start.Content, "sleep 2") {
			return fleettest.Behavior{}
		}
		if _, known := turns[start.Name]; !known {
			turns[start.Name] = len(turns) + 1
		}
		return fleettest.Behavior{Fail: turns[start.Name] == p.failing}
	}
}

// film keeps what became of each slice, and when.
type film struct {
	begin  time.Time
	names  map[string]string // by slice ID
	order  []string
	scenes map[string][]scene // by name
}

// scene is how a slice is from some time on: one of the characters of a picture.
type scene struct {
	from time.Time
	look byte
}

const (
	absent   = ' '
	serving  = '='
	perScene = time.Second // one character of a row
)

// looks are the characters of the phases.
var looks = map[controller.UpdatePhase]byte{
	controller.PhasePlanned:     serving,
	controller.PhaseKept:        serving,
	controller.PhaseSubmitting:  '.',
	controller.PhaseStarting:    '.',
	controller.PhaseCoolingDown: ':',
	controller.PhaseRunning:     serving,
	controller.PhaseRolledBack:  serving,
	controller.PhaseStopping:    '-',
	controller.PhaseDestroyed:   absent,
	controller.PhaseFailed:      'x',
}

func newFilm() *film {
	return &film{begin: time.Now(), names: map[string]string{}, scenes: map[string][]scene{}}
}

// take turns an event of a slice as a whole into a scene. Slices that were found have their IDs; new ones have random
// IDs, and are named in order of appearance.
func (f *film) take(event controller.UpdateEvent) {
	look, shown := looks[event.Phase]
	if event.Unit != "" || !shown {
		return
	}
	name := f.names[event.Slice]
	if name == "" {
		name = event.Slice
		if event.Phase == controller.PhaseSubmitting {
			name = fmt.Sprintf("new %d", len(f.order)-2)
		}
		f.names[event.Slice] = name
		f.order = append(f.order, name)
	}
	f.scenes[name] = append(f.scenes[name], scene{event.Time, look})
}

// picture has a row for each slice and a column for each second, which shows how the slice was at its end.
func (f *film) picture(end time.Time) string {
	columns := int(end.Sub(f.begin)/perScene) + 1
	var text strings.Builder
	fmt.Fprintf(&text, "%-8s%s\n", "seconds", ruler(columns))
	running, existing := make([]int, columns), make([]int, columns)
	for _, name := range f.order {
		row := make([]byte, columns)
		for i := range row {
			row[i] = f.lookAt(name, f.begin.Add(time.Duration(i)*perScene))
			if row[i] == serving {
				running[i]++
			}
			if row[i] != absent {
				existing[i]++
			}
		}
		writeRow(&text, name, row)
	}
	writeRow(&text, "running", digits(running))
	writeRow(&text, "in all", digits(existing))
	return text.String()
}

func (f *film) lookAt(name string, at time.Time) byte {
	look := byte(absent)
	for _, s := range f.scenes[name] {
		if !s.from.After(at) {
			look = s.look
		}
	}
	return look
}

func writeRow(text *strings.Builder, name string, row []byte) {
	fmt.Fprintln(text, strings.TrimRight(fmt.Sprintf("%-8s%s", name, row), " "))
}

func ruler(columns int) string {
	var text strings.Builder
	for i := 0; i < columns; i += 10 {
		fmt.Fprintf(&text, "%-10d", i)
	}
	return strings.TrimRight(text.String(), " ")
}

func digits(numbers []int) []byte {
	row := make([]byte, len(numbers))
	for i, n := range numbers {
		row[i] = byte('0' + n)
	}
	return row
}
