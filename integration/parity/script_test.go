package parity

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"
)

const base = "/fleet/v1"

// options gives the JSON of options written as Section.Name=Value.
func options(lines ...string) string {
	all := []map[string]string{}
	for _, line := range lines {
		key, value, _ := strings.Cut(line, "=")
		section, name, _ := strings.Cut(key, ".")
		all = append(all, map[string]string{"section": section, "name": name, "value": value})
	}
	text, err := json.Marshal(all)
	if err != nil {
		panic(err) // strings always marshal
	}
	return string(text)
}

// putUnit gives the body of a PUT; an empty state is left out.
func putUnit(state string, lines ...string) string {
	if state == "" {
		return `{"options":` + options(lines...) + `}`
	}
	return `{"desiredState":"` + state + `","options":` + options(lines...) + `}`
}

func desire(state string) string { return `{"desiredState":"` + state + `"}` }

// put writes the unit and watches it.
func put(does, body string, until func(frame) bool, then time.Duration) act {
	return act{does: does, until: until, then: then, do: func(l *life) error {
		if code, answer := l.call(http.MethodPut, l.unitPath(), body); code != http.StatusCreated && code != http.StatusNoContent {
			return fmt.Errorf("PUT: %d %s", code, answer)
		}
		return nil
	}}
}

// destroy removes the unit and watches it.
func destroy(until func(frame) bool, then time.Duration) act {
	return act{does: "destroy", until: until, then: then, do: func(l *life) error {
		if code, answer := l.call(http.MethodDelete, l.unitPath(), ""); code != http.StatusNoContent {
			return fmt.Errorf("DELETE: %d %s", code, answer)
		}
		return nil
	}}
}

// is holds for a frame that has all the parts.
func is(parts ...string) func(frame) bool {
	return func(f frame) bool {
		for _, part := range parts {
			if !strings.Contains(string(f), part) {
				return false
			}
		}
		return true
	}
}

func gone(f frame) bool      { return f == "no unit" }
func anything(frame) bool    { return true }
func stateless(f frame) bool { return !strings.Contains(string(f), ";") }

// beside puts another unit and waits until it is loaded.
func beside(name, does, body string) act {
	loaded := false
	return act{does: does, until: func(frame) bool { return loaded }, then: time.Second, do: func(l *life) error {
		other := newLife(l.world, name)
		_, err := other.lead([]act{put(does, body, is("loaded/loaded", "inactive/dead"), time.Second)}, lifeLimit)
		loaded = err == nil
		return err
	}}
}

// without destroys another unit and waits for a while.
func without(name string, then time.Duration) act {
	return act{does: "destroy " + name, until: anything, then: then, do: func(l *life) error {
		_, err := newLife(l.world, name).lead([]act{destroy(gone, 0)}, lifeLimit)
		return err
	}}
}
