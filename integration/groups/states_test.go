package groups_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/squadronctl/squadron/controller"
	"github.com/squadronctl/squadron/fleet"
	"github.com/squadronctl/squadron/integration/groups/bench"
)

const (
	loaded   = "loaded"
	launched = "launched"
	inactive = "inactive"
	active   = "active"
)

// requireUnits holds the cluster, as it is at this moment, against so many units whose names begin with prefix, each with
// these states. It gives them.
func requireUnits(t *testing.T, s *bench.Site, prefix string, n int, desired, systemd string) []bench.Unit {
	t.Helper()
	units := s.Observer.Settled(t, time.Minute, prefix)
	require.Len(t, units, n, "units of %s", prefix)
	for _, unit := range units {
		assert.Equal(t, desired, unit.Desired, "%+v", unit)
		assert.Equal(t, desired, unit.Current, "%+v", unit)
		assert.Equal(t, systemd, unit.Here().Active, "%+v", unit)
	}
	return units
}

// requireContent holds the hashes that the machines report against the request's contents.
func requireContent(t *testing.T, units []bench.Unit, req controller.Request) {
	t.Helper()
	for _, unit := range units {
		base := unit.Name
		if name, rest, sliced := strings.Cut(unit.Name, "@"); sliced {
			base = name + "@" + rest[strings.LastIndex(rest, "."):]
		}
		assert.Equal(t, hashOf(t, req, base), unit.Here().Hash, unit.Name)
	}
}

func hashOf(t *testing.T, req controller.Request, base string) string {
	t.Helper()
	for _, unit := range req.Units {
		if unit.Name == base {
			hash, err := fleet.UnitHash(unit.Content)
			require.NoError(t, err)
			return hash
		}
	}
	require.Fail(t, "no unit in the request", base)
	return ""
}

// requireStatus holds what GetStatus says against the outside.
func requireStatus(t *testing.T, b *bench.Bench, s *bench.Site, req controller.Request) controller.UnitStatusList {
	t.Helper()
	list, err := b.Control.GetStatus(context.Background(), req)
	require.NoError(t, err)
	look := s.Observer.Now(t)
	for _, status := range list {
		unit, there := look.Units[status.Name]
		require.True(t, there, status.Name)
		assert.Equal(t, unit.Desired, status.Desired, status.Name)
		require.Len(t, status.Machine, 1, status.Name)
		assert.Equal(t, unit.MachineID, status.Machine[0].ID, status.Name)
		assert.Equal(t, unit.Here().Active, status.Machine[0].SystemdActive, status.Name)
		assert.Equal(t, unit.Here().Hash, status.Machine[0].UnitHash, status.Name)
	}
	return list
}

// requireNothing holds the cluster against no unit whose name begins with prefix, and GetStatus against saying so.
func requireNothing(t *testing.T, b *bench.Bench, s *bench.Site, group string) {
	t.Helper()
	require.Empty(t, s.Observer.Now(t).Named(group+"-"))
	_, err := b.Control.GetStatus(context.Background(), bench.Request(group))
	require.True(t, controller.IsUnitNotFound(err), "%v", err)
}

// bystander makes a running unit of another group, whose name only begins like the group's, and gives its name. No
// operation on the group may touch it.
func bystander(t *testing.T, s *bench.Site, group string) string {
	t.Helper()
	name := group + "hook-main@b1.service"
	require.NoError(t, s.Observer.Put(context.Background(), name, launched, "/bin/sleep 100000"))
	s.Observer.Await(t, time.Minute, name+" runs", func(look bench.Snapshot) bool {
		return look.Units[name].Here().Active == active
	})
	return name
}

// update carries an update out while it is watched from outside.
func update(t *testing.T, b *bench.Bench, s *bench.Site, req controller.Request, opts controller.UpdateOptions, others ...string) error {
	t.Helper()
	watch := s.Observer.WatchUpdate(t, req, opts, req.DesiredSlices, others...)
	err := b.Update(req, opts)
	watch.End(t)
	return err
}
