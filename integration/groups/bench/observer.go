package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// lookTimeout is how long one request of an Observer may take, before it asks another machine.
const lookTimeout = 3 * time.Second

// State is what a machine says of a unit.
type State struct{ Active, Sub, Hash string }

// Unit is what the cluster says of a unit.
type Unit struct {
	Name, Desired, Current, MachineID string
	Options                           string           // the unit's options, written out
	States                            map[string]State // by machine ID
}

// Here is the unit's state on the machine that it is scheduled to.
func (u Unit) Here() State { return u.States[u.MachineID] }

// Snapshot is one look at the cluster.
type Snapshot struct {
	At    time.Time
	Units map[string]Unit
}

// Observer looks at a cluster over plain HTTP. Where one machine does not answer, it asks the next.
type Observer struct {
	endpoints []url.URL     // asked in this order
	pause     time.Duration // between two looks
	http      *http.Client
	stop      context.CancelFunc
	done      chan struct{}

	mutex   sync.Mutex
	current int // index of the endpoint that answered last
	takers  map[int]func(Snapshot)
	next    int
}

// NewObserver begins to look at the cluster whose API is at each of the endpoints, with a pause between two looks, while
// somebody follows. Close ends it.
func NewObserver(pause time.Duration, endpoints ...url.URL) *Observer {
	ctx, stop := context.WithCancel(context.Background())
	o := &Observer{endpoints: endpoints, pause: pause, http: &http.Client{Transport: &http.Transport{}, Timeout: lookTimeout},
		stop: stop, done: make(chan struct{}), takers: map[int]func(Snapshot){}}
	go o.run(ctx)
	return o
}

// Close ends the looking and closes the connections.
func (o *Observer) Close() {
	o.stop()
	<-o.done
	o.http.CloseIdleConnections()
}

// Follow gives each look to take, from one goroutine and in order, until end is called; end waits for a take under way.
func (o *Observer) Follow(take func(Snapshot)) (end func()) {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	key := o.next
	o.next++
	o.takers[key] = take
	return func() {
		o.mutex.Lock()
		defer o.mutex.Unlock()
		delete(o.takers, key)
	}
}

func (o *Observer) run(ctx context.Context) {
	defer close(o.done)
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(o.pause):
		}
		if !o.followed() {
			continue
		}
		if look, err := o.Look(ctx); err == nil {
			o.give(look)
		}
	}
}

func (o *Observer) followed() bool {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	return len(o.takers) > 0
}

func (o *Observer) give(look Snapshot) {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	for _, take := range o.takers {
		take(look)
	}
}

// Now looks until a look succeeds, for a minute at most.
func (o *Observer) Now(t testing.TB) Snapshot {
	t.Helper()
	deadline := time.Now().Add(time.Minute)
	for {
		look, err := o.Look(context.Background())
		if err == nil {
			return look
		}
		require.True(t, time.Now().Before(deadline), "no look at the cluster succeeded for a minute: %v", err)
		time.Sleep(o.pause)
	}
}

// Await looks until ok is true of a look, for at most the time given, and gives the last look.
func (o *Observer) Await(t testing.TB, limit time.Duration, what string, ok func(Snapshot) bool) Snapshot {
	t.Helper()
	deadline := time.Now().Add(limit)
	for {
		look := o.Now(t)
		if ok(look) {
			return look
		}
		require.True(t, time.Now().Before(deadline), "not so after %v: %s\n%s", limit, what, look.text(""))
		time.Sleep(o.pause)
	}
}

// Look looks once, asking one machine after the other until one answers.
func (o *Observer) Look(ctx context.Context) (Snapshot, error) {
	o.mutex.Lock()
	first := o.current
	o.mutex.Unlock()
	var errs []error
	for i := range o.endpoints {
		asked := (first + i) % len(o.endpoints)
		look, err := o.lookAt(ctx, o.endpoints[asked], nothing)
		if err == nil {
			o.mutex.Lock()
			o.current = asked
			o.mutex.Unlock()
			return look, nil
		}
		errs = append(errs, err)
	}
	return Snapshot{}, errors.Join(errs...)
}

