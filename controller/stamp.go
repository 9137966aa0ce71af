package controller

import (
	"strings"

	"github.com/squadronctl/squadron/internal/errmask"
)

// stamped gives the request with the group's stamp in each unit, if Config.Stamp is set (R1). A unit that carries the
// stamp of another group is refused, with or without it: it would not be found again by this one. What was read of the
// contents goes into files.
func (c *controller) stamped(req Request, files unitFiles) (Request, error) {
	var faults ValidationError
	for i, unit := range req.Units {
		file, err := files.of(unit.Content)
		switch {
		case err != nil:
			faults.Add(errmask.Maskf(bothErrors{err, errInvalidArgument}, "unit %s", unit.Name))
		case file.stamped && file.group != req.Group:
			faults.Add(errmask.Maskf(errInvalidArgument, "unit %s carries the stamp of group %s", unit.Name, file.group))
		case c.config.Stamp && !file.stamped:
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
