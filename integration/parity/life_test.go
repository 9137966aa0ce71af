package parity

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/squadronctl/squadron/integration/cluster"
)

// world is a cluster, real or not, with its own time.
type world interface {
	// call makes one request and gives its status and body; 0 where there was no answer.
	call(method, path, body string) (int, []byte)
	now() time.Time
	pause(time.Duration)
}

// title begins the frames that only say which act follows.
const title = "— "

// look is how often a life is looked at.
const look = 40 * time.Millisecond

// frame is what a cluster shows of one unit at one moment, with nothing in it that differs from run to run: "no unit" or
// "desired/current, a machine", and each state as "active/sub of content N".
type frame string

// shown is a frame and how long it stood.
type shown struct {
	frame frame
	stood time.Duration
}

// act is one step of a life: something is done, and then the unit is watched until it looks as it should, and for a while
// longer.
type act struct {
	does  string
	do    func(*life) error
	until func(frame) bool
	then  time.Duration
}

// life is a unit that is led through acts.
type life struct {
	world
	name     string
	machine  string            // where not empty, only states on this machine are looked at
	contents map[string]string // by hash, the contents in the order of their first PUT
	film     []shown
	shownAt  time.Time // when the last frame was first seen
}

func newLife(w world, name string) *life {
	l := &life{world: w, name: name, contents: map[string]string{}}
	if strings.HasPrefix(name, "global") {
		l.machine = cluster.IDOf(1)
	}
	return l
}

// unitPath is where the API has the unit.
func (l *life) unitPath() string { return base + "/units/" + url.PathEscape(l.name) }

// lead goes through the acts and gives the film of it.
func (l *life) lead(acts []act, limit time.Duration) ([]shown, error) {
	for _, a := range acts {
		l.film = append(l.film, shown{frame: frame(title + a.does)})
		if err := a.do(l); err != nil {
			return l.film, fmt.Errorf("%s: %w", a.does, err)
		}
		began := l.now()
		var met time.Time
		for met.IsZero() || l.now().Sub(met) < a.then {
			f, err := l.look()
			if err != nil {
				return l.film, fmt.Errorf("%s: %w", a.does, err)
			}
			l.show(f)
			if met.IsZero() && a.until(f) {
				met = l.now()
			}
			if met.IsZero() && l.now().Sub(began) > limit {
				return l.film, fmt.Errorf("%s: after %v it still is %s", a.does, limit, f)
			}
			l.pause(look)
		}
	}
	return l.film, nil
}

// show adds a frame to the film; one that stands goes on standing.
func (l *life) show(f frame) {
	now := l.now()
	if last := &l.film[len(l.film)-1]; last.frame == f {
		last.stood = now.Sub(l.shownAt)
		return
	}
	l.film, l.shownAt = append(l.film, shown{frame: f}), now
}

// look takes one frame.
func (l *life) look() (frame, error) {
	var unit struct{ CurrentState, DesiredState, MachineID string }
	var page struct {
		States []struct{ Hash, MachineID, SystemdLoadState, SystemdActiveState, SystemdSubState string }
	}
	code, body := l.call(http.MethodGet, l.unitPath(), "")
	line := "no unit"
	switch code {
	default:
		return "", fmt.Errorf("GET of the unit: %d %s", code, body)
	case http.StatusNotFound:
	case http.StatusInternalServerError:
		line = "no answer"
	case http.StatusOK:
		if err := json.Unmarshal(body, &unit); err != nil {
			return "", err
		}
		line = unit.DesiredState + "/" + unit.CurrentState
		if unit.MachineID != "" {
			line += ", placed"
		}
	}
	code, body = l.call(http.MethodGet, base+"/state?unitName="+url.QueryEscape(l.name)+"&machineID="+l.machine, "")
	if err := json.Unmarshal(body, &page); code != http.StatusOK || err != nil {
		return "", fmt.Errorf("GET of the state: %d %s", code, body)
	}
	var states []string
	for _, s := range page.States {
		where := ""
		if unit.MachineID != "" && s.MachineID != unit.MachineID {
			where = " elsewhere"
		}
		states = append(states, fmt.Sprintf("; %s/%s/%s of %s%s", s.SystemdLoadState, s.SystemdActiveState, s.SystemdSubState,
			l.contentName(s.Hash), where))
	}
	slices.Sort(states)
	return frame(line + strings.Join(states, "")), nil
}

// contentName calls a content by a letter, in the order of appearance.
func (l *life) contentName(hash string) string {
	if l.contents[hash] == "" {
		l.contents[hash] = string(rune('A' + len(l.contents)))
	}
	return l.contents[hash]
}
