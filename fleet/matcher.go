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
	// readsAtOnce is how many units are asked for side by side.
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
		found, err := c.lookAt(ctx)
		if err != nil {
			return nil, err
		}
		names := found.names(matcher)
		if found.whole || looks > 0 && slices.Equal(names, before) {
			return found.statuses(names), nil
		}
		before = names
		union = append(union, names...)
	}
	details, _, err := c.readByName(ctx, union)
	if err != nil {
		return nil, err
	}
	statuses := make([]UnitStatus, 0, len(details))
	for _, detail := range details {
		statuses = append(statuses, detail.UnitStatus)
	}
	return statuses, nil
}

// names lists, in order, the units of a look that match.
func (l look) names(matcher func(string) bool) []string {
	var names []string
	for name := range l.units {
		if matcher(name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

func (l look) statuses(names []string) []UnitStatus {
	statuses := make([]UnitStatus, 0, len(names))
	for _, name := range names {
		statuses = append(statuses, l.detail(l.units[name]).UnitStatus)
	}
	return statuses
}
