package controller

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/squadronctl/squadron/fleet"
	"github.com/squadronctl/squadron/internal/errmask"
)

// groupContent is what a request says a group's slices are made of.
type groupContent struct {
	group    string
	sliced   bool
	hashes   map[string]string // hash of the content by unit base
	oneshots map[string]bool   // unit bases that never stay active
	files    unitFiles         // what has been read
}

// newGroupContent reads those of the request's contents that files does not have yet.
func newGroupContent(req Request, files unitFiles) (groupContent, error) {
	content := groupContent{
		group:    req.Group,
		hashes:   make(map[string]string, len(req.Units)),
		oneshots: map[string]bool{},
		files:    files,
	}
	for _, unit := range req.Units {
		file, err := files.of(unit.Content)
		if err != nil {
			return groupContent{}, errmask.Maskf(bothErrors{err, errInvalidArgument}, "unit %s", unit.Name)
		}
		content.sliced = content.sliced || isTemplate(unit.Name)
		content.hashes[baseOf(unit.Name)] = file.hash
		content.oneshots[baseOf(unit.Name)] = file.oneshotAs(unit.Name)
	}
	return content, nil
}

// isOf says whether a slice of this material has the content.
func (g groupContent) isOf(m material) bool {
	if len(m.contents) != len(g.hashes) {
		return false
	}
	for base, text := range m.contents {
		if file, err := g.files.of(text); err != nil || file.hash != g.hashes[base] {
			return false
		}
	}
	return true
}

// bases are the unit bases of the content.
func (g groupContent) bases() map[string]bool {
	bases := make(map[string]bool, len(g.hashes))
	for base := range g.hashes {
		bases[base] = true
	}
	return bases
}

// comparedSlice is one slice on the cluster beside what it is wanted to be.
type comparedSlice struct {
	id    string
	units []fleet.UnitDetail // those of the request's bases, and those that the stamp says to be the slice's
	// differences says of each unit that is not as wanted why; none means that the slice has the new content.
	differences []string
	// changed says that a unit has another content, or should not be there: it is not only that one is missing, or that no
	// content is known.
	changed bool
	// lacking says that a unit is missing.
	lacking bool
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
		if !belongs(detail, g.group) {
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
			gone.changed = true
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
		s.differences = append(s.differences, detail.Name+" has an unknown content")
	default:
		s.changed = true
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
			slice.lacking = true
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
	// A state has not been reported, or is of another content: the slice may run.
	activityUnknown activity = iota
	activityRunning
	// A unit of the slice is known not to run.
	activityDown
)

// activityOf says whether all units of the slice that are there run now. A oneshot that is launched and has not failed
// counts as running.
func (c *controller) activityOf(slice *comparedSlice, oneshots map[string]bool) activity {
	if slice == nil || len(slice.units) == 0 {
		return activityDown
	}
	judge := c.newJudge(StatusRunning)
	result := activityRunning
	for i := range slice.units {
		switch judge.activity(&slice.units[i], oneshots) {
		case activityDown:
			return activityDown
		case activityUnknown:
			result = activityUnknown
		}
	}
	return result
}

func (j *judge) activity(detail *fleet.UnitDetail, oneshots map[string]bool) activity {
	statuses, settled := j.statusesOf(detail)
	switch {
	case !settled:
		return activityUnknown
	case len(statuses) == 0: // no machine took it
		return activityDown
	}
	oneshot := (detail.Oneshot || oneshots[baseOf(detail.Name)]) && detail.Current == "launched"
	for _, status := range statuses {
		if status != StatusRunning && !(oneshot && (status == StatusStopped || status == StatusStarting)) {
			return activityDown
		}
	}
	return activityRunning
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
