package controller

import (
	"slices"
	"strings"
)

// RequestConfig says which group, and which slices of it, a request is about.
type RequestConfig struct {
	// Group is the group's name, with which the names of its units begin.
	Group string
	// SliceIDs are the slices; none means all of them.
	SliceIDs []string
}

// DefaultRequestConfig is a RequestConfig without group, whose SliceIDs are empty and not nil.
func DefaultRequestConfig() RequestConfig {
	return RequestConfig{SliceIDs: []string{}}
}

// Request is what an operation is asked for. Operations work on a copy of it, and never change it.
type Request struct {
	RequestConfig

	// Units are the group's units. Of a sliced group they are templates (web@.service), whose "@." ExtendSlices turns
	// into "@ID.". Operations that read no contents may be given names alone, or no units at all, which means all units
	// of the group.
	Units []Unit
	// DesiredSlices is a number of slices; 0 means that it is not given. Submit creates so many new ones, however many
	// there are already, and picks their IDs. Update adds or removes slices until there are so many.
	DesiredSlices int
}

// Unit is a systemd unit file.
type Unit struct {
	// Name is the file's name: web@.service.
	Name string
	// Content is the file's text.
	Content string
}

// NewRequest is a request without units about what config names. Slashes at the end of the group's name are cut, so
// that a directory's name as a shell completes it will do. Units is empty and not nil.
func NewRequest(config RequestConfig) Request {
	return Request{
		RequestConfig: RequestConfig{
			Group:    strings.TrimRight(config.Group, "/"),
			SliceIDs: slices.Clone(config.SliceIDs),
		},
		Units: []Unit{},
	}
}

// ExtendSlices gives the request with its templates written out: for each slice ID, in order, each unit, in order, with
// the first "@." of its name replaced by "@ID.". A request without slice IDs comes back as it is. The result shares no
// memory with r. The error is always nil: what can be wrong with a request is ValidateRequest's to say.
func (r Request) ExtendSlices() (Request, error) {
	extended := r.clone()
	if len(r.SliceIDs) == 0 {
		return extended, nil
	}
	extended.Units = make([]Unit, 0, len(r.SliceIDs)*len(r.Units))
	for _, id := range r.SliceIDs {
		for _, unit := range r.Units {
			extended.Units = append(extended.Units, Unit{Name: extendName(unit.Name, id), Content: unit.Content})
		}
	}
	return extended, nil
}

// extendName is a template's name for one slice: web@.service and 3f1 make web@3f1.service.
func extendName(template, sliceID string) string {
	return strings.Replace(template, "@.", "@"+sliceID+".", 1)
}

// clone is a copy that shares no memory with r.
func (r Request) clone() Request {
	r.SliceIDs = slices.Clone(r.SliceIDs)
	r.Units = slices.Clone(r.Units)
	return r
}
