package controller

import (
	"context"
	"maps"
	"slices"

	"github.com/squadronctl/squadron/fleet"
	"github.com/squadronctl/squadron/internal/errmask"
)

// GetStatus implements Controller.
func (c *controller) GetStatus(ctx context.Context, req Request) ([]fleet.UnitStatus, error) {
	const operation = "get the status of group %s"
	ctx, leave, err := c.enter(ctx)
	if err != nil {
		return nil, errmask.Maskf(err, operation, req.Group)
	}
	defer leave()
	req = req.clone()
	if err := validateSelection(req); err != nil {
		return nil, err
	}
	found, err := c.find(ctx, req, false)
	if err != nil {
		return nil, errmask.Maskf(err, operation, req.Group)
	}
	statuses := make([]fleet.UnitStatus, 0, len(found))
	for _, detail := range found {
		statuses = append(statuses, cloneStatus(detail.UnitStatus))
	}
	return statuses, nil
}

// cloneStatus copies what a shared look holds before it is given away.
func cloneStatus(status fleet.UnitStatus) fleet.UnitStatus {
	status.Machine = slices.Clone(status.Machine)
	for i, machine := range status.Machine {
		status.Machine[i].IP = slices.Clone(machine.IP)
	}
	return status
}

// ExtendWithExistingSliceIDs implements Controller.
func (c *controller) ExtendWithExistingSliceIDs(req Request) (Request, error) {
	const operation = "find the slices of group %s"
	ctx, leave, err := c.enter(context.Background()) // discover has a time limit of its own
	if err != nil {
		return Request{}, errmask.Maskf(err, operation, req.Group)
	}
	defer leave()
	extended := req.clone()
	extended.SliceIDs = nil // those found take their place, whatever was there
	if err := validateSelection(extended); err != nil {
		return Request{}, err
	}
	found, err := c.discover(ctx, fleet.Selector{Groups: []string{req.Group}}, newSelection(extended).inGroup)
	if err != nil {
		return Request{}, errmask.Maskf(err, operation, req.Group)
	}
	extended.SliceIDs = sliceIDsOf(found)
	return extended, nil
}

// sliceIDsOf gives the IDs of the slices that the units are of, sorted, and never nil.
func sliceIDsOf(details []fleet.UnitDetail) []string {
	ids := []string{}
	for _, detail := range details {
		if id := sliceOf(detail.Name); id != "" {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// GroupNeedsUpdate implements Controller.
func (c *controller) GroupNeedsUpdate(ctx context.Context, req Request) (Request, bool, error) {
	const operation = "compare group %s"
	ctx, leave, err := c.enter(ctx)
	if err != nil {
		return req, false, errmask.Maskf(err, operation, req.Group)
	}
	defer leave()
	wanted := req.clone()
	if err := validateComparison(wanted); err != nil {
		return req, false, err
	}
	files := unitFiles{}
	wanted, err = c.stamped(wanted, files)
	if err != nil {
		return req, false, err
	}
	content, err := newGroupContent(wanted, files)
	if err != nil {
		return req, false, err
	}
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
	found, err := c.discover(ctx, fleet.Selector{Groups: []string{content.group}}, near(content.group))
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
