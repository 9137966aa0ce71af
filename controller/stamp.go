package controller

import (
	"strings"

	"github.com/squadronctl/squadron/fleet"
	"github.com/squadronctl/squadron/internal/errmask"
)

// stamped gives the request with the group's stamp in each unit, if Config.Stamp is set (R1). A unit that carries the
// stamp of another group is refused, with or without it: it would not be found again by this one.
func (c *controller) stamped(req Request) (Request, error) {
	var faults ValidationError
	for i, unit := range req.Units {
		detail, err := fleet.DetailOf(unit.Name, unit.Content)
		switch {
		case err != nil:
			faults.Add(errmask.Maskf(bothErrors{err, errInvalidArgument}, "unit %s", unit.Name))
		case detail.Stamped && detail.Group != req.Group:
			faults.Add(errmask.Maskf(errInvalidArgument, "unit %s carries the stamp of group %s", unit.Name, detail.Group))
		case c.config.Stamp && !detail.Stamped:
			req.Units[i].Content = withStamp(unit.Content, req.Group)
		}
	}
	if len(faults.CausingErrors) > 0 {
		return Request{}, faults
	}
	return req, nil
}

// withStamp appends the stamp to a unit file.
func withStamp(content, group string) string {
	return strings.TrimRight(content, "\n") + "\n\n[X-Squadron]\nGroup=" + group + "\n"
}
