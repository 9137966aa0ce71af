package parity

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"time"

	"github.com/squadronctl/squadron/fleet/fleettest"
)

// realWorld is a real cluster behind an endpoint.
type realWorld struct{ endpoint string }

func (realWorld) now() time.Time        { return time.Now() }
func (realWorld) pause(d time.Duration) { time.Sleep(d) }

func (w realWorld) call(method, path, body string) (int, []byte) {
	request, err := http.NewRequest(method, w.endpoint+path, strings.NewReader(body))
	if err != nil {
		return 0, []byte(err.Error())
	}
	if body != "" {
		request.Header.Set("Content-Type", "application/json")
	}
	response, err := caller.Do(request)
	if err != nil {
		return 0, []byte(err.Error())
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return 0, []byte(err.Error())
	}
	return response.StatusCode, text
}

// doubleWorld is a simulated cluster whose time passes when somebody pauses, and only then.
type doubleWorld struct {
	*fleettest.Cluster
	clock *clock
}

func newDoubleWorld(config fleettest.Config, offset time.Duration) doubleWorld {
	clock := &clock{at: time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)}
	config.Now = clock.now
	w := doubleWorld{fleettest.NewCluster(config), clock}
	clock.pass(offset)
	return w
}

func (w doubleWorld) now() time.Time { return w.clock.now() }

// pause takes larger steps, since a double misses nothing between two looks but what is brief.
func (w doubleWorld) pause(d time.Duration) { w.clock.pass(3 * d) }

func (w doubleWorld) call(method, path, body string) (int, []byte) {
	request := httptest.NewRequest(method, "http://fleet"+path, strings.NewReader(body))
	if body != "" {
		request.Header.Set("Content-Type", "application/json")
	}
	answer := httptest.NewRecorder()
	w.ServeHTTP(answer, request)
	return answer.Code, answer.Body.Bytes()
}

type clock struct {
	mu sync.Mutex
	at time.Time
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *clock) pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
}
