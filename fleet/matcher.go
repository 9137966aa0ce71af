package fleet

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/squadronctl/squadron/internal/errmask"
)

const (
	// matcherTimeout is how long GetStatusWithMatcher may take, which has no context to say so.
	matcherTimeout = 2 * time.Minute
	// settleLooks is how many looks may differ before units are asked for by name.
	settleLooks = 5
	// readsAtOnce is how many requests for units by name, and how many for the pages of one list, run side by side.
	readsAtOnce = 8
)

// GetStatusWithMatcher reads the status of all units for whose names the matcher is true, sorted by name. A cluster of
// more than one page of units is looked at until two looks in a row name the same ones, since pages shift; after five that
// differ, each unit seen is asked for by name. It gives up after two minutes with an error of IsTemporary.
func (c *Client) GetStatusWithMatcher(matcher func(string) bool) ([]UnitStatus, error) {
	if matcher == nil {
		return nil, withClass(errInvalidRequest, errors.New("get status of matching units: no matcher"))
	}
	ctx, cancel := context.WithTimeout(context.Background(), matcherTimeout)
	defer cancel()
	found, err := c.settle(ctx, matcher)
	if err != nil {
		err = errmask.Maskf(err, "get status of matching units")
		if ctx.Err() != nil {
			err = AsTemporary(err)
		}
		return nil, err
	}
	if len(found) == 0 {
		return nil, errmask.Maskf(errUnitNotFound, "get status of matching units")
	}
	return found, nil
}

// settle looks until it can be believed which units match.
func (c *Client) settle(ctx context.Context, matcher func(string) bool) ([]UnitStatus, error) {
	var before []string
	var union []string
	for looks := range settleLooks {
		found, current, err := c.lookAt(ctx, Selector{})
		if err != nil {
			return nil, err
		}
		found.keep(matcher)
		names := found.names()
		if found.whole || looks > 0 && slices.Equal(names, before) {
			return c.statuses(ctx, found, current)
		}
		before = names
		union = append(union, names...)
	}
	slices.Sort(union)
	found, _, err := c.readByName(ctx, slices.Compact(union))
	if err != nil {
		return nil, err
	}
	return c.statuses(ctx, found, true)
}

// keep drops the units that don't match.
func (l *look) keep(matcher func(string) bool) {
	l.units = slices.DeleteFunc(l.units, func(unit unitEntry) bool { return !matcher(unit.name) })
}

func (l look) names() []string {
	names := make([]string, 0, len(l.units))
	for i := range l.units {
		names = append(names, l.units[i].name)
	}
	return names
}

// statuses gives the statuses of a look's units. current says that the machines were listed beside the look.
func (c *Client) statuses(ctx context.Context, found look, current bool) ([]UnitStatus, error) {
	found, err := c.withMachines(ctx, found, current)
	if err != nil {
		return nil, err
	}
	statuses := make([]UnitStatus, 0, len(found.units))
	for i := range found.units {
		statuses = append(statuses, found.detail(&found.units[i]).UnitStatus)
	}
	return statuses, nil
}
