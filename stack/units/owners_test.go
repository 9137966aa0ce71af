package units_test

import (
	"context"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/squadronctl/squadron/fleet"
	"github.com/squadronctl/squadron/fleet/fleettest"
	"github.com/squadronctl/squadron/stack"
	"github.com/squadronctl/squadron/stack/units"
)

func TestForeignUnitsUnderTheNameRefuseADeployment(t *testing.T) {
	strangers := map[string][2]string{
		"another owner's":              {"web-app@1.service", stampedAs("web", "bob", "v1")},
		"another owner's, other unit":  {"web-db@1.service", stampedAs("web", "bob", "v1")},
		"a group's that no stack owns": {"web-db@1.service", service("v1") + "\n[X-Squadron]\nGroup=web\n"},
		"unstamped":                    {"web-app@1.service", service("v1")},
		"unstamped, other unit":        {"web-db@1.service", service("v1")},
		"another stack's unit":         {"web-app@1.service", stampedAs("web-app", "alice", "v1")},
	}
	for name, stranger := range strangers {
		t.Run(name, func(t *testing.T) {
			onBench(t, fleettest.Config{}, func(t *testing.T, b *bench) {
				b.put(stranger[0], stranger[1])
				before := b.snapshot()
				err := b.deploy("alice", "web", webManifest("slices: 2\n", "v2"))
				require.True(t, stack.IsForeignStack(err), "%v", err)
				assert.ErrorContains(t, err, stranger[0])
				assert.Equal(t, before, b.snapshot())
				assert.Empty(t, b.manifests("alice", "web"), "a claim that was refused is not recorded")
			})
		})
	}
}

func TestUnitsNamedAlikeAreNotInTheWay(t *testing.T) {
	onBench(t, fleettest.Config{}, func(t *testing.T, b *bench) {
		b.put("webhook-app@1.service", service("v1"))
		b.put("web-2-app@1.service", stampedAs("web-2", "bob", "v1"))
		before := b.snapshot()
		b.mustDeploy("alice", "web", webManifest("slices: 2\n", "v1"))

		// Once the stack is there, what others put beside it does not stop it.
		b.put("web-notes@1.service", service("notes"))
		b.mustDeploy("alice", "web", webManifest("slices: 1\n", "v2"))
		require.NoError(t, b.engine.RemoveStack(t.Context(), "web"))
		after := b.snapshot()
		assert.Contains(t, after, "web-notes@1.service")
		delete(after, "web-notes@1.service")
		assert.Equal(t, before, after)
	})
}

func TestStrangerInADeclaredPlaceIsNotReplaced(t *testing.T) {
	onBench(t, fleettest.Config{}, func(t *testing.T, b *bench) {
		b.mustDeploy("alice", "web", webManifest("slices: 2\n", "v1"))
		name := b.names("web-")[0]
		b.put(name, service("whose?")) // somebody has written over it, stamp and all
		err := b.deploy("alice", "web", webManifest("slices: 2\n", "v2"))
		require.True(t, stack.IsForeignStack(err))
		require.NoError(t, b.engine.RemoveStack(t.Context(), "web"))
		assert.Equal(t, []string{name}, b.names("web-"))
	})
}

func TestTwoOwnersNeverTouchEachOthers(t *testing.T) {
	onBench(t, fleettest.Config{Timing: fleettest.Fast()}, func(t *testing.T, b *bench) {
		b.mustDeploy("alice", "web", webManifest("slices: 2\n", "v1"))
		b.mustDeploy("bob", "web-2", file("web-2-app@.service", service("v1")))
		require.True(t, stack.IsForeignStack(b.deploy("bob", "web", webManifest("slices: 2\n", "v2"))))
		require.True(t, stack.IsForeignStack(b.deploy("bob", "web", webManifest("slices: 2\n", "v1"))), "the same content or not")
		require.True(t, stack.IsForeignStack(b.deploy("alice", "web-2", file("web-2-db@.service", service("v1")))))
		// alice's stack declares what is a unit of bob's by name.
		require.True(t, stack.IsForeignStack(b.deploy("alice", "web", file("web-2-app@.service", service("v2")))))
		assert.Equal(t, map[string]int{"v1": 3}, b.running("web-"))

		for owner, want := range map[string][]string{"alice": {"web"}, "bob": {"web-2"}, "carol": nil} {
			owned, err := b.engine.OwnedStacks(t.Context(), owner)
			require.NoError(t, err)
			assert.Equal(t, want, owned, owner)
		}
		require.NoError(t, b.engine.RemoveStack(t.Context(), "web"))
		assert.Len(t, b.names("web-2-app@"), 1)
		assert.Len(t, b.cluster.Units(), 1)
	})
}

// TestStrangerThatComesInTheMidst has one come while an update is under way, in a place that is the group's by name.
func TestStrangerThatComesInTheMidst(t *testing.T) {
	onBench(t, fleettest.Config{Timing: fleettest.Fast()}, func(t *testing.T, b *bench) {
		b.mustDeploy("alice", "web", webManifest("slices: 3\n", "v1"))
		done := make(chan error)
		go func() { done <- b.deploy("alice", "web", webManifest("slices: 3\nready-secs: 5\n", "v2")) }()
		waitUntil(func() bool { return len(b.names("web-")) > 3 })
		strangers := map[string]string{"web-app@x1.service": service("v1"), "web-app@x2.service": stampedAs("web", "bob", "v1")}
		for name, content := range strangers {
			b.put(name, content)
		}
		require.NoError(t, <-done)
		assert.Len(t, b.names("web-"), 5)
		for name := range strangers {
			assert.Contains(t, b.names("web-"), name)
		}
	})
}

