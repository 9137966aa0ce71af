package controller

import (
	"errors"

	"github.com/squadronctl/squadron/fleet"
	"github.com/squadronctl/squadron/internal/errmask"
)

// The kinds of errors that this package returns. Callers tell them apart by the predicates below.
var (
	errAmbiguousGroup       = errors.New("ambiguous group")
	errAtInGroupName        = errors.New("@ in group name")
	errBadUnitPrefix        = errors.New("unit name does not begin with the group's name")
	errContentChanged       = errors.New("somebody has changed the content meanwhile")
	errGroupBusy            = errors.New("group is busy")
	errGroupsArePrefix      = errors.New("one group's name is a prefix of another's")
	errGroupsSameName       = errors.New("groups of the same name")
	errInvalidArgument      = errors.New("invalid argument")
	errInvalidUnitStatus    = errors.New("invalid unit status")
	errMixedSliceInstance   = errors.New("units with and without @. mixed")
	errMultipleAtInUnitName = errors.New("more than one @ in unit name")
	errNoSliceIDsGiven      = errors.New("neither DesiredSlices nor SliceIDs given")
	errNothingToMakeOf      = errors.New("slices have gone meanwhile, and the request names no units to make others of")
	errNoUnitsInGroup       = errors.New("no units in group")
	errSlicesGiven          = errors.New("both DesiredSlices and SliceIDs given")
	errUnitConflict         = errors.New("unit exists with another content")
	errUnitFailed           = errors.New("unit failed")
	errUnitNotFound         = errors.New("unit not found")
	errUnitSliceNotFound    = errors.New("unit slice not found")
	errUnitsAlreadyUpToDate = errors.New("units already up to date")
	errUnitsSameName        = errors.New("units of the same name")
	errUpdateFailed         = errors.New("update failed")
	errUpdateNotAllowed     = errors.New("update not allowed")
	errWaitTimeoutReached   = errors.New("wait timeout reached")
)

// IsAmbiguousGroup is true for the refusal of an operation that names no units where those found can't be one group:
// sliced and unsliced units mixed, or two sliced bases that share no slice. Nothing has been changed then; a request
// that names its units resolves it.
func IsAmbiguousGroup(err error) bool { return errmask.Has(err, errAmbiguousGroup) }

// IsAtInGroupNameError is true for the refusal of a group name that contains @.
func IsAtInGroupNameError(err error) bool { return errmask.Has(err, errAtInGroupName) }

// IsBadUnitPrefix is true for the refusal of a unit whose name does not begin with the group's name followed by a
// character that is no letter or digit.
func IsBadUnitPrefix(err error) bool { return errmask.Has(err, errBadUnitPrefix) }

// IsGroupBusy is true for the refusal of a change to a group that an Update of this controller is working on, from the
// call, or to units of it that another group's name matches, from the task. The error names that Update's task. Nothing
// has been changed by what was refused.
func IsGroupBusy(err error) bool { return errmask.Has(err, errGroupBusy) }

// IsGroupsArePrefix is true when one group's name is a prefix of another's.
func IsGroupsArePrefix(err error) bool { return errmask.Has(err, errGroupsArePrefix) }

// IsGroupsSameName is true when two groups have one name.
func IsGroupsSameName(err error) bool { return errmask.Has(err, errGroupsSameName) }

// IsInvalidArgument is true for input that can't be right whatever the cluster's state is. The error says what was
// wrong with which value.
func IsInvalidArgument(err error) bool { return errmask.Has(err, errInvalidArgument) }

// IsInvalidSubmitRequestNoSliceIDsGiven is true for a request to submit that has neither DesiredSlices nor SliceIDs.
func IsInvalidSubmitRequestNoSliceIDsGiven(err error) bool {
	return errmask.Has(err, errNoSliceIDsGiven)
}

// IsInvalidSubmitRequestSlicesGiven is true for a request to submit that has both DesiredSlices and SliceIDs.
func IsInvalidSubmitRequestSlicesGiven(err error) bool { return errmask.Has(err, errSlicesGiven) }

// IsInvalidUnitStatus is true for a combination of fleet and systemd states that StatusIndex does not know, and for a
// unit status whose name can't be read.
func IsInvalidUnitStatus(err error) bool { return errmask.Has(err, errInvalidUnitStatus) }

// IsMixedSliceInstance is true for the refusal of a request that mixes units with and without "@.".
func IsMixedSliceInstance(err error) bool { return errmask.Has(err, errMixedSliceInstance) }

// IsMultipleAtInUnitName is true for the refusal of a unit name with more than one @.
func IsMultipleAtInUnitName(err error) bool { return errmask.Has(err, errMultipleAtInUnitName) }

// IsNoUnitsInGroup is true for the refusal of a request without units.
func IsNoUnitsInGroup(err error) bool { return errmask.Has(err, errNoUnitsInGroup) }

// IsUnitConflict is true when Submit found units of the request's names with another content. Nothing has been written
// then; Update replaces them.
func IsUnitConflict(err error) bool { return errmask.Has(err, errUnitConflict) }

// IsUnitFailed is true when a wait for running ended early because a unit failed. The error names the unit.
func IsUnitFailed(err error) bool { return errmask.Has(err, errUnitFailed) }

// IsUnitNotFound is true when the cluster has none of the units asked for, or lacks one that must be there. It is true
// for the backend's error of that name as well.
func IsUnitNotFound(err error) bool {
	return errmask.Has(err, errUnitNotFound) || fleet.IsUnitNotFound(err)
}

// IsUnitSliceNotFound is true when a slice that the request names is not on the cluster.
func IsUnitSliceNotFound(err error) bool { return errmask.Has(err, errUnitSliceNotFound) }

// IsUnitsAlreadyUpToDate is true when an Update found nothing to do.
func IsUnitsAlreadyUpToDate(err error) bool { return errmask.Has(err, errUnitsAlreadyUpToDate) }

// IsUnitsSameName is true for the refusal of a request with two units of one name.
func IsUnitsSameName(err error) bool { return errmask.Has(err, errUnitsSameName) }

// IsUpdateFailed is true when an Update began and could not be carried through. The error says which slices are new,
// which are old, and what went wrong.
func IsUpdateFailed(err error) bool { return errmask.Has(err, errUpdateFailed) }

// IsUpdateNotAllowed is true when an Update's options don't fit the group. Nothing has been changed then.
func IsUpdateNotAllowed(err error) bool { return errmask.Has(err, errUpdateNotAllowed) }

// IsWaitTimeoutReached is true when a wait ran out of Config.WaitTimeout. The error names what was missing.
func IsWaitTimeoutReached(err error) bool { return errmask.Has(err, errWaitTimeoutReached) }
