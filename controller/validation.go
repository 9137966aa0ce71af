package controller

import (
	"fmt"
	"slices"
	"strings"

	"github.com/squadronctl/squadron/internal/errmask"
	"github.com/squadronctl/squadron/validator"
)

// maxGroupLength leaves room in a unit's name for the shortest suffix.
const maxGroupLength = validator.MaxNameLength - len(".path")

// ValidateRequest checks a request by itself, without a look at the cluster. It gives true and nil, or false and a
// ValidationError, by value, with every fault:
//
//   - no units (IsNoUnitsInGroup); units with and without "@." mixed (IsMixedSliceInstance);
//   - @ in the group's name (IsAtInGroupNameError);
//   - a unit whose name does not begin with the group's name and then a character that is no letter or digit
//     (IsBadUnitPrefix), has more than one @ (IsMultipleAtInUnitName), or is another unit's too (IsUnitsSameName);
//   - a group name that is empty or can't be part of a unit name, a slice ID that is empty, repeated, or can't be part
//     of a unit name, a DesiredSlices that is negative or over 1,048,576, and a template that has no place for a slice
//     ID (all IsInvalidArgument).
//
// Contents are not looked at: Submit and Update check them, and unit names by fleet's rules, before the first write.
func ValidateRequest(request Request) (bool, error) {
	err := validateRequest(request).orNil()
	return err == nil, err
}

// ValidateSubmitRequest checks a request as Submit needs it. Of DesiredSlices and SliceIDs exactly one must be given:
// IsInvalidSubmitRequestNoSliceIDsGiven or IsInvalidSubmitRequestSlicesGiven is true otherwise, and nothing else is
// looked at. Then it checks as ValidateRequest does, and that a group without slices, of which there is one copy, comes
// with DesiredSlices 1 and no SliceIDs (IsInvalidArgument). The result is that of ValidateRequest.
func ValidateSubmitRequest(request Request) (bool, error) {
	err := validateSubmitRequest(request).orNil()
	return err == nil, err
}

// ValidateMultipleRequest checks that requests can go to one cluster together: no two are for groups of one name
// (IsGroupsSameName), and no group's name is a prefix of another's (IsGroupsArePrefix). The requests themselves are not
// looked at. The result is that of ValidateRequest.
func ValidateMultipleRequest(requests []Request) (bool, error) {
	var faults ValidationError
	names := make([]string, 0, len(requests))
	for _, request := range requests {
		names = append(names, request.Group)
	}
	slices.Sort(names)
	names, repeated := compact(names)
	for _, name := range repeated {
		faults.Add(errmask.Maskf(errGroupsSameName, "group %.256q", name))
	}
	// In sorted order, all names that begin with one follow it at once.
	for i := 1; i < len(names); i++ {
		if strings.HasPrefix(names[i], names[i-1]) {
			faults.Add(errmask.Maskf(errGroupsArePrefix, "groups %.256q and %.256q", names[i-1], names[i]))
		}
	}
	err := faults.orNil()
	return err == nil, err
}

// validateSubmit is all that Submit checks before it makes a task: the request, and its units by R4.
func validateSubmit(request Request) error {
	faults := validateSubmitRequest(request)
	faults.addAll(validateUnitFiles(request)...)
	return faults.orNil()
}

// validateUpdate is what Update checks of its request: the request, and its units by R4. The number of slices may be left
// open.
func validateUpdate(request Request) error {
	faults := validateRequest(request)
	faults.addAll(validateInstanceGroup(request)...)
	faults.addAll(validateTemplates(request)...)
	faults.addAll(validateUnitFiles(request)...)
	return faults.orNil()
}

// validateComparison is what a request is checked for that is only compared with the cluster.
func validateComparison(request Request) error {
	faults := validateRequest(request)
	faults.addAll(validateTemplates(request)...)
	return faults.orNil()
}

// validateTemplates refuses units of single slices where a request says what every slice is made of.
func validateTemplates(request Request) []error {
	var faults []error
	for _, unit := range request.Units {
		if strings.Contains(unit.Name, "@") && !isTemplate(unit.Name) {
			faults = append(faults, errmask.Maskf(errInvalidArgument,
				"unit %.256q is of one slice: give the template, as in web@.service, and the slice's ID in SliceIDs", unit.Name))
		}
	}
	return faults
}

// validateSelection checks a request that only says which units it is about: one without units means the whole group.
func validateSelection(request Request) error {
	faults := ValidationError{CausingErrors: validateNames(request)}
	return faults.orNil()
}

func validateRequest(request Request) *ValidationError {
	faults := &ValidationError{}
	if len(request.Units) == 0 {
		faults.Add(errmask.Maskf(errNoUnitsInGroup, "group %.256q", request.Group))
	}
	faults.addAll(validateNames(request)...)
	return faults
}

func validateSubmitRequest(request Request) *ValidationError {
	numberGiven, idsGiven := request.DesiredSlices != 0, len(request.SliceIDs) > 0
	if numberGiven == idsGiven {
		kind := errNoSliceIDsGiven
		if idsGiven {
			kind = errSlicesGiven
		}
		return &ValidationError{CausingErrors: []error{errmask.Maskf(kind, "group %.256q", request.Group)}}
	}
	faults := validateRequest(request)
	faults.addAll(validateInstanceGroup(request)...)
	return faults
}

