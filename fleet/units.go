package fleet

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"unicode/utf8"

	"github.com/squadronctl/squadron/internal/errmask"
)

// Submit creates the unit, or replaces its content, with desired state loaded. A name or a content that can't be one
// gives an error for which IsInvalidRequest is true, before anything is sent or from the server.
func (c *Client) Submit(ctx context.Context, name, content string) error {
	return errmask.Maskf(c.create(ctx, name, content, stateLoaded), "submit %s", short(name))
}

// SubmitLaunched does what Submit does, with desired state launched.
func (c *Client) SubmitLaunched(ctx context.Context, name, content string) error {
	return errmask.Maskf(c.create(ctx, name, content, stateLaunched), "submit %s launched", short(name))
}

// Start sets the unit's desired state to launched.
func (c *Client) Start(ctx context.Context, name string) error {
	return errmask.Maskf(c.setState(ctx, name, stateLaunched), "start %s", short(name))
}

// Stop sets the unit's desired state to loaded.
func (c *Client) Stop(ctx context.Context, name string) error {
	return errmask.Maskf(c.setState(ctx, name, stateLoaded), "stop %s", short(name))
}

// Destroy removes the unit. It has succeeded, too, when the unit is no longer there after an attempt whose outcome was
// not known; a unit that was not there at the first attempt gives an error for which IsUnitNotFound is true.
func (c *Client) Destroy(ctx context.Context, name string) error {
	err := checkName(name)
	if err == nil {
		err = c.do(ctx, request{
			method:   http.MethodDelete,
			resource: "units",
			unit:     name,
			success:  []int{http.StatusNoContent},
		})
	}
	return errmask.Maskf(err, "destroy %s", short(name))
}

// ReadContent gives the unit file's text in its canonical serialisation.
func (c *Client) ReadContent(ctx context.Context, name string) (string, error) {
	unit, err := c.readUnit(ctx, name)
	if err != nil {
		return "", errmask.Maskf(err, "read content of %s", short(name))
	}
	return serialize(fromWire(unit.Options)), nil
}

func (c *Client) create(ctx context.Context, name, content, state string) error {
	if err := checkWritable(name, content); err != nil {
		return err
	}
	options, err := parseContent(content)
	if err != nil {
		return err
	}
	return c.put(ctx, name, wireUnit{Options: toWire(options), DesiredState: state})
}

// checkWritable refuses what fleet's API takes and fleet can't live with: a template, which keeps the agent of its machine
// from doing anything until somebody clears it away by hand, and text that JSON does not carry unchanged.
func checkWritable(name, content string) error {
	switch {
	case strings.Contains(name, "@."):
		return withClass(errInvalidRequest, fmt.Errorf("unit name %s is a template: put a slice ID behind the @", short(name)))
	case !utf8.ValidString(content):
		return withClass(errInvalidRequest, errors.New("the unit file is not valid UTF-8"))
	}
	return nil
}

// setState writes nothing but a desired state. fleet answers 409 to that for exactly one reason: there is no such unit,
// and no options to make one of.
func (c *Client) setState(ctx context.Context, name, state string) error {
	err := c.put(ctx, name, wireUnit{DesiredState: state})
	if IsConflict(err) {
		return withClass(errUnitNotFound, err)
	}
	return err
}

func (c *Client) put(ctx context.Context, name string, unit wireUnit) error {
	if err := checkName(name); err != nil {
		return err
	}
	return c.do(ctx, request{
		method:   http.MethodPut,
		resource: "units",
		unit:     name,
		body:     unit,
		success:  []int{http.StatusCreated, http.StatusNoContent},
	})
}

// readUnit reads one unit as fleet keeps it.
func (c *Client) readUnit(ctx context.Context, name string) (wireUnit, error) {
	if err := checkName(name); err != nil {
		return wireUnit{}, err
	}
	var unit wireUnit
	err := c.getUnit(ctx, name, func(body []byte) error {
		if err := decode(body, &unit); err != nil {
			return err
		}
		return answersFor(name, unit.Name)
	})
	return unit, err
}

func (c *Client) getUnit(ctx context.Context, name string, take func(body []byte) error) error {
	return c.do(ctx, request{
		method:   http.MethodGet,
		resource: "units",
		unit:     name,
		success:  []int{http.StatusOK},
		take:     take,
	})
}

// answersFor says whether an answer is about the unit that was asked for.
func answersFor(asked, answered string) error {
	if answered != asked {
		return withClass(errInvalidUnitStatus, fmt.Errorf("the answer is about unit %s", short(answered)))
	}
	return nil
}

// short gives a name as messages may show it.
func short(name string) string {
	if checkName(name) == nil {
		return name
	}
	if len(name) > maxNameSize {
		name = name[:32] + "…"
	}
	return fmt.Sprintf("%q", name)
}
