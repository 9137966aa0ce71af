package controller

import (
	"fmt"
	"strings"

	"github.com/squadronctl/squadron/internal/errmask"
	"github.com/squadronctl/squadron/validator"
)

// validateUnitFiles checks the units of a request that is to be written (R4): their names as they will be with slice
// IDs, and their contents. Each unit is looked at once, however many slices there are. Every fault is
// IsInvalidArgument.
func validateUnitFiles(request Request) []error {
	var faults []error
	longest := longestID(request)
	for _, unit := range request.Units {
		faults = append(faults, validateUnitName(unit.Name, longest)...)
		for _, finding := range validator.UnitFileFindings(unit.Name, unit.Content) {
			faults = append(faults, fmt.Errorf("%w: %w", errInvalidArgument, finding))
		}
	}
	return faults
}

// validateUnitName holds a name against fleet's rules. The slice IDs' characters have been looked at elsewhere.
func validateUnitName(name string, longest int) []error {
	if err := validator.TemplateName(name); err != nil {
		return []error{fmt.Errorf("%w: %w", errInvalidArgument, err)}
	}
	if err := validator.AgentRuns(name); err != nil {
		return []error{fmt.Errorf("%w: %w", errInvalidArgument, err)}
	}
	stem, _ := validator.SplitSuffix(name)
	at := strings.Index(stem, "@")
	switch {
	case isTemplate(name) && at != len(stem)-1:
		return []error{errmask.Maskf(errInvalidArgument, "unit %.256q: the @. does not stand before the suffix", name)}
	case isTemplate(name) && len(name)+longest > validator.MaxNameLength:
		return []error{errmask.Maskf(errInvalidArgument,
			"unit %.256q: with its slice ID the name has %d bytes, but may have %d at most",
			name, len(name)+longest, validator.MaxNameLength)}
	}
	return nil
}

// longestID is how many bytes the longest slice ID of a request has.
func longestID(request Request) int {
	longest := minIDLength
	for _, id := range request.SliceIDs {
		longest = max(longest, len(id))
	}
	if request.DesiredSlices > 0 {
		longest = max(longest, maxIDLength)
	}
	return longest
}
