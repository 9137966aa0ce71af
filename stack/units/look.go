package units

import (
	"context"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/squadronctl/squadron/fleet"
	"github.com/squadronctl/squadron/internal/errmask"
	"github.com/squadronctl/squadron/validator"
)

// settleLooks is after how many listings that differ their union is asked for name by name.
const settleLooks = 5

// look gives the units that the selector takes, sorted by name, and maybe more. A listing over several pages proves neither
// presence nor absence, since pages shift; so two in a row have to name the same units, and when five don't, each name seen is
// asked for (R20a).
func (c *core) look(ctx context.Context, selector fleet.Selector) ([]fleet.UnitDetail, error) {
	const operation = "look at the cluster"
	ctx, cancel := context.WithTimeout(ctx, c.config.WaitTimeout)
	defer cancel()
	var before, union []string
	for attempt := range settleLooks {
		listing, err := c.read(ctx, selector)
		if err != nil {
			return nil, errmask.Maskf(err, operation)
		}
		names := namesOf(listing.Units)
		if listing.Whole || attempt > 0 && slices.Equal(names, before) {
			return listing.Units, nil
		}
		before = names
		union = append(union, names...)
	}
	slices.Sort(union)
	listing, err := c.read(ctx, fleet.Selector{Names: slices.Compact(union), Exact: true})
	return listing.Units, errmask.Maskf(err, operation)
}

// read makes one listing. A panic of the backend is its error; the stack goes to the log.
func (c *core) read(ctx context.Context, selector fleet.Selector) (listing fleet.Listing, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("the backend panicked: %v", r)
			c.logger.Critical(ctx, "read units: %v\n%s", err, debug.Stack())
		}
	}()
	return c.reader.ReadUnits(ctx, selector)
}

// lookAtStack gives the units that carry a stack's stamp.
func (c *core) lookAtStack(ctx context.Context, name string) ([]fleet.UnitDetail, error) {
	found, err := c.look(ctx, fleet.Selector{Groups: []string{name}})
	if err != nil {
		return nil, err
	}
	return ofStack(found, name), nil
}

// ofStack gives those units that carry a stack's stamp.
func ofStack(found []fleet.UnitDetail, name string) []fleet.UnitDetail {
	var units []fleet.UnitDetail
	for _, detail := range found {
		if isOf(detail, name) {
			units = append(units, detail)
		}
	}
	return units
}

func isOf(detail fleet.UnitDetail, name string) bool { return detail.Stamped && detail.Group == name }

func namesOf(details []fleet.UnitDetail) []string {
	names := make([]string, 0, len(details))
	for _, detail := range details {
		names = append(names, detail.Name)
	}
	return names
}

// splitName takes a unit's name apart: web-app@3f1.service is slice 3f1 of web-app@.service. A unit without slice is its own
// base.
func splitName(name string) (base, sliceID string) {
	stem, suffix := validator.SplitSuffix(name)
	prefix, sliceID, sliced := strings.Cut(stem, "@")
	if !sliced {
		return name, ""
	}
	return prefix + "@" + suffix, sliceID
}

func baseOf(name string) string {
	base, _ := splitName(name)
	return base
}
