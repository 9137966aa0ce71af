// Command plainloop takes units through their lives with coreos/fleet's client package, one call after the other, as its
// fleetctl does it, and prints how long that took and how many requests it made: a line of JSON.
//
//	submit   each unit: is it there? create it; read it until fleet says inactive
//	start    each unit: read it, set its desired state; then read each until fleet says launched, and its systemd state
//	         until that says active
//	status   one list of all states, as list-units makes it
//	destroy  one list of all units, to find those named; then remove each
//
// That is what fleetctl does for "submit", "start", "list-units" and "destroy" with all names on one command line, less the
// machines that it looks up to print them, and with its checks of a unit's state one after the other, which it makes side by
// side. A state that is not yet there is asked for again every 250 ms.
//
// With -bare it does not look at single units at all: it creates them, sets their desired states, lists the states until all
// are active, lists them, and removes the units. So no loop of this kind can make fewer requests.
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/coreos/fleet/client"
	"github.com/coreos/fleet/schema"
)

// checkPause is fleetctl's pause between two looks at a state.
const checkPause = 250 * time.Millisecond

// result is what is printed; times are in seconds.
type result struct {
	Submit   float64 `json:"submit"`
	Start    float64 `json:"start"`
	Status   float64 `json:"status"`
	Destroy  float64 `json:"destroy"`
	Requests int     `json:"requests"`
}

func main() {
	endpoint := flag.String("endpoint", "", "the API: http://host:port")
	units := flag.Int("units", 500, "how many units")
	prefix := flag.String("prefix", "plain", "what their names begin with")
	bare := flag.Bool("bare", false, "make no request that can be done without")
	flag.Parse()
	done, err := run(*endpoint, *prefix, *units, *bare)
	if err != nil {
		log.Fatal(err)
	}
	if err := json.NewEncoder(os.Stdout).Encode(done); err != nil {
		log.Fatal(err)
	}
}

func run(endpoint, prefix string, units int, bare bool) (result, error) {
	where, err := url.Parse(endpoint)
	if err != nil {
		return result{}, err
	}
	counted := &countingTransport{}
	fleet, err := client.NewHTTPClient(&http.Client{Transport: counted}, *where)
	if err != nil {
		return result{}, err
	}
	l := loop{fleet: fleet, prefix: prefix, bare: bare}
	for i := range units {
		l.names = append(l.names, fmt.Sprintf("%s-app@%d.service", prefix, i))
	}
	var done result
	for _, step := range []struct {
		took *float64
		do   func() error
	}{{&done.Submit, l.submit}, {&done.Start, l.start}, {&done.Status, l.status}, {&done.Destroy, l.destroy}} {
		began := time.Now()
		if err := step.do(); err != nil {
			return result{}, err
		}
		*step.took = time.Since(began).Seconds()
	}
	done.Requests = counted.requests
	return done, nil
}

// countingTransport counts what goes through it, one request after the other.
type countingTransport struct{ requests int }

func (c *countingTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	c.requests++
	return http.DefaultTransport.RoundTrip(r)
}

type loop struct {
	fleet  client.API
	prefix string
	names  []string
	bare   bool
}

func (l loop) submit() error {
	for _, name := range l.names {
		if err := l.create(name); err != nil {
			return fmt.Errorf("submit %s: %w", name, err)
		}
	}
	if l.bare {
		return nil
	}
	return l.untilEach(func(name string) (bool, error) {
		unit, err := l.fleet.Unit(name)
		return err == nil && unit != nil && unit.CurrentState != "launched", err
	})
}

func (l loop) create(name string) error {
	if !l.bare {
		there, err := l.fleet.Unit(name)
		if err != nil {
			return err
		}
		if there != nil {
			return errors.New("it is there already")
		}
	}
	return l.fleet.CreateUnit(&schema.Unit{Name: name, DesiredState: "loaded", Options: []*schema.UnitOption{
		{Section: "Service", Name: "ExecStart", Value: "/bin/sleep 100000"},
	}})
}

func (l loop) start() error {
	for _, name := range l.names {
		if !l.bare {
			if _, err := l.fleet.Unit(name); err != nil {
				return fmt.Errorf("start %s: %w", name, err)
			}
		}
		if err := l.fleet.SetUnitTargetState(name, "launched"); err != nil {
			return fmt.Errorf("start %s: %w", name, err)
		}
	}
	if l.bare {
		return l.untilAllActive()
	}
	err := l.untilEach(func(name string) (bool, error) {
		unit, err := l.fleet.Unit(name)
		return err == nil && unit != nil && unit.CurrentState == "launched", err
	})
	if err != nil {
		return err
	}
	return l.untilEach(func(name string) (bool, error) {
		state, err := l.fleet.UnitState(name)
		return err == nil && state != nil && state.SystemdActiveState == "active", err
	})
}

// untilEach asks about each unit until it is so.
func (l loop) untilEach(isSo func(name string) (bool, error)) error {
	for _, name := range l.names {
		for {
			so, err := isSo(name)
			if err != nil {
				return fmt.Errorf("look at %s: %w", name, err)
			}
			if so {
				break
			}
			time.Sleep(checkPause)
		}
	}
	return nil
}

func (l loop) untilAllActive() error {
	for {
		states, err := l.fleet.UnitStates()
		if err != nil {
			return fmt.Errorf("list the states: %w", err)
		}
		active := 0
		for _, state := range states {
			if strings.HasPrefix(state.Name, l.prefix+"-") && state.SystemdActiveState == "active" {
				active++
			}
		}
		if active == len(l.names) {
			return nil
		}
		time.Sleep(checkPause)
	}
}

func (l loop) status() error {
	states, err := l.fleet.UnitStates()
	if err != nil {
		return fmt.Errorf("list the states: %w", err)
	}
	if len(states) < len(l.names) {
		return fmt.Errorf("list the states: there are %d of %d", len(states), len(l.names))
	}
	return nil
}

func (l loop) destroy() error {
	if !l.bare {
		if _, err := l.fleet.Units(); err != nil {
			return fmt.Errorf("list the units: %w", err)
		}
	}
	for _, name := range l.names {
		if err := l.fleet.DestroyUnit(name); err != nil {
			return fmt.Errorf("destroy %s: %w", name, err)
		}
	}
	return nil
}