// LookBetweenPages looks once, and calls between after each page of the list of units but the last.
func (o *Observer) LookBetweenPages(ctx context.Context, between func() error) (Snapshot, error) {
	return o.lookAt(ctx, o.endpoint(), between)
}

// endpoint is that of the machine that answered last.
func (o *Observer) endpoint() url.URL {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	return o.endpoints[o.current]
}

func nothing() error { return nil }

// lookAt reads the units first and their states then: what is seen of a unit is never older than the unit. Of a unit that
// does not run though it should, it reads once more what it should be: it may have been asked to stop in between.
func (o *Observer) lookAt(ctx context.Context, endpoint url.URL, between func() error) (Snapshot, error) {
	look := Snapshot{At: time.Now(), Units: map[string]Unit{}}
	err := o.pages(ctx, endpoint, "units", between, func(page page) {
		for _, unit := range page.Units {
			look.Units[unit.Name] = Unit{Name: unit.Name, Desired: unit.DesiredState, Current: unit.CurrentState,
				MachineID: unit.MachineID, Options: string(unit.Options), States: map[string]State{}}
		}
	})
	if err != nil {
		return Snapshot{}, err
	}
	err = o.pages(ctx, endpoint, "state", nothing, func(page page) {
		for _, state := range page.States {
			if unit, ok := look.Units[state.Name]; ok {
				unit.States[state.MachineID] = State{Active: state.SystemdActiveState, Sub: state.SystemdSubState, Hash: state.Hash}
			}
		}
	})
	if err != nil || !look.lacksRunning() {
		return look, err
	}
	err = o.pages(ctx, endpoint, "units", nothing, func(page page) {
		for _, again := range page.Units {
			if unit, ok := look.Units[again.Name]; ok {
				unit.Desired = again.DesiredState
				look.Units[again.Name] = unit
			}
		}
	})
	return look, err
}

// lacksRunning says whether some unit should run, and has a state that says it does not.
func (s Snapshot) lacksRunning() bool {
	for _, unit := range s.Units {
		if state := unit.Here().Active; unit.Desired == "launched" && state != "" && state != "active" {
			return true
		}
	}
	return false
}

// page is what is read of an answer.
type page struct {
	NextPageToken string `json:"nextPageToken"`
	Units         []struct {
		Name         string          `json:"name"`
		DesiredState string          `json:"desiredState"`
		CurrentState string          `json:"currentState"`
		MachineID    string          `json:"machineID"`
		Options      json.RawMessage `json:"options"`
	} `json:"units"`
	States []struct {
		Name               string `json:"name"`
		Hash               string `json:"hash"`
		MachineID          string `json:"machineID"`
		SystemdActiveState string `json:"systemdActiveState"`
		SystemdSubState    string `json:"systemdSubState"`
	} `json:"states"`
}

func (o *Observer) pages(ctx context.Context, endpoint url.URL, resource string, between func() error, take func(page)) error {
	token := ""
	for {
		query := ""
		if token != "" {
			query = "?nextPageToken=" + url.QueryEscape(token)
		}
		var got page
		if err := Call(ctx, o.http, http.MethodGet, endpoint.String()+"/fleet/v1/"+resource+query, nil, &got); err != nil {
			return err
		}
		take(got)
		if token = got.NextPageToken; token == "" {
			return nil
		}
		if err := between(); err != nil {
			return err
		}
	}
}

// text writes the units whose names begin with prefix out, one a line.
func (s Snapshot) text(prefix string) string {
	text := ""
	for _, unit := range s.Named(prefix) {
		text += fmt.Sprintf("%s %s/%s %.4s %v\n", unit.Name, unit.Current, unit.Desired, lastOf(unit.MachineID, 4), unit.States)
	}
	return text
}

func lastOf(text string, n int) string { return text[max(0, len(text)-n):] }
