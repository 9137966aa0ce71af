package fleet

import (
	"context"
	"net/url"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/squadronctl/squadron/internal/errmask"
)

// costFor is how long it is believed what a listing costs.
const costFor = 10 * time.Minute

// listingCost is of how many pages the last listing was.
type listingCost struct {
	mutex         sync.Mutex
	units, states int
	seen          time.Time
}

func (l *listingCost) set(units, states int) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.units, l.states, l.seen = units, states, time.Now()
}

// latest gives the pages of units and of states, 0 and 0 where that is not known, or no longer.
func (l *listingCost) latest() (units, states int) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if time.Since(l.seen) >= costFor {
		return 0, 0
	}
	return l.units, l.states
}

// ReadUnits makes one look at the cluster, in the cheapest way that answers. That is a listing: the pages of the lists of
// units and of states, eight of each list side by side. Names are read by name instead, eight requests side by side, where
// those are no more requests: two for each name, against as many as the last listing had pages, and two before the first
// one. What a listing costs is forgotten after ten minutes, since reads by name teach nothing about it. With Exact, names
// are always read by name. A listing that was read by name is always whole.
//
// The list of machines is read, too, when a minute has passed since it was read last, when a unit is on a machine that is
// not in it, and when one of the units is global. So for up to a minute a machine that was lost can still have an address, and
// one that has another now its old one.
func (c *Client) ReadUnits(ctx context.Context, selector Selector) (Listing, error) {
	if names, ok := c.cheaperByName(selector); ok {
		found, _, err := c.readByName(ctx, names)
		if err != nil {
			return Listing{}, errmask.Maskf(err, "read units by name")
		}
		return Listing{Units: found.details(), Whole: true}, nil
	}
	found, current, err := c.lookAt(ctx, selector)
	if err == nil {
		found, err = c.withMachines(ctx, found, current)
	}
	if err != nil {
		return Listing{}, errmask.Maskf(err, "read units")
	}
	return Listing{Units: found.details(), Whole: found.whole}, nil
}

// cheaperByName gives the selector's names, each once, and whether to read them by name.
func (c *Client) cheaperByName(selector Selector) ([]string, bool) {
	if len(selector.Groups) > 0 || len(selector.Names) == 0 && !selector.Exact {
		return nil, false
	}
	names := slices.Compact(slices.Sorted(slices.Values(selector.Names)))
	if selector.Exact || len(names) == 1 {
		return names, true
	}
	units, states := c.cost.latest()
	// In a listing a name that can't be a unit's is but one that is not there.
	possible := !slices.ContainsFunc(names, func(name string) bool { return checkName(name) != nil })
	return names, possible && 2*len(names) <= units+states
}

// GetStatus reads one unit's status.
func (c *Client) GetStatus(ctx context.Context, name string) (UnitStatus, error) {
	found, notFound, err := c.readByName(ctx, []string{name})
	if err == nil && len(found.units) == 0 {
		err = notFound
	}
	if err != nil {
		return UnitStatus{}, errmask.Maskf(err, "get status of %s", short(name))
	}
	return found.detail(&found.units[0]).UnitStatus, nil
}

// readByName asks for each of the names, none of which may come twice. It gives a look that has those that are there, and
// an answer that said that one is not.
func (c *Client) readByName(ctx context.Context, names []string) (found look, notFound, err error) {
	for _, name := range names {
		if err := checkName(name); err != nil {
			return look{}, nil, err
		}
	}
	collector := newCollector(Selector{})
	var mutex sync.Mutex
	group, groupCtx := errgroup.WithContext(ctx)
	group.SetLimit(readsAtOnce)
	current := c.refreshMachines(groupCtx, group)
	for _, name := range names {
		group.Go(func() error {
			err := c.getUnit(groupCtx, name, func(body []byte) error { return collector.unit(name, body) })
			if !IsUnitNotFound(err) {
				return err
			}
			mutex.Lock()
			defer mutex.Unlock()
			notFound = err
			return nil
		})
		group.Go(func() error {
			// Not /state/{name}: fleetd panics over a unit that has no state there.
			query := url.Values{"unitName": {name}}
			_, err := c.readPages(groupCtx, pageList{resource: "state", query: query, take: collector.statePage})
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return look{}, nil, err
	}
	found, err = c.withMachines(ctx, collector.look(), current)
	return found, notFound, err
}

// refreshMachines lists the machines in the group if the list is too old, and says whether it does.
func (c *Client) refreshMachines(ctx context.Context, group *errgroup.Group) bool {
	_, young := c.machines.latest()
	if young {
		return false
	}
	group.Go(func() error {
		_, err := c.readMachines(ctx)
		return err
	})
	return true
}

// lookAt lists units and states, without machines yet, and says whether those were listed beside them.
func (c *Client) lookAt(ctx context.Context, selector Selector) (found look, current bool, err error) {
	collector := newCollector(selector)
	unitPages, statePages := c.cost.latest()
	group, groupCtx := errgroup.WithContext(ctx)
	current = c.refreshMachines(groupCtx, group)
	group.Go(func() (err error) {
		unitPages, err = c.readPages(groupCtx, pageList{resource: "units", expected: unitPages, take: collector.unitPage})
		return err
	})
	group.Go(func() (err error) {
		statePages, err = c.readPages(groupCtx, pageList{resource: "state", expected: statePages, take: collector.statePage})
		return err
	})
	if err := group.Wait(); err != nil {
		return look{}, false, err
	}
	c.cost.set(unitPages, statePages)
	found = collector.look()
	found.whole = unitPages == 1 && statePages == 1
	return found, current, nil
}
