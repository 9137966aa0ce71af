package controller

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/squadronctl/squadron/fleet"
	"github.com/squadronctl/squadron/internal/errmask"
)

// groupContent is what a request says a group's slices are made of.
type groupContent struct {
	selection selection
	sliced    bool
	hashes    map[string]string // hash of the content by unit base
	oneshots  map[string]bool   // unit bases that never stay active
}

// newGroupContent parses and hashes each of the request's units once.
func newGroupContent(req Request) (groupContent, error) {
	content := groupContent{
		selection: newSelection(Request{RequestConfig: RequestConfig{Group: req.Group}}),
		hashes:    make(map[string]string, len(req.Units)),
		oneshots:  map[string]bool{},
	}
	for _, unit := range req.Units {
		detail, err := fleet.DetailOf(unit.Name, unit.Content)
		if err != nil {
			return groupContent{}, errmask.Maskf(bothErrors{err, errInvalidArgument}, "unit %s", unit.Name)
		}
		content.sliced = content.sliced || isTemplate(unit.Name)
		content.hashes[baseOf(unit.Name)] = detail.Hash
		content.oneshots[baseOf(unit.Name)] = detail.Oneshot
	}
	return content, nil
}

// comparedSlice is one slice on the cluster beside what it is wanted to be.
type comparedSlice struct {
	id    string
	units []fleet.UnitDetail // those of the request's bases, and those that the stamp says to be the slice's
	// differences says of each unit that is not as wanted why; none means that the slice has the new content.
	differences []string
	// unknown is set where the only difference is that no content is known.
	unknown bool
}

// comparison is a group on the cluster beside a request.
type comparison struct {
	slices map[string]*comparedSlice // by ID, which is empty for an instance group
	others []string                  // units of the group by name that are neither the request's nor stamped: never touched
}

// compare sorts units into slices, and tells which of those differ from the request (R21).
func (g groupContent) compare(details []fleet.UnitDetail) comparison {
	result := comparison{slices: map[string]*comparedSlice{}}
	for _, detail := range details {
		if !belongs(detail, g.selection.group) {
			continue
		}
		base, id := baseOf(detail.Name), sliceOf(detail.Name)
		hash, wanted := g.hashes[base]
		wanted = wanted && (id != "") == g.sliced
		switch {
		case wanted:
			result.slice(id).add(detail, hash)
		case detail.Stamped:
			gone := result.slice(id)
			gone.units = append(gone.units, detail)
			gone.differences = append(gone.differences, detail.Name+" is gone from the request")
		default:
			result.others = append(result.others, detail.Name)
		}
	}
	for _, slice := range result.slices {
		g.addMissing(slice)
	}
	return result
}

func (c comparison) slice(id string) *comparedSlice {
	if c.slices[id] == nil {
		c.slices[id] = &comparedSlice{id: id}
	}
	return c.slices[id]
}

func (s *comparedSlice) add(detail fleet.UnitDetail, wantedHash string) {
	s.units = append(s.units, detail)
	switch hashOnCluster(detail) {
	case wantedHash:
	case "":
		s.unknown = len(s.differences) == 0 || s.unknown
		s.differences = append(s.differences, detail.Name+" has an unknown content")
	default:
		s.unknown = false
		s.differences = append(s.differences, detail.Name+" has another content")
	}
}

func (g groupContent) addMissing(slice *comparedSlice) {
	there := map[string]bool{}
	for _, detail := range slice.units {
		there[baseOf(detail.Name)] = true
	}
	for _, base := range slices.Sorted(maps.Keys(g.hashes)) {
		if !there[base] {
			slice.unknown = false
			slice.differences = append(slice.differences, base+" is missing")
		}
	}
}

func (s *comparedSlice) isNew() bool { return len(s.differences) == 0 }

// launched says whether fleet was asked to run all units of the slice.
func (s *comparedSlice) launched() bool {
	return !slices.ContainsFunc(s.units, func(d fleet.UnitDetail) bool { return d.Desired != "launched" })
}

// activity is what one look tells of whether a slice runs.
type activity int

const (
	// unknown: a state has not been reported, or is of another content. It may run.
	unknown activity = iota
	running
	// down: a unit is known not to run.
	down
)

// activityOf says whether all units of the slice that are there run now. A oneshot that is launched and has not failed
// counts as running.
func (c *controller) activityOf(slice *comparedSlice, oneshots map[string]bool) activity {
	if slice == nil || len(slice.units) == 0 {
		return down
	}
	judge := c.newJudge(StatusRunning)
	result := running
	for i := range slice.units {
		switch judge.activity(&slice.units[i], oneshots) {
		case down:
			return down
		case unknown:
			result = unknown
		}
	}
	return result
}

func (j *judge) activity(detail *fleet.UnitDetail, oneshots map[string]bool) activity {
	if len(detail.Machine) == 0 && !detail.Global {
		return down
	}
	statuses, settled := j.statusesOf(detail)
	if !settled {
		return unknown
	}
	oneshot := (detail.Oneshot || oneshots[baseOf(detail.Name)]) && detail.Current == "launched"
	for _, status := range statuses {
		if status != StatusRunning && !(oneshot && (status == StatusStopped || status == StatusStarting)) {
			return down
		}
	}
	return running
}

// GroupNeedsUpdate implements Controller.
func (c *controller) GroupNeedsUpdate(ctx context.Context, req Request) (Request, bool, error) {
	const operation = "compare group %s"
	if err := c.ready(); err != nil {
		return req, false, errmask.Maskf(err, operation, req.Group)
	}
	wanted := req.clone()
	if valid, err := ValidateRequest(wanted); !valid {
		return req, false, err
	}
	wanted, err := c.stamped(wanted)
	if err != nil {
		return req, false, err
	}
	content, err := newGroupContent(wanted)
	if err != nil {
		return req, false, err
	}
	ctx, stop := endWith(ctx, c.life)
	defer stop()
	compared, err := c.compareWithCluster(ctx, content)
	if err != nil {
		return req, false, errmask.Maskf(err, operation, req.Group)
	}
	if len(compared.slices) == 0 {
		return req, false, errmask.Maskf(errUnitNotFound, operation, req.Group)
	}
	outdated := compared.outdated(req.SliceIDs)
	if len(outdated) == 0 {
		return req, false, nil
	}
	reduced := req.clone()
	if content.sliced {
		reduced.SliceIDs = outdated
	}
	return reduced, true, nil
}

func (c *controller) compareWithCluster(ctx context.Context, content groupContent) (comparison, error) {
	found, err := c.discover(ctx, fleet.Selector{Groups: []string{content.selection.group}}, near(content.selection.group))
	if err != nil {
		return comparison{}, err
	}
	return content.compare(found), nil
}

// outdated gives the slices that are not as wanted, among those named where any are: one that is not there is not.
func (c comparison) outdated(named []string) []string {
	ids := named
	if len(ids) == 0 {
		ids = slices.Sorted(maps.Keys(c.slices))
	}
	var outdated []string
	for _, id := range ids {
		if slice := c.slices[id]; slice == nil || !slice.isNew() {
			outdated = append(outdated, id)
		}
	}
	return outdated
}

// why puts a slice's differences into words.
func (s *comparedSlice) why() string {
	return fmt.Sprintf("slice %s: %s", sliceName(s.id), strings.Join(s.differences, ", "))
}

// sliceName is how messages call a slice; that of an instance group has no ID.
func sliceName(id string) string {
	if id == "" {
		return "(the only one)"
	}
	return id
}
