package groups_test

import (
	"context"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/squadronctl/squadron/controller"
	"github.com/squadronctl/squadron/fleet"
	"github.com/squadronctl/squadron/integration/groups/bench"
)

// settleLimit is how long what fleet itself loses may take to come again: it takes up to 24 s.
const settleLimit = time.Minute

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
	units := s.Observer.Settled(t, settleLimit, prefix)
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

// requireStatus holds what GetStatus says against the outside, in a moment in which the outside says all there is to say, and the
// same before and after.
func requireStatus(t *testing.T, b *bench.Bench, s *bench.Site, req controller.Request) controller.UnitStatusList {
	t.Helper()
	deadline := time.Now().Add(settleLimit)
	for {
		before := s.Observer.Now(t)
		list, err := b.Control.GetStatus(context.Background(), req)
		require.NoError(t, err)
		look := s.Observer.Now(t)
		if !sameAndWhole(before, look, list) && time.Now().Before(deadline) {
			time.Sleep(200 * time.Millisecond)
			continue
		}
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
}

// sameAndWhole says whether two looks agree on the units of a list, and lack nothing of them.
func sameAndWhole(before, after bench.Snapshot, list controller.UnitStatusList) bool {
	return !slices.ContainsFunc(list, func(status fleet.UnitStatus) bool {
		unit := after.Units[status.Name]
		return !unit.Reported() || !reflect.DeepEqual(unit, before.Units[status.Name])
	})
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
