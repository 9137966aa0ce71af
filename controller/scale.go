package controller

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/squadronctl/squadron/fleet"
	"github.com/squadronctl/squadron/internal/errmask"
	"github.com/squadronctl/squadron/task"
)

// Scaler changes how many slices a group has. The value of NewController satisfies it.
type Scaler interface {
	// Scale makes the group have n slices, by the engine and under the bounds of Update: new slices go straight to
	// launched and have to become ready, slices too many are stopped and destroyed. Slices that don't run go first, then
	// the youngest, as far as this controller has made them (a cluster does not tell an age), then by ID. No slice is
	// replaced but one that lacks a unit, which is not counted, and none that is there is started.
	//
	// New slices are made of the request's units or, where it names none, of the cluster's content, which has to be one
	// and the same in all slices then, and the backend a fleet.ContentReader: else the call is IsUpdateNotAllowed. A
	// request that names units counts the slices of these alone. SliceIDs, a DesiredSlices other than n, an n below 1 and
	// a group without slices are IsInvalidArgument; Force is IsUpdateNotAllowed, as is all that Update refuses of its
	// options. Nothing found and no units named is IsUnitNotFound.
	//
	// The call looks at the cluster under ctx, and touches nothing; IsGroupBusy says that an Update or Scale of the group is
	// under way. The task succeeds at once where there are n slices already. It fails with IsUpdateFailed as that of an
	// Update does; with Rollback set, what it has added goes again and what it has removed comes back.
	Scale(ctx context.Context, req Request, n int, opts UpdateOptions) (*task.Task, error)
}

var _ Scaler = (*controller)(nil)

// Scale implements Scaler.
func (c *controller) Scale(ctx context.Context, req Request, n int, opts UpdateOptions) (*task.Task, error) {
	req, files, err := c.checkScale(req, n, opts)
	if err != nil {
		return nil, err
	}
	return c.startRun(ctx, "scale", req.Group, func() (*updateRun, error) {
		return c.lookBeforeScale(ctx, req, n, opts, files)
	})
}

// checkScale checks what can be told of a Scale without a look at the cluster.
func (c *controller) checkScale(req Request, n int, opts UpdateOptions) (Request, unitFiles, error) {
	operation := "scale group " + req.Group
	if err := c.ready(); err != nil {
		return req, nil, errmask.Maskf(err, "%s", operation)
	}
	req = req.clone()
	if err := validateScale(req, n); err != nil {
		return req, nil, err
	}
	if opts.Force {
		return req, nil, errmask.Maskf(errUpdateNotAllowed, "%s: Force replaces slices, and scaling does not", operation)
	}
	if err := c.allows(opts, true); err != nil {
		return req, nil, errmask.Maskf(err, "%s", operation)
	}
	files := unitFiles{}
	req, err := c.stamped(req, files)
	return req, files, err
}

// validateScale is what Scale checks of its request and number.
func validateScale(req Request, n int) error {
	faults := ValidationError{}
	if len(req.Units) > 0 {
		faults.addAll(validateRequest(req).CausingErrors...)
		faults.addAll(validateTemplates(req)...)
		faults.addAll(validateUnitFiles(req)...)
		if !isSliced(req) {
			faults.Add(errmask.Maskf(errInvalidArgument, "group %.256q has no slices, and so can't be scaled", req.Group))
		}
	} else {
		faults.addAll(validateNames(req)...)
	}
	if n < 1 || n > maxSlices {
		faults.Add(errmask.Maskf(errInvalidArgument, "%d slices of group %.256q: the number must be from 1 to %d (Destroy removes a group)",
			n, req.Group, maxSlices))
	}
	if len(req.SliceIDs) > 0 {
		faults.Add(errmask.Maskf(errInvalidArgument, "group %.256q: SliceIDs have no meaning in scaling", req.Group))
	}
	if req.DesiredSlices != 0 && req.DesiredSlices != n {
		faults.Add(errmask.Maskf(errInvalidArgument, "group %.256q: DesiredSlices is %d, and %d are asked for", req.Group, req.DesiredSlices, n))
	}
	return faults.orNil()
}

