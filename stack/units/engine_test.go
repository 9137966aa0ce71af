package units_test

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/squadronctl/squadron/capability"
	"github.com/squadronctl/squadron/fleet"
	"github.com/squadronctl/squadron/stack"
	"github.com/squadronctl/squadron/stack/revision"
	"github.com/squadronctl/squadron/stack/units"
)

// onlyFleet hides all that a backend offers beyond the contract.
type onlyFleet struct{ fleet.Fleet }

func TestNewNeedsWhatTellsWhoseAUnitIs(t *testing.T) {
	dummy := fleet.NewDummyFleet(fleet.DefaultDummyConfig())
	for name, config := range map[string]units.Config{
		"no fleet": {Store: &revision.Memory{}},
		"no store": {Fleet: dummy},
		"narrow":   {Fleet: onlyFleet{dummy}, Store: &revision.Memory{}},
	} {
		_, err := units.New(config)
		require.Error(t, err, name)
	}
}

func TestWhatUnitsCannotAnswerIsNotOffered(t *testing.T) {
	var engine any = &units.Engine{}
	_, ok := engine.(capability.RegistryAuth)
	assert.False(t, ok)
	_, ok = engine.(capability.ForbidSecrets)
	assert.False(t, ok)
	_, ok = engine.(capability.OutOfBand)
	assert.False(t, ok)
	_, ok = engine.(capability.NetworkNamer)
	assert.False(t, ok)
	_, ok = engine.(capability.ResourceLister)
	assert.False(t, ok)
}

// TestOnADummyFleet has the engine on the other double, which is a fleet.Launcher too, and on one that is not.
func TestOnADummyFleet(t *testing.T) {
	for name, wrap := range map[string]func(*fleet.DummyFleet) fleet.Fleet{
		"whole":            func(d *fleet.DummyFleet) fleet.Fleet { return d },
		"without Launcher": func(d *fleet.DummyFleet) fleet.Fleet { return readingFleet{d, d, d} },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				dummy := fleet.NewDummyFleet(fleet.DefaultDummyConfig())
				engine, err := units.New(units.Config{Fleet: wrap(dummy), Store: &revision.Memory{}})
				require.NoError(t, err)
				defer func() { require.NoError(t, engine.Close()) }()
				for _, text := range []string{webManifest("slices: 2\n", "v1"), webManifest("slices: 3\n", "v2")} {
					require.NoError(t, deployWith(t.Context(), engine, "alice", "web", text))
				}
				services, err := engine.ReadStackServices(t.Context(), "web")
				require.NoError(t, err)
				assert.Equal(t, []stack.ServiceState{{Name: "web-app@.service", Running: 3, Desired: 3, Status: "running"}}, services)
				require.NoError(t, engine.RemoveStack(t.Context(), "web"))
				assert.Empty(t, dummy.Units)
			})
		})
	}
}

// readingFleet is a fleet that can be read, and no more.
type readingFleet struct {
	fleet.Fleet
	fleet.UnitReader
	fleet.ContentReader
}

func TestWithoutMachinesThereIsNoNumber(t *testing.T) {
	dummy := fleet.NewDummyFleet(fleet.DefaultDummyConfig())
	engine, err := units.New(units.Config{Fleet: readingFleet{dummy, dummy, dummy}, Store: &revision.Memory{}})
	require.NoError(t, err)
	_, err = engine.SwarmNodes(t.Context())
	require.Error(t, err)
	require.NoError(t, engine.Close())
	require.NoError(t, engine.Close())
}

// panickingFleet panics when it is read.
type panickingFleet struct{ *fleet.DummyFleet }

func (panickingFleet) ReadUnits(context.Context, fleet.Selector) (fleet.Listing, error) {
	panic("out of order")
}

func TestAPanicOfTheBackendIsAnError(t *testing.T) {
	engine, err := units.New(units.Config{Fleet: panickingFleet{fleet.NewDummyFleet(fleet.DefaultDummyConfig())}, Store: &revision.Memory{}})
	require.NoError(t, err)
	_, err = engine.ReadStackServices(t.Context(), "web")
	require.ErrorContains(t, err, "out of order")
	require.NoError(t, engine.Close())
}