func TestRemoveStack(t *testing.T) {
	onBench(t, fleettest.Config{Timing: fleettest.Fast()}, func(t *testing.T, b *bench) {
		require.NoError(t, b.engine.RemoveStack(t.Context(), "web"), "one that is not there is no error")
		require.Error(t, b.engine.RemoveStack(t.Context(), ""))
		b.mustDeploy("alice", "web", webManifest("slices: 2\n", "v1")+file("web-log@.service", service("log")))
		b.put("web-log@mine.service", service("mine"))
		b.put("web-app@group.service", service("mine")+"\n[X-Squadron]\nGroup=web\n")
		b.put("api-app@1.service", stampedAs("api", "alice", "v1"))
		require.NoError(t, b.engine.RemoveStack(t.Context(), "web"))
		assert.Equal(t, []string{"api-app@1.service", "web-app@group.service", "web-log@mine.service"}, b.names(""))
		b.wrote()
		require.NoError(t, b.engine.RemoveStack(t.Context(), "web"))
		assert.Zero(t, b.wrote())
	})
}

func TestRemoveStackOfTwoOwnersIsRefused(t *testing.T) {
	onBench(t, fleettest.Config{}, func(t *testing.T, b *bench) {
		b.put("web-app@1.service", stampedAs("web", "alice", "v1"))
		b.put("web-app@2.service", stampedAs("web", "bob", "v1"))
		require.True(t, stack.IsForeignStack(b.engine.RemoveStack(t.Context(), "web")))
		assert.Len(t, b.names("web-"), 2)
	})
}

// afterLook does something when a look has been answered.
type afterLook struct {
	fleet.Fleet
	fleet.UnitReader
	fleet.ContentReader
	then func()
}

func (a afterLook) ReadUnits(ctx context.Context, selector fleet.Selector) (fleet.Listing, error) {
	defer a.then()
	return a.UnitReader.ReadUnits(ctx, selector)
}

// TestStrangerThatComesInTheMidstOfARemoval has one come once the stack was seen to be of one owner.
func TestStrangerThatComesInTheMidstOfARemoval(t *testing.T) {
	onBench(t, fleettest.Config{}, func(t *testing.T, b *bench) {
		b.mustDeploy("alice", "web", webManifest("slices: 2\n", "v1"))
		come := sync.OnceFunc(func() { b.put("web-app@bobs.service", stampedAs("web", "bob", "v1")) })
		engine, err := units.New(units.Config{Store: b.store,
			Fleet: afterLook{b.client, b.client.(fleet.UnitReader), b.client.(fleet.ContentReader), come}})
		require.NoError(t, err)
		defer func() { require.NoError(t, engine.Close()) }()
		require.NoError(t, engine.RemoveStack(t.Context(), "web"))
		assert.Equal(t, []string{"web-app@bobs.service"}, b.names("web-"))
	})
}

func TestRemoveService(t *testing.T) {
	onBench(t, fleettest.Config{}, func(t *testing.T, b *bench) {
		b.mustDeploy("alice/x", "web", webManifest("slices: 2\n", "v1")+file("web-log@.service", service("log")))
		live, err := b.engine.LiveServices(t.Context(), "web")
		require.NoError(t, err)
		id := live["web-log@.service"].ID
		assert.Equal(t, "web/web-log@.service/alice/x", id)
		b.put("web-log@mine.service", service("mine"))
		require.NoError(t, b.engine.RemoveService(t.Context(), id))
		assert.Equal(t, []string{"web-log@mine.service"}, b.names("web-log"))
		assert.Len(t, b.names("web-app"), 2)
		require.NoError(t, b.engine.RemoveService(t.Context(), id), "what is not there any more is no error")

		// What has become another's since the listing stays.
		b.put("web-log@1.service", stampedAs("web", "bob", "v1"))
		require.True(t, stack.IsForeignStack(b.engine.RemoveService(t.Context(), id)))
		bobs, err := b.engine.LiveServices(t.Context(), "web")
		require.NoError(t, err)
		assert.Equal(t, "web/web-log@.service/bob", bobs["web-log@.service"].ID)
		require.True(t, stack.IsForeignStack(b.engine.RemoveService(t.Context(), bobs["web-log@.service"].ID)),
			"a sweep for one owner must not remove another's by such an ID")
		assert.Len(t, b.names("web-log"), 2)

		b.put("web-log@2.service", stampedAs("web", "alice/x", "v1"))
		live, err = b.engine.LiveServices(t.Context(), "web")
		require.NoError(t, err)
		require.True(t, stack.IsForeignStack(b.engine.RemoveService(t.Context(), live["web-log@.service"].ID)), "of two owners")
		for _, name := range []string{"web-log@1.service", "web-log@2.service"} {
			b.cluster.Remove(name)
		}
		b.put("web-db@1.service", service("v1")+"\n[X-Squadron]\nGroup=web\n")
		live, err = b.engine.LiveServices(t.Context(), "web")
		require.NoError(t, err)
		require.True(t, stack.IsForeignStack(b.engine.RemoveService(t.Context(), live["web-db@.service"].ID)), "of nobody")
		for _, bad := range []string{"", "web", "web/web-log@.service", "/x/alice", "web//alice"} {
			require.Error(t, b.engine.RemoveService(t.Context(), bad), bad)
		}
		require.Error(t, b.engine.RemoveNetwork(t.Context(), "n1"))
		require.Error(t, b.engine.RemoveConfig(t.Context(), "c1"))
		require.Error(t, b.engine.RemoveSecret(t.Context(), "s1"))
	})
}
