package controller

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/squadronctl/squadron/fleet"
)

// belongs reports whether a unit is one of the group's (R1): its stamp decides where it carries one, and its name where
// it does not.
func belongs(d fleet.UnitDetail, group string) bool {
	if d.Stamped {
		return d.Group == group
	}
	return hasGroupPrefix(d.Name, group)
}

// hasGroupPrefix reports whether a name begins with the group's name and goes on with a character that is no letter or
// digit (R1), so that the group web has web-app@1.service and web.service, but not webhook.service.
func hasGroupPrefix(name, group string) bool {
	rest, found := strings.CutPrefix(name, group)
	if !found || group == "" || rest == "" {
		return false
	}
	next, _ := utf8.DecodeRuneInString(rest)
	return !unicode.IsLetter(next) && !unicode.IsDigit(next)
}

// near is true of the group's units and of those that are named alike. A shared look also has what others asked for.
func near(group string) func(fleet.UnitDetail) bool {
	return func(detail fleet.UnitDetail) bool {
		return strings.HasPrefix(detail.Name, group) || (detail.Stamped && detail.Group == group)
	}
}
