package controller

import "github.com/squadronctl/squadron/fleet"

// belongs reports whether a unit is one of the group's (R1): its stamp decides where it carries one, and its name where
// it does not.
func belongs(d fleet.UnitDetail, group string) bool {
	if d.Stamped {
		return d.Group == group
	}
	return hasGroupPrefix(d.Name, group)
}