// lookBeforeScale makes the run of a change of the number of slices, unless what the cluster shows forbids it. It touches
// nothing.
func (c *controller) lookBeforeScale(ctx context.Context, req Request, n int, opts UpdateOptions, files unitFiles) (*updateRun, error) {
	look, leave, err := c.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	found, err := c.discover(look, fleet.Selector{Groups: []string{req.Group}}, near(req.Group))
	if err != nil {
		return nil, err
	}
	var content groupContent
	unnamed := len(req.Units) == 0
	if unnamed {
		req.Units, content, err = c.unitsFromCluster(look, req, n, found, files)
	} else {
		content, err = newGroupContent(req, files)
	}
	if err != nil {
		return nil, err
	}
	run := c.newRun("scale", req, opts, content, found)
	run.target = &scaling{contents: contentsOf(req), slices: n}
	run.unnamed = unnamed
	return run, run.allowed()
}

// unitsFromCluster gives the group's unit bases as they are on the cluster. Their contents are read only where new slices
// are to be made of them.
func (c *controller) unitsFromCluster(ctx context.Context, req Request, n int, near []fleet.UnitDetail, files unitFiles) ([]Unit, groupContent, error) {
	content := groupContent{group: req.Group, sliced: true, hashes: map[string]string{}, oneshots: map[string]bool{}, files: files}
	group := matching(near, newSelection(req).inGroup)
	if len(group) == 0 {
		return nil, content, errmask.Maskf(errUnitNotFound, "none of its units is on the cluster, and the request names none")
	}
	if err := checkOneGroup(req.Group, group); err != nil {
		return nil, content, err
	}
	samples, bySlice := samplesOf(group)
	if _, unsliced := bySlice[""]; unsliced {
		return nil, content, errmask.Maskf(errInvalidArgument, "it has no slices, and so can't be scaled")
	}
	maps.DeleteFunc(bySlice, func(_ string, units map[string]fleet.UnitDetail) bool { return len(units) < len(samples) })
	grows := n > len(bySlice)
	if grows && len(bySlice) == 0 {
		return nil, content, errmask.Maskf(errUpdateNotAllowed, "the request names no units, and no slice on the cluster has all of them (name the units)")
	}
	if grows {
		if err := c.alike(samples, bySlice); err != nil {
			return nil, content, err
		}
	}
	var units []Unit
	for _, base := range slices.Sorted(maps.Keys(samples)) {
		unit := Unit{Name: base}
		if grows {
			text, err := c.readSeen(ctx, samples[base])
			if err != nil {
				return nil, content, errmask.Maskf(err, "read what new slices are to be made of")
			}
			unit.Content = text
		}
		units = append(units, unit)
		content.hashes[base], content.oneshots[base] = hashOnCluster(samples[base]), samples[base].Oneshot
	}
	return units, content, nil
}

// samplesOf gives one unit of each base, and the units by slice and base.
func samplesOf(group []fleet.UnitDetail) (samples map[string]fleet.UnitDetail, bySlice map[string]map[string]fleet.UnitDetail) {
	samples, bySlice = map[string]fleet.UnitDetail{}, map[string]map[string]fleet.UnitDetail{}
	for _, detail := range group {
		base, id := baseOf(detail.Name), sliceOf(detail.Name)
		if bySlice[id] == nil {
			bySlice[id] = map[string]fleet.UnitDetail{}
		}
		samples[base], bySlice[id][base] = detail, detail
	}
	return samples, bySlice
}

// alike refuses to make new slices of what is on the cluster where that is not one and the same content.
func (c *controller) alike(samples map[string]fleet.UnitDetail, bySlice map[string]map[string]fleet.UnitDetail) error {
	if c.backend.ContentReader == nil {
		return errmask.Maskf(errUpdateNotAllowed, "the request names no units, and a backend of type %T can't read those on the cluster", c.config.Fleet)
	}
	var differences []string
	for _, id := range slices.Sorted(maps.Keys(bySlice)) {
		for _, base := range slices.Sorted(maps.Keys(samples)) {
			detail := bySlice[id][base]
			switch hash := hashOnCluster(detail); hash {
			case "":
				differences = append(differences, detail.Name+" has an unknown content")
			case hashOnCluster(samples[base]):
			default:
				differences = append(differences, detail.Name+" has another content than "+samples[base].Name)
			}
		}
	}
	if len(differences) > 0 {
		return errmask.Maskf(errUpdateNotAllowed, "the request names no units, and the slices differ (update first, or name the units): %s",
			strings.Join(firstFew(differences), "; "))
	}
	return nil
}

// firstFew cuts a list for an error message.
func firstFew(lines []string) []string {
	if len(lines) > namesShown {
		return append(slices.Clone(lines[:namesShown]), fmt.Sprintf("and %d more", len(lines)-namesShown))
	}
	return lines
}
