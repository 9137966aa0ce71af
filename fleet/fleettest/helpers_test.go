package fleettest_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coreos/go-systemd/v22/unit"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/squadronctl/squadron/fleet/fleettest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// clock is a clock in the test's hand.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func newClock() *clock { return &clock{now: time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)} }

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// seconds is a timing in which every step can be told from every other.
func seconds() fleettest.Timing {
	return fleettest.Timing{
		Schedule: time.Second, Load: 2 * time.Second, Pass: time.Second, Activate: time.Second, Start: 2 * time.Second,
		Stop: 2 * time.Second, StateLinger: 20 * time.Second, MachineGone: 15 * time.Second, MachineTTL: 30 * time.Second,
	}
}

// bench is a cluster with a manual clock.
type bench struct {
	*testing.T
	*fleettest.Cluster
	clock *clock
}

func newBench(t *testing.T, config fleettest.Config) *bench {
	c := newClock()
	config.Now = c.Now
	return &bench{T: t, Cluster: fleettest.NewCluster(config), clock: c}
}

const service = "[Service]\nExecStart=/bin/sleep 1000\n"

// ask makes one request and gives its status and body.
func (b *bench) ask(method, target, body string) (int, string) {
	b.Helper()
	r := httptest.NewRequest(method, "http://fleet"+target, strings.NewReader(body))
	if method == http.MethodPut {
		r.Header.Set("Content-Type", "application/json")
	}
	w := httptest.NewRecorder()
	b.ServeHTTP(w, r)
	return w.Code, strings.TrimSpace(w.Body.String())
}

// put submits a unit through the API.
func (b *bench) put(name, content, desired string) int {
	b.Helper()
	code, _ := b.ask(http.MethodPut, "/fleet/v1/units/"+name, putBody(b.T, content, desired))
	return code
}

func putBody(t testing.TB, content, desired string) string {
	t.Helper()
	type option struct {
		Section string `json:"section"`
		Name    string `json:"name"`
		Value   string `json:"value"`
	}
	var body struct {
		DesiredState string   `json:"desiredState,omitempty"`
		Options      []option `json:"options,omitempty"`
	}
	body.DesiredState = desired
	options, err := unit.DeserializeOptions(strings.NewReader(content))
	require.NoError(t, err)
	for _, o := range options {
		body.Options = append(body.Options, option{o.Section, o.Name, o.Value})
	}
	text, err := json.Marshal(body)
	require.NoError(t, err)
	return string(text)
}

type apiUnit struct {
	Name, CurrentState, DesiredState, MachineID string
}

type apiState struct {
	Name, Hash, MachineID, SystemdLoadState, SystemdActiveState, SystemdSubState string
}

// look tells what the API shows of one unit: "desired/current machine: active/sub on machine, …", machines as m1, m2.
func (b *bench) look(name string) string {
	b.Helper()
	code, text := b.ask(http.MethodGet, "/fleet/v1/units/"+name, "")
	line := "none"
	if code == http.StatusOK {
		var u apiUnit
		require.NoError(b, json.Unmarshal([]byte(text), &u))
		line = u.DesiredState + "/" + u.CurrentState
		if u.MachineID != "" {
			line += " " + short(u.MachineID)
		}
	} else {
		require.Equal(b, http.StatusNotFound, code)
	}
	for _, s := range b.published(name) {
		line += fmt.Sprintf(", %s/%s on %s", s.SystemdActiveState, s.SystemdSubState, short(s.MachineID))
	}
	return line
}

func (b *bench) published(name string) []apiState {
	b.Helper()
	code, text := b.ask(http.MethodGet, "/fleet/v1/state?unitName="+name, "")
	require.Equal(b, http.StatusOK, code)
	var page struct{ States []apiState }
	require.NoError(b, json.Unmarshal([]byte(text), &page))
	return page.States
}

func short(id string) string { return "m" + strings.TrimLeft(id[:8], "0") }

// step is what a unit looks like at some second.
type step struct {
	at   int
	look string
}

// walk looks at a unit once a second and notes what it looks like whenever that changes.
func (b *bench) walk(name string, seconds int) []step {
	b.Helper()
	var steps []step
	for at := 0; at <= seconds; at++ {
		if at > 0 {
			b.clock.Advance(time.Second)
		}
		if look := b.look(name); len(steps) == 0 || steps[len(steps)-1].look != look {
			steps = append(steps, step{at, look})
		}
	}
	return steps
}

// settle lets enough time pass for everything but a state's lingering.
func (b *bench) settle() {
	b.Helper()
	b.clock.Advance(12 * time.Second)
	b.Advance()
}

func (b *bench) mustUnit(name string) fleettest.UnitState {
	b.Helper()
	unit, found := b.Unit(name)
	require.True(b, found)
	return unit
}

func readAll(t *testing.T, r io.ReadCloser) string {
	t.Helper()
	text, err := io.ReadAll(r)
	require.NoError(t, err)
	require.NoError(t, r.Close())
	return string(text)
}
