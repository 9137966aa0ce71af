package fleet

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const webContent = "[Unit]\nDescription=web\n\n[Service]\nExecStart=/bin/sleep 1000\n"

// roundTrip is a transport without a network.
type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(request *http.Request) (*http.Response, error) { return f(request) }

// inProcess hands requests to a handler in the caller's goroutine, which synctest can follow.
func inProcess(handler http.Handler) roundTrip {
	return func(request *http.Request) (*http.Response, error) {
		if request.Body == nil {
			request.Body = http.NoBody
		}
		defer request.Body.Close()
		if err := request.Context().Err(); err != nil {
			return nil, err
		}
		recorder := httptest.NewRecorder()
		handler.ServeHTTP(recorder, request)
		return recorder.Result(), nil
	}
}

// clientOn gives a client over a transport, with the rest of the config as given.
func clientOn(t testing.TB, transport http.RoundTripper, config Config) *Client {
	t.Helper()
	config.Client = &http.Client{Transport: transport}
	if config.Endpoint == (url.URL{}) {
		config.Endpoint = url.URL{Scheme: "http", Host: "fleet.example"}
	}
	made, err := NewFleet(config)
	require.NoError(t, err)
	t.Cleanup(func() { made.(io.Closer).Close() })
	return made.(*Client)
}

// clientTo gives a client to a server on loopback, with connections of its own.
func clientTo(t testing.TB, handler http.Handler, config Config) *Client {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	where, err := url.Parse(server.URL)
	require.NoError(t, err)
	config.Endpoint = *where
	if config.RetryWait == 0 {
		config.RetryWait = time.Microsecond
	}
	made, err := NewFleet(config)
	require.NoError(t, err)
	t.Cleanup(func() { made.(io.Closer).Close() })
	return made.(*Client)
}

func answer(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body)
}

func fail(w http.ResponseWriter, status int, message string) {
	answer(w, status, map[string]any{"error": map[string]any{"code": status, "message": message}})
}

// cluster is as much of fleet's API as these tests need: lists cut into pages of the moment, and units that are put and
// removed.
type cluster struct {
	mutex    sync.Mutex
	units    []wireUnit
	states   []wireState
	machines []wireMachine
	pageSize int
	// onPage is called, with the mutex held, before a page is cut.
	onPage func(list string, page int)
}

func (c *cluster) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	list, name, one := strings.Cut(strings.TrimPrefix(r.URL.Path, "/fleet/v1/"), "/")
	switch {
	case one:
		c.serveUnit(w, r, name)
	case list == "units":
		servePage(c, w, r, list, func() []wireUnit { return c.units })
	case list == "state":
		servePage(c, w, r, list, func() []wireState { return c.statesOf(r.URL.Query().Get("unitName")) })
	case list == "machines":
		servePage(c, w, r, list, func() []wireMachine { return c.machines })
	default:
		fail(w, http.StatusNotFound, "")
	}
}

func (c *cluster) statesOf(name string) []wireState {
	var states []wireState
	for _, state := range c.states {
		if name == "" || state.Name == name {
			states = append(states, state)
		}
	}
	return states
}

func servePage[T any](c *cluster, w http.ResponseWriter, r *http.Request, list string, entries func() []T) {
	page, _ := strconv.Atoi(r.URL.Query().Get("nextPageToken"))
	if c.onPage != nil {
		c.onPage(list, page)
	}
	all, size := entries(), c.pageSize
	if size == 0 {
		size = 100
	}
	body := map[string]any{}
	from, to := min(page*size, len(all)), min((page+1)*size, len(all))
	if from < to {
		body[map[string]string{"units": "units", "state": "states", "machines": "machines"}[list]] = all[from:to]
	}
	if to == (page+1)*size {
		body["nextPageToken"] = strconv.Itoa(page + 1)
	}
	answer(w, http.StatusOK, body)
}

func (c *cluster) index(name string) int {
	for i, unit := range c.units {
		if unit.Name == name {
			return i
		}
	}
	return -1
}

func (c *cluster) serveUnit(w http.ResponseWriter, r *http.Request, name string) {
	at := c.index(name)
	switch r.Method {
	case http.MethodGet:
		if at < 0 {
			fail(w, http.StatusNotFound, "unit does not exist")
			return
		}
		answer(w, http.StatusOK, c.units[at])
	case http.MethodDelete:
		if at < 0 {
			fail(w, http.StatusNotFound, "unit does not exist")
			return
		}
		c.units = append(c.units[:at:at], c.units[at+1:]...)
		w.WriteHeader(http.StatusNoContent)
	case http.MethodPut:
		c.putUnit(w, r, name, at)
	}
}

func (c *cluster) putUnit(w http.ResponseWriter, r *http.Request, name string, at int) {
	var unit wireUnit
	switch err := json.NewDecoder(r.Body).Decode(&unit); {
	case r.Header.Get("Content-Type") != "application/json":
		fail(w, http.StatusUnsupportedMediaType, "only acceptable Content-Type is application/json")
	case err != nil:
		fail(w, http.StatusBadRequest, err.Error())
	case at < 0 && len(unit.Options) == 0:
		fail(w, http.StatusConflict, "unit does not exist and options field empty")
	case at < 0:
		unit.Name, unit.CurrentState = name, "inactive"
		c.units = append(c.units, unit)
		w.WriteHeader(http.StatusCreated)
	default:
		if len(unit.Options) > 0 {
			c.units[at].Options = unit.Options
		}
		c.units[at].DesiredState = unit.DesiredState
		w.WriteHeader(http.StatusNoContent)
	}
}

// unitOf gives a unit with the options of a content.
func unitOf(t testing.TB, name, content, current, desired, machine string) wireUnit {
	t.Helper()
	options, err := parseContent(content)
	require.NoError(t, err)
	return wireUnit{Name: name, Options: toWire(options), CurrentState: current, DesiredState: desired, MachineID: machine}
}
