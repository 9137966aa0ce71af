package swarm_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/squadronctl/squadron/capability"
	"github.com/squadronctl/squadron/internal/dockertest"
	"github.com/squadronctl/squadron/reconcile"
	"github.com/squadronctl/squadron/stack"
	"github.com/squadronctl/squadron/stack/swarm"
)

var (
	_ reconcile.DriftReader   = (*swarm.Engine)(nil)
	_ reconcile.OnceLooker    = (*swarm.Engine)(nil)
	_ reconcile.DeployChecker = (*swarm.Engine)(nil)
)

// requests gives the requests that f makes, by method and path.
func (b *bench) requests(f func()) map[string]int {
	b.swarm.ResetRequests()
	f()
	asked := map[string]int{}
	for of, n := range b.swarm.Requests() {
		if !strings.Contains(of, "_ping") {
			asked[of] = n
		}
	}
	return asked
}

var oneLook = map[string]int{"GET /services": 1, "GET /tasks": 1, "GET /nodes": 1}

// However many stacks there are, their services are read by one listing of services, one of tasks and one of nodes.
func TestManyStacksAreReadAtOnce(t *testing.T) {
	onBench(t, dockertest.Config{}, func(t *testing.T, b *bench) {
		var names []string
		for i := range 8 {
			name := fmt.Sprintf("shop%d", i)
			b.mustDeploy("ops", name, web)
			names = append(names, name)
		}
		_, err := b.swarm.CreateService(foreign("", "alone"))
		require.NoError(t, err)
		names = append(names, "gone")
		asked := b.requests(func() {
			states, err := b.engine.ReadStacks(t.Context(), names)
			require.NoError(t, err)
			require.Len(t, states, 9)
			assert.Equal(t, []stack.ServiceState{}, states["gone"])
			assert.Equal(t, []stack.ServiceState{{Name: "shop3_app", Running: 2, Desired: 2, Status: stack.StatusRunning}}, states["shop3"])
		})
		assert.Equal(t, oneLook, asked)
		asked = b.requests(func() {
			states, err := b.engine.ReadStacks(t.Context(), nil)
			require.NoError(t, err)
			assert.Empty(t, states)
		})
		assert.Empty(t, asked)
		for _, op := range []string{"ServiceList", "TaskList", "NodeList"} {
			b.swarm.FailReads(func(of string) error {
				if of == op {
					return errors.New("reset")
				}
				return nil
			})
			states, err := b.engine.ReadStacks(t.Context(), names)
			require.Error(t, err, op)
			assert.Nil(t, states)
			one, err := b.engine.ReadStackServices(t.Context(), "gone")
			require.Error(t, err, "a failed read is no empty stack")
			assert.Nil(t, one)
		}
	})
}

func TestFieldsOfManyStacksAreReadAtOnce(t *testing.T) {
	onBench(t, dockertest.Config{}, func(t *testing.T, b *bench) {
		b.mustDeploy("ops", "shop", web)
		b.mustDeploy("ops", "lab", web)
		time.Sleep(time.Minute)
		asked := b.requests(func() {
			live, err := b.engine.LiveStacks(t.Context(), []string{"shop", "lab", "gone"})
			require.NoError(t, err)
			assert.Len(t, live, 3)
			assert.NotNil(t, live["gone"])
			for name := range live {
				_, err := b.engine.DesiredServices(t.Context(), web, name)
				require.NoError(t, err)
			}
			one, err := b.engine.LiveServices(t.Context(), "shop")
			require.NoError(t, err)
			assert.Equal(t, one, live["shop"])
			service, _ := b.swarm.Service("shop_app")
			assert.Equal(t, service.ID, one["shop_app"].ID)
			assert.Equal(t, service.Version.Index, one["shop_app"].Version)
		})
		assert.Equal(t, map[string]int{"GET /services": 2, "GET /networks": 1}, asked)
	})
}

