package dockertest

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
)

// filters are the filters of a list: the wanted values by term. A thing has to meet each term by one of its values.
type filters map[string][]string

// filters reads the filters of a list. Terms other than the known ones are refused.
func (c call) filters(known ...string) (filters, error) {
	text := c.URL.Query().Get("filters")
	if text == "" {
		return nil, nil
	}
	found := filters{}
	var sets map[string]map[string]bool
	var lists map[string][]string
	if err := json.Unmarshal([]byte(text), &sets); err == nil {
		for term, values := range sets {
			found[term] = sortedIDs(values)
		}
	} else if err := json.Unmarshal([]byte(text), &lists); err == nil {
		found = lists
	} else {
		return nil, statusf(http.StatusBadRequest, "%v", err)
	}
	for _, term := range sortedIDs(found) {
		if !slices.Contains(known, term) {
			return nil, statusf(http.StatusBadRequest, "Invalid filter '%s'", term)
		}
	}
	return found, nil
}

// match says whether one of the term's values is met. A term that is not asked for always is.
func (f filters) match(term string, met func(value string) bool) bool {
	values := f[term]
	return len(values) == 0 || slices.ContainsFunc(values, met)
}

func (f filters) prefix(term, of string) bool {
	return f.match(term, func(value string) bool { return strings.HasPrefix(of, value) })
}

func (f filters) contains(term, of string) bool {
	return f.match(term, func(value string) bool { return strings.Contains(of, strings.Trim(value, "^$")) })
}

func (f filters) exactly(term, of string) bool {
	return f.match(term, func(value string) bool { return of == value })
}

// labels wants all the labels of the term, each as KEY or KEY=VALUE.
func (f filters) labels(term string, of map[string]string) bool {
	for _, want := range f[term] {
		key, value, exact := strings.Cut(want, "=")
		if has, ok := of[key]; !ok || exact && has != value {
			return false
		}
	}
	return true
}
