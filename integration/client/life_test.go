package client_test

import (
	"context"
	"net"
	"net/url"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/squadronctl/squadron/fleet"
	"github.com/squadronctl/squadron/integration/cluster"
)

func hash(t *testing.T, content string) string {
	t.Helper()
	sum, err := fleet.UnitHash(content)
	require.NoError(t, err)
	return sum
}

// The life of one unit, method by method, over each kind of endpoint that needs no TLS and no tunnel (R30).
func TestLifeOfAUnit(t *testing.T) {
	t.Parallel()
	socket := real.Machines()[1].Socket()
	for kind, endpoint := range map[string]url.URL{
		"http": real.Endpoint(),
		"unix": socket,
		"file": {Scheme: "file", Path: socket.Path},
	} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			life(t, connect(t, endpoint), "life-"+kind+"@1.service")
		})
	}
}

func life(t *testing.T, c *fleet.Client, name string) {
	ctx := limited(t)
	first, second := sleeper("# a comment", "", "KillMode=process"), sleeper("KillMode=control-group")
	require.NoError(t, c.Submit(ctx, name, first))
	status := settle(t, c, name, stopped)
	assert.Equal(t, name, status.Name)
	assert.Equal(t, "1", status.SliceID)
	assert.Equal(t, hash(t, first), status.Machine[0].UnitHash)
	assert.Contains(t, []string{cluster.IDOf(1), cluster.IDOf(2), cluster.IDOf(3)}, status.Machine[0].ID)
	assert.True(t, status.Machine[0].IP.IsLoopback())

	content, err := c.ReadContent(ctx, name)
	require.NoError(t, err)
	assert.Equal(t, "[Service]\nExecStart=/bin/sleep 100000\nKillMode=process\n", content)

	require.NoError(t, c.Start(ctx, name))
	settle(t, c, name, running)
	require.NoError(t, c.Start(ctx, name), "again")
	require.NoError(t, c.Stop(ctx, name))
	settle(t, c, name, stopped)

	require.NoError(t, c.Submit(ctx, name, first), "the same again")
	require.NoError(t, c.SubmitLaunched(ctx, name, second), "replaced")
	assert.Equal(t, hash(t, second), detail(t, c, name).Hash)
	settleWhere(t, c, name, "running with its new hash", func(s fleet.UnitStatus) bool {
		return states(s) == running && s.Machine[0].UnitHash == hash(t, second)
	})
	require.NoError(t, c.Submit(ctx, name, second), "the same content, desired state loaded")
	settle(t, c, name, stopped)

	all, err := c.GetStatusWithMatcher(func(other string) bool { return other == name })
	require.NoError(t, err)
	require.Len(t, all, 1)
	assert.Equal(t, stopped, states(all[0]))

	require.NoError(t, c.Destroy(ctx, name))
	_, err = c.GetStatus(ctx, name)
	assert.True(t, fleet.IsUnitNotFound(err), "%v", err)
	assert.True(t, fleet.IsUnitNotFound(c.Destroy(ctx, name)))
	_, err = c.GetStatusWithMatcher(func(other string) bool { return other == name })
	assert.True(t, fleet.IsUnitNotFound(err), "%v", err)
}

func TestMachines(t *testing.T) {
	t.Parallel()
	c := connect(t, real.Endpoint())
	machines, err := c.ReadMachines(limited(t))
	require.NoError(t, err)
	var want []fleet.Machine
	for n, m := range real.Machines() {
		want = append(want, fleet.Machine{
			ID: m.ID, IP: net.ParseIP("127.0.0.1").To16(), Metadata: map[string]string{"name": m.Name, "zone": m.Zone},
		})
		want[n].IP[15] = byte(n + 1)
	}
	require.Len(t, machines, 3)
	for n := range want {
		assert.True(t, want[n].IP.Equal(machines[n].IP))
		machines[n].IP = want[n].IP
	}
	assert.Equal(t, want, machines)

	ip, err := c.MachineIP(limited(t), cluster.IDOf(3))
	require.NoError(t, err)
	assert.Equal(t, "127.0.0.3", ip.String())
	_, err = c.MachineIP(limited(t), cluster.IDOf(4))
	assert.True(t, fleet.IsIPNotFound(err), "%v", err)
}

// R20: what a selector takes, and that an exact read is whole.
func TestSelectors(t *testing.T) {
	t.Parallel()
	c := connect(t, real.Endpoint())
	ctx := limited(t)
	names := []string{"select-a@1.service", "select-a@2.service", "select-b.service"}
	for _, name := range names {
		require.NoError(t, c.Submit(ctx, name, sleeper("[X-Squadron]\nGroup=stamp-"+name)))
	}
	read := func(selector fleet.Selector) (found []string, whole bool) {
		listing, err := c.ReadUnits(ctx, selector)
		require.NoError(t, err)
		for _, unit := range listing.Units {
			found = append(found, unit.Name)
			assert.True(t, unit.Stamped)
			assert.Equal(t, "stamp-"+unit.Name, unit.Group)
		}
		return found, listing.Whole
	}
	found, _ := read(fleet.Selector{Groups: []string{"select-a"}})
	assert.Equal(t, names[:2], found)
	found, _ = read(fleet.Selector{Groups: []string{"stamp-select-b.service"}})
	assert.Equal(t, names[2:], found)
	found, _ = read(fleet.Selector{Names: []string{names[0], names[2], "select-none.service"}})
	assert.Equal(t, []string{names[0], names[2]}, found)
	found, whole := read(fleet.Selector{Names: []string{names[1], "select-none.service"}, Exact: true})
	assert.Equal(t, names[1:2], found)
	assert.True(t, whole)
	found, whole = read(fleet.Selector{Names: []string{"select-none.service"}, Exact: true})
	assert.Empty(t, found)
	assert.True(t, whole)
}

// C22, R28: operations leave no connection behind, and none is left after Close (goleak looks at the end).
func TestManyOperations(t *testing.T) {
	t.Parallel()
	c := connect(t, real.Machines()[2].Socket())
	for range 100 {
		_, err := c.GetStatus(context.Background(), "many-none.service")
		require.True(t, fleet.IsUnitNotFound(err), "%v", err)
	}
	require.NoError(t, c.Close())
	_, err := c.ReadMachines(limited(t))
	assert.ErrorIs(t, err, net.ErrClosed)
}
