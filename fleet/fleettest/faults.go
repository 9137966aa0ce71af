package fleettest

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"sync"
)

// Fault decides about one request what is to go wrong with it; nil is nothing. It is called once for each request, maybe
// for several at once.
type Fault func(r *http.Request) Action

// Action answers a request in place of the handler behind it, which it may call. An action that waits must end with the
// request's context. One that panics with http.ErrAbortHandler closes the connection.
type Action func(w http.ResponseWriter, r *http.Request, next http.Handler)

// Faults is a layer over any handler in which things go wrong. Without faults it only passes on. It is safe for use by
// many goroutines at once.
type Faults struct {
	next    http.Handler
	life    context.Context
	release context.CancelFunc

	mu     sync.Mutex
	faults []Fault
}

// NewFaults puts a layer of faults over a handler.
func NewFaults(next http.Handler) *Faults {
	life, release := context.WithCancel(context.Background())
	return &Faults{next: next, life: life, release: release}
}

// Set puts these faults in place of those before, from the next request on; without arguments, all is well again. Each
// of them decides about each request. Where several have an action for it, the first one's is the outermost.
func (f *Faults) Set(faults ...Fault) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.faults = slices.Clone(faults)
}

// Release ends the contexts of all requests under way and to come, and so all hangs and latencies.
func (f *Faults) Release() { f.release() }

// ServeHTTP implements http.Handler.
func (f *Faults) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	defer context.AfterFunc(f.life, cancel)()
	r = r.WithContext(ctx)

	f.mu.Lock()
	faults := f.faults
	f.mu.Unlock()
	var actions []Action
	for _, fault := range faults {
		if action := fault(r); action != nil {
			actions = append(actions, action)
		}
	}
	handler := f.next
	for _, action := range slices.Backward(actions) {
		inner := handler
		handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { action(w, r, inner) })
	}
	handler.ServeHTTP(w, r)
}

// Always does the action to every request.
func Always(action Action) Fault {
	return func(*http.Request) Action { return action }
}

// Every does the action to every nth request that it is asked about: the nth, the 2nth and so on. With n below 2 that is
// every request.
func Every(n int, action Action) Fault {
	var c counter
	return func(*http.Request) Action {
		if c.next()%max(n, 1) != 0 {
			return nil
		}
		return action
	}
}

// First does the action to the first n requests that it is asked about.
func First(n int, action Action) Fault {
	var c counter
	return func(*http.Request) Action {
		if c.next() > n {
			return nil
		}
		return action
	}
}

// On asks a fault only about requests of the method whose path contains the text; an empty string is any.
func On(method, path string, fault Fault) Fault {
	return func(r *http.Request) Action {
		if method != "" && method != r.Method || !strings.Contains(r.URL.Path, path) {
			return nil
		}
		return fault(r)
	}
}

// ShiftPages makes the pages of listings shift: on every nth listing of /units or /state, a unit of nobody's, which sorts
// before all others of usual names, appears in the cluster or vanishes from it between the first page and the second.
// So an entry is seen twice or not at all. What /state shows follows as the cluster's Timing says.
func ShiftPages(c *Cluster, n int) Fault {
	var mu sync.Mutex
	listings, armed := map[string]int{}, map[string]bool{}
	return func(r *http.Request) Action {
		if r.Method != http.MethodGet || !strings.HasSuffix(r.URL.Path, "/units") && !strings.HasSuffix(r.URL.Path, "/state") {
			return nil
		}
		mu.Lock()
		defer mu.Unlock()
		if !r.URL.Query().Has("nextPageToken") {
			listings[r.URL.Path]++
			armed[r.URL.Path] = listings[r.URL.Path]%max(n, 1) == 0
			return nil
		}
		if !armed[r.URL.Path] {
			return nil
		}
		armed[r.URL.Path] = false
		return func(w http.ResponseWriter, r *http.Request, next http.Handler) {
			toggleNobody(c)
			next.ServeHTTP(w, r)
		}
	}
}

// Nobody is the unit that ShiftPages makes appear and vanish.
const Nobody = "0-nobody.service"

func toggleNobody(c *Cluster) {
	if c.Remove(Nobody) {
		return
	}
	// The name and the content are good, so there is no error to be had.
	_ = c.Put(Nobody, "[Service]\nExecStart=/bin/sleep infinity\n", loaded)
}

// counter counts from 1, for many goroutines at once.
type counter struct {
	mu    sync.Mutex
	count int
}

func (c *counter) next() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.count++
	return c.count
}
