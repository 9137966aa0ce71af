package units_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/squadronctl/squadron/capability"
	"github.com/squadronctl/squadron/fleet/fleettest"
	"github.com/squadronctl/squadron/stack"
)

func ctlManifest(header, version string) string {
	return header + file("ctl@.service", service(version))
}

// deployed has the own stack deployed by somebody who does not run in it.
func (b *bench) deployed(manifest string) {
	b.t.Helper()
	outside := b.newEngine(b.store)
	require.NoError(b.t, deployWith(b.t.Context(), outside, "alice", "ctl", manifest))
	require.NoError(b.t, outside.Close())
	b.wrote()
}

func TestOwnStackIsLeftAlone(t *testing.T) {
	onBenchOf(t, fleettest.Config{}, "ctl", func(t *testing.T, b *bench) {
		b.deployed(ctlManifest("slices: 1\n", "v1"))
		live, err := b.engine.LiveServices(t.Context(), "ctl")
		require.NoError(t, err)
		for _, err := range []error{
			b.deploy("alice", "ctl", ctlManifest("slices: 1\n", "v2")),
			b.engine.RemoveStack(t.Context(), "ctl"),
			b.engine.WithSelfRelease(func(func(context.Context) error) {}).RemoveStack(t.Context(), "ctl"),
			b.engine.RemoveService(t.Context(), live["ctl@.service"].ID),
		} {
			require.ErrorIs(t, err, capability.ErrOwnStack)
		}
		require.NoError(t, b.deploy("alice", "ctl", ctlManifest("slices: 1\n", "v1")), "there is nothing to do")
		assert.Zero(t, b.wrote())
		assert.Len(t, b.manifests("alice", "ctl"), 1)
		b.mustDeploy("alice", "web", webManifest("", "v1"))
	})
}

func TestSelfReleaseHandsTheUpdateOver(t *testing.T) {
	onBenchOf(t, fleettest.Config{Timing: fleettest.Fast()}, "ctl", func(t *testing.T, b *bench) {
		b.deployed(ctlManifest("slices: 1\n", "v1"))
		var held []func(context.Context) error
		backend := b.engine.WithSelfRelease(func(apply func(context.Context) error) { held = append(held, apply) })
		require.NoError(t, deployWith(t.Context(), backend, "alice", "ctl", ctlManifest("slices: 1\n", "v1")))
		assert.Empty(t, held, "nothing to do")

		next := ctlManifest("slices: 1\nmax-growth: 0\n", "v2")
		require.NoError(t, deployWith(t.Context(), backend, "alice", "ctl", next))
		require.Len(t, held, 1)
		assert.Zero(t, b.wrote(), "all of it is the caller's to issue")
		assert.Equal(t, next, b.manifests("alice", "ctl")[0], "but it is recorded")
		// The other stacks are deployed as ever.
		require.NoError(t, deployWith(t.Context(), backend, "alice", "web", webManifest("", "v1")))

		least := 1
		ended := watch(func() {
			running := 0
			for _, unit := range b.cluster.Units() {
				if version(unit.Content) != "v1" && version(unit.Content) != "v2" || unit.Name[:3] != "ctl" {
					continue
				}
				if len(unit.On) == 1 && unit.On[0].Active == "active" {
					running++
				}
			}
			least = min(least, running)
		})
		require.NoError(t, held[0](t.Context()))
		ended()
		assert.Equal(t, map[string]int{"v2": 1}, b.running("ctl"))
		assert.Equal(t, 1, least, "the successor is there first, whatever the manifest says")
	})
}

// TestSelfReleaseOfAProcessThatEnds has the process end as its own slice is stopped, and the successor make its first pass.
func TestSelfReleaseOfAProcessThatEnds(t *testing.T) {
	onBenchOf(t, fleettest.Config{Timing: fleettest.Fast()}, "ctl", func(t *testing.T, b *bench) {
		b.deployed(ctlManifest("slices: 1\n", "v1"))
		old := b.names("ctl")[0]
		next := ctlManifest("slices: 1\n", "v2")
		var apply func(context.Context) error
		backend := b.engine.WithSelfRelease(func(f func(context.Context) error) { apply = f })
		require.NoError(t, deployWith(t.Context(), backend, "alice", "ctl", next))
		process, end := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- apply(process) }()
		waitUntil(func() bool { unit, there := b.cluster.Unit(old); return !there || unit.Desired != "launched" })
		end()
		<-done
		require.NoError(t, b.engine.Close())
		assert.Len(t, b.names("ctl"), 2, "the successor is there, and the old one has yet to be destroyed")

		successor := b.newEngine(b.store)
		require.NoError(t, deployWith(t.Context(), successor, "alice", "ctl", next))
		require.NoError(t, successor.Close())
		assert.Equal(t, map[string]int{"v2": 1}, b.running("ctl"))
	})
}

// TestSelfReleaseDoesNotKeepTheProcess has a process asked to end by the update that it is waiting for: its slice is there as
// long as it is.
func TestSelfReleaseDoesNotKeepTheProcess(t *testing.T) {
	timing := fleettest.Fast()
	timing.Stop = time.Hour
	onBenchOf(t, fleettest.Config{Timing: timing}, "ctl", func(t *testing.T, b *bench) {
		b.deployed(ctlManifest("slices: 1\n", "v1"))
		old := b.names("ctl")[0]
		var apply func(context.Context) error
		backend := b.engine.WithSelfRelease(func(f func(context.Context) error) { apply = f })
		require.NoError(t, deployWith(t.Context(), backend, "alice", "ctl", ctlManifest("slices: 1\n", "v2")))
		process, end := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- apply(process) }()
		waitUntil(func() bool {
			unit, _ := b.cluster.Unit(old)
			return len(unit.On) == 1 && unit.On[0].Active == "deactivating"
		})
		asked := time.Now()
		end()
		require.ErrorIs(t, <-done, context.Canceled)
		require.NoError(t, b.engine.Close())
		assert.Less(t, time.Since(asked), time.Second)
	})
}

func TestOwnStackHasToHaveSlices(t *testing.T) {
	onBenchOf(t, fleettest.Config{}, "ctl", func(t *testing.T, b *bench) {
		b.deployed(file("ctl.service", service("v1")))
		backend := b.engine.WithSelfRelease(func(func(context.Context) error) { t.Error("held") })
		require.NoError(t, deployWith(t.Context(), backend, "alice", "ctl", file("ctl.service", service("v1"))))
		var fault *stack.ManifestError
		require.ErrorAs(t, deployWith(t.Context(), backend, "alice", "ctl", file("ctl.service", service("v2"))), &fault)
		assert.Zero(t, b.wrote())
	})
}

func TestSelfReleaseWithoutHoldIsTheBackendItself(t *testing.T) {
	onBenchOf(t, fleettest.Config{}, "ctl", func(t *testing.T, b *bench) {
		assert.Same(t, b.engine, b.engine.WithSelfRelease(nil))
		var both capability.SelfRelease = b.engine.WithAllowedReferences(paths("/srv")).(capability.SelfRelease)
		held := 0
		backend := both.WithSelfRelease(func(func(context.Context) error) { held++ })
		require.NoError(t, deployWith(t.Context(), backend, "alice", "ctl", ctlManifest("", "v1")+"EnvironmentFile=/srv/x\n"))
		assert.Equal(t, 1, held, "what one method has set the other keeps")
		time.Sleep(time.Minute)
		assert.Zero(t, b.wrote())
	})
}
