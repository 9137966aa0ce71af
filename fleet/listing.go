package fleet

import (
	"context"
	"net/url"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/squadronctl/squadron/internal/errmask"
)

// look is what fleet said at one look, before units, states and machines are put together.
type look struct {
	units    map[string]wireUnit
	whole    bool
	states   map[string]map[string]wireState // by unit name, then machine ID
	machines []Machine
}

// ReadUnits makes one look at the cluster: the lists of units, of states and of machines, read side by side. With Exact,
// and for a selector that is but one name, each unit is read by its name instead, eight side by side, so that such a
// listing is always whole.
func (c *Client) ReadUnits(ctx context.Context, selector Selector) (Listing, error) {
	if len(selector.Groups) == 0 && (selector.Exact || len(selector.Names) == 1) {
		details, _, err := c.readByName(ctx, selector.Names)
		if err != nil {
			return Listing{}, errmask.Maskf(err, "read units by name")
		}
		return Listing{Units: details, Whole: true}, nil
	}
	found, err := c.lookAt(ctx)
	if err != nil {
		return Listing{}, errmask.Maskf(err, "read units")
	}
	return found.listing(selector), nil
}

// GetStatus reads one unit's status.
func (c *Client) GetStatus(ctx context.Context, name string) (UnitStatus, error) {
	detail, err := c.readDetail(ctx, name)
	if err != nil {
		return UnitStatus{}, errmask.Maskf(err, "get status of %s", short(name))
	}
	return detail.UnitStatus, nil
}

// readDetail looks at one unit by its name.
func (c *Client) readDetail(ctx context.Context, name string) (UnitDetail, error) {
	if err := checkName(name); err != nil {
		return UnitDetail{}, err
	}
	details, notFound, err := c.readByName(ctx, []string{name})
	switch {
	case err != nil:
		return UnitDetail{}, err
	case len(details) == 0:
		return UnitDetail{}, notFound
	}
	return details[0], nil
}

// readByName asks for each unit by its name, and gives those that are there, sorted, and an answer that said that one is
// not. The machines are listed once.
func (c *Client) readByName(ctx context.Context, names []string) (details []UnitDetail, notFound, err error) {
	names = slices.Compact(slices.Sorted(slices.Values(names)))
	for _, name := range names {
		if err := checkName(name); err != nil {
			return nil, nil, err
		}
	}
	var machines []Machine
	units := make([]wireUnit, len(names))
	missing := make([]error, len(names))
	states := make([]map[string]map[string]wireState, len(names))
	group, groupCtx := errgroup.WithContext(ctx)
	group.SetLimit(readsAtOnce)
	group.Go(func() (err error) {
		machines, err = c.readMachines(groupCtx)
		return err
	})
	for i, name := range names {
		group.Go(func() (err error) {
			units[i], err = c.readUnit(groupCtx, name)
			if IsUnitNotFound(err) {
				missing[i] = err
				return nil
			}
			return err
		})
		// Not /state/{name}: fleetd panics over a unit that has no state there.
		group.Go(func() (err error) {
			states[i], err = c.readStates(groupCtx, url.Values{"unitName": {name}})
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, nil, err
	}
	for i, unit := range units {
		if missing[i] != nil {
			notFound = missing[i]
			continue
		}
		details = append(details, look{states: states[i], machines: machines}.detail(unit))
	}
	return details, notFound, nil
}

func (c *Client) lookAt(ctx context.Context) (look, error) {
	var found look
	group, groupCtx := errgroup.WithContext(ctx)
	group.Go(func() (err error) {
		found.units, found.whole, err = c.readUnitList(groupCtx)
		return err
	})
	group.Go(func() (err error) {
		found.states, err = c.readStates(groupCtx, nil)
		return err
	})
	group.Go(func() (err error) {
		found.machines, err = c.readMachines(groupCtx)
		return err
	})
	return found, group.Wait()
}

// readUnitList lists the units. Pages shift, so an entry can come twice; the later one is the newer.
func (c *Client) readUnitList(ctx context.Context) (units map[string]wireUnit, whole bool, err error) {
	units = map[string]wireUnit{}
	pages, err := readPages(ctx, c, "units", nil, func(page unitPage) string {
		for _, unit := range page.Units {
			if unit.Name != "" {
				units[unit.Name] = unit
			}
		}
		return page.NextPageToken
	})
	return units, pages == 1, err
}

func (c *Client) readStates(ctx context.Context, query url.Values) (map[string]map[string]wireState, error) {
	states := map[string]map[string]wireState{}
	_, err := readPages(ctx, c, "state", query, func(page statePage) string {
		for _, state := range page.States {
			if state.Name == "" || state.MachineID == "" {
				continue
			}
			if states[state.Name] == nil {
				states[state.Name] = map[string]wireState{}
			}
			states[state.Name][state.MachineID] = state
		}
		return page.NextPageToken
	})
	return states, err
}
