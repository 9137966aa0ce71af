package client_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/squadronctl/squadron/fleet"
)

// C8, R20, R20a: 250 units over three pages, while a unit of nobody's comes and goes: all are listed each time, none twice. No
// machine takes them, since nothing but their listing is looked at.
func TestPages(t *testing.T) {
	t.Parallel()
	c := connect(t, real.Endpoint())
	ctx := limited(t)
	var names []string
	var writes errgroup.Group
	writes.SetLimit(8)
	for i := range 250 {
		name := fmt.Sprintf("page-%03d@1.service", i)
		names = append(names, name)
		writes.Go(func() error { return c.Submit(ctx, name, placed("MachineMetadata=zone=nowhere")) })
	}
	require.NoError(t, writes.Wait())

	mine := func(name string) bool { return strings.HasPrefix(name, "page-") }
	for range 10 {
		// More shifts than one a look can hide the same unit from two looks in a row.
		var nobody sync.WaitGroup
		nobody.Go(func() { comeOrGo(t, c) })
		all, err := c.GetStatusWithMatcher(mine)
		require.NoError(t, err)
		nobody.Wait()
		var found []string
		for _, status := range all {
			found = append(found, status.Name)
			assert.Equal(t, "inactive/loaded", states(status))
			assert.Equal(t, "1", status.SliceID)
		}
		assert.Equal(t, names, found)

		listing, err := c.ReadUnits(ctx, fleet.Selector{Groups: []string{"page"}})
		require.NoError(t, err)
		assert.False(t, listing.Whole, "over several pages")
		assert.True(t, slices.IsSortedFunc(listing.Units, func(a, b fleet.UnitDetail) int { return strings.Compare(a.Name, b.Name) }))
	}

	listing, err := c.ReadUnits(ctx, fleet.Selector{Names: names, Exact: true})
	require.NoError(t, err)
	assert.True(t, listing.Whole)
	assert.Len(t, listing.Units, 250)
	var removes errgroup.Group
	removes.SetLimit(8)
	for _, name := range names {
		removes.Go(func() error { return c.Destroy(ctx, name) })
	}
	require.NoError(t, removes.Wait())
	_, err = c.GetStatusWithMatcher(mine)
	assert.True(t, fleet.IsUnitNotFound(err), "%v", err)
}

// comeOrGo creates or destroys a unit that sorts before all others, which shifts every page.
func comeOrGo(t *testing.T, c *fleet.Client) {
	const name = "a-nobody.service"
	err := c.Destroy(limited(t), name)
	if fleet.IsUnitNotFound(err) {
		err = c.Submit(limited(t), name, placed("MachineMetadata=zone=nowhere"))
	}
	assert.NoError(t, err)
}