// validateInstanceGroup checks that a group without slices is not asked for in several.
func validateInstanceGroup(request Request) []error {
	sliced := slices.ContainsFunc(request.Units, func(unit Unit) bool { return isTemplate(unit.Name) })
	if sliced || len(request.Units) == 0 || (request.DesiredSlices <= 1 && len(request.SliceIDs) == 0) {
		return nil
	}
	for _, unit := range request.Units {
		if strings.Contains(unit.Name, "@") {
			return []error{errmask.Maskf(errInvalidArgument,
				"unit %.256q has a slice ID already: give the template, as in web@.service, with SliceIDs or DesiredSlices", unit.Name)}
		}
	}
	return []error{errmask.Maskf(errInvalidArgument,
		"group %.256q has no slices, so it takes DesiredSlices 1 and no SliceIDs", request.Group)}
}

// validateNames checks all of a request but its contents.
func validateNames(request Request) []error {
	faults := validateGroup(request.Group)
	faults = append(faults, validateSlices(request)...)
	return append(faults, validateUnitNames(request)...)
}

func validateGroup(group string) []error {
	var faults []error
	if strings.Contains(group, "@") {
		faults = append(faults, errmask.Maskf(errAtInGroupName, "group %.256q", group))
	}
	switch {
	case group == "":
		faults = append(faults, errmask.Maskf(errInvalidArgument, "the group's name is empty"))
	case len(group) > maxGroupLength:
		faults = append(faults, errmask.Maskf(errInvalidArgument,
			"the group's name has %d bytes, but may have %d at most", len(group), maxGroupLength))
	default:
		if err := validator.NamePart(group); err != nil {
			faults = append(faults, fmt.Errorf("group %.256q: %w: %w", group, errInvalidArgument, err))
		}
	}
	return faults
}

func validateSlices(request Request) []error {
	var faults []error
	if request.DesiredSlices < 0 || request.DesiredSlices > maxSlices {
		faults = append(faults, errmask.Maskf(errInvalidArgument,
			"DesiredSlices is %d, but must be from 0 to %d", request.DesiredSlices, maxSlices))
	}
	for _, id := range request.SliceIDs {
		switch err := validator.NamePart(id); {
		case id == "":
			faults = append(faults, errmask.Maskf(errInvalidArgument, "a slice ID is empty"))
		case strings.Contains(id, "@"):
			faults = append(faults, errmask.Maskf(errInvalidArgument, "slice ID %.256q contains @", id))
		case err != nil:
			faults = append(faults, fmt.Errorf("slice ID %.256q: %w: %w", id, errInvalidArgument, err))
		}
	}
	_, repeated := compact(slices.Sorted(slices.Values(request.SliceIDs)))
	for _, id := range repeated {
		faults = append(faults, errmask.Maskf(errInvalidArgument, "slice ID %.256q is given more than once", id))
	}
	return faults
}

func validateUnitNames(request Request) []error {
	var faults []error
	names := make([]string, 0, len(request.Units))
	for _, unit := range request.Units {
		names = append(names, unit.Name)
		if request.Group != "" && !hasGroupPrefix(unit.Name, request.Group) {
			faults = append(faults, errmask.Maskf(errBadUnitPrefix, "group %.256q: unit %.256q", request.Group, unit.Name))
		}
		if strings.Count(unit.Name, "@") > 1 {
			faults = append(faults, errmask.Maskf(errMultipleAtInUnitName, "unit %.256q", unit.Name))
		}
		if extends(request) && staysTemplate(unit.Name) {
			faults = append(faults, errmask.Maskf(errInvalidArgument,
				"unit %.256q is a template without a place for the slice ID", unit.Name))
		}
	}
	if !validator.StringsHaveOrNot(names, "@.") {
		faults = append(faults, errmask.Maskf(errMixedSliceInstance, "group %.256q", request.Group))
	}
	slices.Sort(names)
	_, repeated := compact(names)
	for _, name := range repeated {
		faults = append(faults, errmask.Maskf(errUnitsSameName, "unit %.256q", name))
	}
	return faults
}

// extends reports whether a request's templates are to be written out.
func extends(request Request) bool {
	return request.DesiredSlices > 0 || len(request.SliceIDs) > 0
}

// staysTemplate reports whether a name has no slice ID even after extension.
func staysTemplate(name string) bool {
	extended := extendName(name, "0")
	stem, _ := validator.SplitSuffix(extended)
	return isTemplate(extended) || strings.HasSuffix(stem, "@")
}

// compact gives a sorted list without repetition, and those that were repeated, each once.
func compact(sorted []string) (unique, repeated []string) {
	for i, item := range sorted {
		switch {
		case i == 0 || item != sorted[i-1]:
			unique = append(unique, item)
		case i == 1 || item != sorted[i-2]:
			repeated = append(repeated, item)
		}
	}
	return unique, repeated
}
