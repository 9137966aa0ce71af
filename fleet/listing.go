package fleet

import (
	"context"
	"net/url"

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

// ReadUnits makes one look at the cluster: the lists of units, of states and of machines, read side by side. A selector
// that is but one name is looked up by that name instead, so that such a listing is always whole.
func (c *Client) ReadUnits(ctx context.Context, selector Selector) (Listing, error) {
	if len(selector.Names) == 1 && len(selector.Groups) == 0 {
		detail, err := c.readDetail(ctx, selector.Names[0])
		if IsUnitNotFound(err) {
			return Listing{Whole: true}, nil
		}
		if err != nil {
			return Listing{}, errmask.Maskf(err, "read units")
		}
		return Listing{Units: []UnitDetail{detail}, Whole: true}, nil
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
	var found look
	var unit wireUnit
	group, groupCtx := errgroup.WithContext(ctx)
	group.Go(func() (err error) {
		unit, err = c.readUnit(groupCtx, name)
		return err
	})
	// Not /state/{name}: fleetd panics over a unit that has no state there.
	group.Go(func() (err error) {
		found.states, err = c.readStates(groupCtx, url.Values{"unitName": {name}})
		return err
	})
	group.Go(func() (err error) {
		found.machines, err = c.readMachines(groupCtx)
		return err
	})
	if err := group.Wait(); err != nil {
		return UnitDetail{}, err
	}
	return found.detail(unit), nil
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
