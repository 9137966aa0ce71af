package fleettest_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/squadronctl/squadron/fleet"
	"github.com/squadronctl/squadron/fleet/fleettest"
)

// R39, R40: DummyFleet keeps the contract, also where nothing but the contract can be seen of it, and leaves no unit.
func TestTestBackendOnDummyFleet(t *testing.T) {
	dummy := fleet.NewDummyFleet(fleet.DefaultDummyConfig())
	for name, backend := range map[string]fleet.Fleet{"whole": dummy, "narrow": struct{ fleet.Fleet }{dummy}, "watched": newTampered()} {
		assert.NoError(t, fleettest.TestBackend(t.Context(), backend, fleettest.BackendOptions{}), name)
		assert.Empty(t, dummy.Units)
	}
}

// R39: the real client keeps the contract over a cluster that takes no time, and over one that takes a real one's.
func TestTestBackendOnCluster(t *testing.T) {
	for name, timing := range map[string]fleettest.Timing{"instant": fleettest.Instant(), "measured": fleettest.Measured()} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				cluster := fleettest.NewCluster(fleettest.Config{Timing: timing, PageLimit: 7})
				client, err := fleet.NewFleet(fleettest.ClientConfig(cluster))
				require.NoError(t, err)
				require.NoError(t, cluster.Put("other.service", service, "launched"))
				assert.NoError(t, fleettest.TestBackend(t.Context(), client, fleettest.BackendOptions{
					Wait: 10 * time.Minute, Sleep: 100 * time.Millisecond,
				}))
				units := cluster.Units()
				require.Len(t, units, 1)
				assert.Equal(t, "launched", units[0].Desired, "what TestBackend did not make it did not touch")
			})
		})
	}
}

// R39: each rule can be seen to be broken, and a finding names it and says why it is a rule.
func TestTestBackendFindsFaults(t *testing.T) {
	names := fleettest.RuleNames()
	broken := maps.Clone(brokenBackends)
	maps.Copy(broken, brokenWatches)
	for _, name := range names {
		assert.NotEmpty(t, broken[name], "no backend breaks rule %q", name)
	}
	for rule, backends := range broken {
		assert.Contains(t, names, rule)
		for fault, spoil := range backends {
			t.Run(rule+"/"+fault, func(t *testing.T) {
				t.Parallel()
				f := newTampered()
				spoil(f)
				err := fleettest.TestBackend(t.Context(), f, fleettest.BackendOptions{Wait: 20 * time.Millisecond, Sleep: time.Millisecond})
				assert.ErrorContains(t, err, fmt.Sprintf("rule %q: ", rule))
			})
		}
	}
}

// R39: a rule about an upgrade is not walked on a backend without it, and what went wrong in the end is told.
func TestTestBackendErrors(t *testing.T) {
	f := newTampered()
	f.read = func(context.Context, fleet.Selector) (fleet.Listing, error) { panic("asked") }
	options := fleettest.BackendOptions{Prefix: "mine-", Wait: 20 * time.Millisecond, Sleep: time.Millisecond}
	assert.ErrorContains(t, fleettest.TestBackend(t.Context(), f, options), `rule "read every unit": panic: asked`)
	assert.NoError(t, fleettest.TestBackend(t.Context(), struct{ fleet.Fleet }{f}, options))

	f = newTampered()
	broken := errors.New("broken")
	f.destroy = func(context.Context, string) error { return broken }
	err := fleettest.TestBackend(t.Context(), f, options)
	assert.ErrorIs(t, err, broken)
	assert.ErrorContains(t, err, "clean up: destroy mine-")

	f = newTampered()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	assert.ErrorIs(t, fleettest.TestBackend(ctx, f, options), context.Canceled)
	assert.Empty(t, f.Units)
	assert.Error(t, fleettest.TestBackend(t.Context(), nil, options))
}

// docs/testing.md shows the example as it stands here.
func TestDocsShowTestBackend(t *testing.T) {
	source, err := os.ReadFile("testbackend_example_test.go")
	require.NoError(t, err)
	page, err := os.ReadFile("../../docs/testing.md")
	require.NoError(t, err)
	_, example, found := strings.Cut(string(source), "func ExampleTestBackend")
	require.True(t, found)
	example = strings.TrimSpace("func ExampleTestBackend" + example)
	assert.Contains(t, string(page), "    "+strings.ReplaceAll(example, "\n", "\n    "))
}
