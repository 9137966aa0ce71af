package fleettest

import (
	"errors"
	"fmt"
	"net/http"

	"github.com/coreos/go-systemd/v22/unit"
)

// apiUnit is a unit in the API's JSON.
type apiUnit struct {
	CurrentState string      `json:"currentState,omitempty"`
	DesiredState string      `json:"desiredState,omitempty"`
	MachineID    string      `json:"machineID,omitempty"`
	Name         string      `json:"name,omitempty"`
	Options      []apiOption `json:"options,omitempty"`
}

type apiOption struct {
	Name    string `json:"name,omitempty"`
	Section string `json:"section,omitempty"`
	Value   string `json:"value,omitempty"`
}

type unitPage struct {
	NextPageToken string    `json:"nextPageToken,omitempty"`
	Units         []apiUnit `json:"units,omitempty"`
}

func toAPIOptions(options []*unit.UnitOption) []apiOption {
	converted := make([]apiOption, len(options))
	for i, option := range options {
		converted[i] = apiOption{Section: option.Section, Name: option.Name, Value: option.Value}
	}
	return converted
}

func fromAPIOptions(options []apiOption) []*unit.UnitOption {
	converted := make([]*unit.UnitOption, len(options))
	for i, option := range options {
		converted[i] = &unit.UnitOption{Section: option.Section, Name: option.Name, Value: option.Value}
	}
	return converted
}

func (c *Cluster) serveUnits(r *http.Request, _ string) (answer, *apiError) {
	if r.Method != http.MethodGet {
		return answer{}, onlySupported("GET")
	}
	page, err := pageOf(r.URL.Query(), c.config.PageLimit)
	if err != nil {
		return answer{}, refuse(http.StatusBadRequest, err)
	}
	var body unitPage
	c.locked(func() {
		names, next := cutPage(c.names, page, c.config.PageLimit)
		for _, name := range names {
			body.Units = append(body.Units, c.toAPI(c.units[name]))
		}
		body.NextPageToken = next
	})
	return answer{code: http.StatusOK, body: body}, nil
}

func (c *Cluster) toAPI(u *clusterUnit) apiUnit {
	return apiUnit{
		Name: u.name, Options: toAPIOptions(u.file.options),
		DesiredState: u.desired, CurrentState: u.current, MachineID: u.target,
	}
}

func (c *Cluster) serveUnit(r *http.Request, item string) (answer, *apiError) {
	switch r.Method {
	case http.MethodGet:
		return c.getUnit(item)
	case http.MethodPut:
		return c.setUnit(r, item)
	case http.MethodDelete:
		return c.deleteUnit(item)
	default:
		return answer{}, onlySupported("GET, PUT and DELETE")
	}
}

var errNoUnit = errors.New("unit does not exist")

func (c *Cluster) getUnit(name string) (answer, *apiError) {
	var body apiUnit
	var problem *apiError
	c.locked(func() {
		u := c.units[name]
		if problem = c.readable(name); problem != nil {
			return
		}
		body = c.toAPI(u)
		if u.needs.global {
			body.CurrentState = ""
		}
	})
	return answer{code: http.StatusOK, body: body}, problem
}

// readable says why a unit can't be read, nil where it can.
func (c *Cluster) readable(name string) *apiError {
	switch {
	case c.spoiled[name]:
		return errInternal
	case c.units[name] == nil:
		return refuse(http.StatusNotFound, errNoUnit)
	default:
		return nil
	}
}

func (c *Cluster) deleteUnit(name string) (answer, *apiError) {
	var problem *apiError
	c.locked(func() {
		if problem = c.readable(name); problem == nil {
			c.destroy(c.units[name])
		}
	})
	return answer{code: http.StatusNoContent}, problem
}

// setUnit reads a PUT and checks what can be checked without the cluster.
func (c *Cluster) setUnit(r *http.Request, item string) (answer, *apiError) {
	if err := checkContentType(r); err != nil {
		return answer{}, refuse(http.StatusUnsupportedMediaType, err)
	}
	var wanted apiUnit
	if err := decode(r, &wanted); err != nil {
		return answer{}, refuse(http.StatusBadRequest, fmt.Errorf("unable to decode body: %s", asFleetd(err)))
	}
	if wanted.Name == "" {
		wanted.Name = item
	}
	if wanted.Name != item {
		return answer{}, refuse(http.StatusBadRequest,
			fmt.Errorf("name in URL %q differs from unit name in request body %q", item, wanted.Name))
	}
	var code int
	var problem *apiError
	c.locked(func() { code, problem = c.putUnit(wanted) })
	return answer{code: code}, problem
}

// putUnit creates a unit, replaces it, or sets its desired state, as a PUT of it does.
func (c *Cluster) putUnit(wanted apiUnit) (int, *apiError) {
	if err := checkName(wanted.Name); err != nil {
		return 0, refuse(http.StatusBadRequest, err)
	}
	file := newUnitFile(fromAPIOptions(wanted.Options))
	known := c.units[wanted.Name]
	switch {
	case c.spoiled[wanted.Name]:
		return 0, errInternal
	case known == nil && len(wanted.Options) == 0:
		return 0, refuse(http.StatusConflict, errors.New("unit does not exist and options field empty"))
	case known == nil:
		if err := checkOptions(file); err != nil {
			return 0, refuse(http.StatusBadRequest, err)
		}
		return c.createUnit(wanted, file)
	case len(wanted.Options) > 0 && file.hash != known.file.hash:
		// Options that replace others are not checked, which is a fleetd's own fault.
		return c.createUnit(wanted, file)
	default:
		return c.updateUnit(known, wanted.DesiredState)
	}
}

func (c *Cluster) createUnit(wanted apiUnit, file unitFile) (int, *apiError) {
	desired := wanted.DesiredState
	if desired == "" {
		desired = inactive
	}
	if !isDesiredState(desired) {
		return 0, errInternal
	}
	stored, err := file.stored()
	if err != nil {
		c.spoil(c.units[wanted.Name]) // a new unit's options were checked, so there is one
		return http.StatusCreated, nil
	}
	c.put(wanted.Name, stored, desired)
	return http.StatusCreated, nil
}

func (c *Cluster) updateUnit(u *clusterUnit, desired string) (int, *apiError) {
	if desired == "" {
		return 0, refuse(http.StatusConflict, errors.New("must provide DesiredState to update existing unit"))
	}
	if isTemplate(u.name) && desired != inactive {
		return 0, refuse(http.StatusBadRequest, fmt.Errorf("cannot activate template %q", u.name))
	}
	if !isDesiredState(desired) {
		// A fleetd writes what it can't read again.
		c.spoil(u)
		return http.StatusNoContent, nil
	}
	c.setDesired(u, desired)
	return http.StatusNoContent, nil
}

func isDesiredState(state string) bool {
	return state == inactive || state == loaded || state == launched
}