// What LookOnce gives answers from what was there then, and writes as ever.
func TestLookOnce(t *testing.T) {
	onBench(t, dockertest.Config{}, func(t *testing.T, b *bench) {
		b.mustDeploy("ops", "shop", web)
		var seen stack.Backend
		asked := b.requests(func() {
			var err error
			seen, err = b.engine.LookOnce(t.Context())
			require.NoError(t, err)
		})
		assert.Equal(t, map[string]int{"GET /services": 1, "GET /tasks": 1, "GET /nodes": 1, "GET /networks": 1}, asked)
		require.NoError(t, b.swarm.Scale("shop_app", 7))
		time.Sleep(time.Minute)
		asked = b.requests(func() {
			states, err := seen.(capability.StacksReader).ReadStacks(t.Context(), []string{"shop", "gone"})
			require.NoError(t, err)
			assert.Equal(t, 2, states["shop"][0].Desired)
			live, err := seen.(reconcile.DriftReader).LiveStacks(t.Context(), []string{"shop"})
			require.NoError(t, err)
			desired, err := seen.(capability.LiveDrift).DesiredServices(t.Context(), web, "shop")
			require.NoError(t, err)
			assert.Equal(t, desired.Services["shop_app"].Fields, live["shop"]["shop_app"].Fields)
			names, err := seen.(capability.NetworkNamer).LiveNetworkNames(t.Context())
			require.NoError(t, err)
			assert.Contains(t, names, live["shop"]["shop_app"].Fields["networks[0]"])
			nodes, err := seen.(capability.SwarmSizer).SwarmNodes(t.Context())
			require.NoError(t, err)
			assert.Equal(t, 1, nodes)
		})
		assert.Empty(t, asked)
		require.NoError(t, deployWith(t.Context(), seen, "ops", "shop", webOf("shop/web:2", "3")))
		assert.Equal(t, map[string]int{"shop/web:2": 3}, b.swarm.Running("shop_app"))
		assert.Equal(t, 3, b.engine.StackServices(t.Context(), "shop")[0].Desired)

		b.swarm.FailReads(func(string) error { return errors.New("reset") })
		_, err := b.engine.LookOnce(t.Context())
		assert.True(t, swarm.IsTemporary(err))
	})
}

// A service that is attached by hand to another network shows that by the networks' names.
func TestNetworksAreNamed(t *testing.T) {
	onBench(t, dockertest.Config{}, func(t *testing.T, b *bench) {
		b.mustDeploy("ops", "shop", web)
		names, err := b.engine.LiveNetworkNames(t.Context())
		require.NoError(t, err)
		networks, err := b.engine.LiveNetworks(t.Context(), "shop")
		require.NoError(t, err)
		assert.Equal(t, "shop_default", names[networks["shop_default"]])
		live, err := b.engine.LiveServices(t.Context(), "shop")
		require.NoError(t, err)
		assert.Equal(t, networks["shop_default"], live["shop_app"].Fields["networks[0]"])
	})
}

// A network that the engine has just made or removed is known at once.
func TestNetworksOfNow(t *testing.T) {
	onBench(t, dockertest.Config{}, func(t *testing.T, b *bench) {
		none := webOf("shop/web:1", "0")
		b.mustDeploy("ops", "shop", none) // waits for nothing
		assert.Empty(t, b.differences("shop", none))
		first, err := b.engine.LiveNetworks(t.Context(), "shop")
		require.NoError(t, err)
		require.NoError(t, b.engine.RemoveStack(t.Context(), "shop"))
		b.mustDeploy("ops", "shop", none)
		assert.Empty(t, b.differences("shop", none))
		second, err := b.engine.LiveNetworks(t.Context(), "shop")
		require.NoError(t, err)
		assert.NotEqual(t, first, second)
	})
}

func TestNewNeedsAClientAndAStore(t *testing.T) {
	onBench(t, dockertest.Config{}, func(t *testing.T, b *bench) {
		_, err := swarm.New(swarm.Config{Store: b.store})
		require.ErrorContains(t, err, "Client")
		_, err = swarm.New(swarm.Config{Client: b.config.Client})
		require.ErrorContains(t, err, "Store")
	})
}
