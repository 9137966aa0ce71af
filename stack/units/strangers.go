package units

import (
	"fmt"
	"slices"
	"strings"

	"github.com/squadronctl/squadron/controller"
	"github.com/squadronctl/squadron/fleet"
)

// strangers are the units that are there under the stack's name and are not the owner's.
func (d *deployment) strangers(near []fleet.UnitDetail) []fleet.UnitDetail {
	nothingThere := !slices.ContainsFunc(near, d.isOurs)
	var strangers []fleet.UnitDetail
	for _, detail := range near {
		_, declared := d.hashes[baseOf(detail.Name)]
		switch {
		case d.isOurs(detail):
		case isOf(detail, d.req.Name), declared, nothingThere && !detail.Stamped && isNamedLike(detail.Name, d.req.Name):
			strangers = append(strangers, detail)
		}
	}
	return strangers
}

func (d *deployment) isOurs(detail fleet.UnitDetail) bool {
	return isOf(detail, d.req.Name) && detail.Owner == d.req.Owner
}

// isNamedLike says whether a unit without stamp belongs to a group by its name.
func isNamedLike(unit, group string) bool {
	request := requestFor(group)
	request.Units = []controller.Unit{{Name: unit}}
	_, err := controller.ValidateRequest(request)
	return !controller.IsBadUnitPrefix(err)
}

// strangersShown is how many units an error names.
const strangersShown = 5

// listStrangers names units, and whose they are.
func listStrangers(strangers []fleet.UnitDetail) string {
	var parts []string
	for i, detail := range strangers {
		if i == strangersShown {
			parts = append(parts, fmt.Sprintf("and %d more", len(strangers)-i))
			break
		}
		switch {
		case !detail.Stamped:
			parts = append(parts, detail.Name+" carries no stamp")
		case detail.Owner == "":
			parts = append(parts, fmt.Sprintf("%s is of group %s, which no stack owns", detail.Name, detail.Group))
		default:
			parts = append(parts, fmt.Sprintf("%s is of stack %s, owned by %q", detail.Name, detail.Group, detail.Owner))
		}
	}
	return strings.Join(parts, "; ")
}
