package controller

import (
	"fmt"
	"strings"

	"github.com/squadronctl/squadron/validator"
)

// unitName is a unit's name taken apart.
type unitName struct {
	// base is the name without slice ID, suffix kept: web-app@.service, db.timer. It keeps the @ of a sliced unit, so
	// that web@1.service and web.service have two bases.
	base string
	// sliceID is what stands between @ and the suffix; empty for an unsliced unit and for a template.
	sliceID string
}

// parseUnitName takes a unit's name apart. A slice ID may contain dots and dashes. Only a unit type that fleet knows
// counts as suffix, so that in a name without one all that follows @ is the slice ID: 10.0.0.7 in ovs@10.0.0.7.
func parseUnitName(name string) (unitName, error) {
	stem, suffix := validator.SplitSuffix(name)
	if stem == "" {
		return unitName{}, fmt.Errorf("unit name %.256q has nothing before its suffix", name)
	}
	prefix, sliceID, sliced := strings.Cut(stem, "@")
	switch {
	case !sliced:
		return unitName{base: name}, nil
	case prefix == "":
		return unitName{}, fmt.Errorf("unit name %.256q begins with @", name)
	case strings.Contains(sliceID, "@"):
		return unitName{}, fmt.Errorf("unit name %.256q: %w", name, errMultipleAtInUnitName)
	}
	return unitName{base: prefix + "@" + suffix, sliceID: sliceID}, nil
}

// isTemplate reports whether a name stands for one unit in each slice: its slice ID is yet to be put in.
func isTemplate(name string) bool {
	return strings.Contains(name, "@.")
}
