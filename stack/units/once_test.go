package units_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/squadronctl/squadron/capability"
	"github.com/squadronctl/squadron/fleet/fleettest"
	"github.com/squadronctl/squadron/reconcile"
	"github.com/squadronctl/squadron/stack"
	"github.com/squadronctl/squadron/stack/units"
)

var (
	_ reconcile.OnceLooker    = (*units.Engine)(nil)
	_ reconcile.DeployChecker = (*units.Engine)(nil)
)

// lookOnce gives an engine that answers from what is there now.
func (b *bench) lookOnce() *units.Engine {
	b.t.Helper()
	once, err := b.engine.LookOnce(b.t.Context())
	require.NoError(b.t, err)
	return once.(*units.Engine)
}

// All reads of such an engine are of one moment, and cost the cluster nothing.
func TestLookOnceIsOneMoment(t *testing.T) {
	onBench(t, fleettest.Config{}, func(t *testing.T, b *bench) {
		open := webManifest("", "v1")
		b.mustDeploy("alice", "web", webManifest("slices: 2\n", "v1"))
		b.mustDeploy("bob", "db", file("db.service", service("v1")))
		once := b.lookOnce()
		_, err := once.LiveServices(t.Context(), "web") // reads the content
		require.NoError(t, err)
		b.cluster.Remove("db.service")
		b.cluster.Remove(b.names("web-")[0])
		b.put("web-app@mine.service", service("mine"))
		b.cluster.ResetCounts()

		states, err := once.ReadStacks(t.Context(), []string{"web", "db", "none"})
		require.NoError(t, err)
		assert.Equal(t, map[string][]stack.ServiceState{
			"web":  {{Name: "web-app@.service", Running: 2, Desired: 2, Status: stack.StatusRunning}},
			"db":   {{Name: "db.service", Running: 1, Desired: 1, Status: stack.StatusRunning}},
			"none": {},
		}, states)
		one, err := once.ReadStackServices(t.Context(), "web")
		require.NoError(t, err)
		assert.Equal(t, states["web"], one)
		owned, err := once.OwnedStacks(t.Context(), "bob")
		require.NoError(t, err)
		assert.Equal(t, []string{"db"}, owned)
		desired, err := once.DesiredServices(t.Context(), open, "web")
		require.NoError(t, err)
		assert.Equal(t, "2", desired.Services["web-app@.service"].Fields["slices"])
		live, err := once.LiveStacks(t.Context(), []string{"web"})
		require.NoError(t, err)
		assert.Equal(t, desired.Services["web-app@.service"].Fields, live["web"]["web-app@.service"].Fields)
		require.NoError(t, deployCheck(once, "alice", "web", open))
		assert.Zero(t, b.cluster.Counts())

		// What changes the cluster does not go by it.
		err = deployWith(t.Context(), once, "alice", "web", webManifest("slices: 2\n", "v1"))
		require.True(t, stack.IsForeignStack(err), "%v", err)
		b.cluster.Remove("web-app@mine.service")
		require.NoError(t, deployWith(t.Context(), once, "alice", "web", webManifest("slices: 2\n", "v1")))
		assert.Len(t, b.names("web-"), 2)
		b.put("web-app@late.service", stampedAs("web", "alice", "v0"))
		require.NoError(t, once.RemoveStack(t.Context(), "web"))
		assert.Empty(t, b.names("web-"))
	})
}

// A content that is another by now is read from another look.
func TestLookOnceOfWhatHasChangedSince(t *testing.T) {
	onBench(t, fleettest.Config{}, func(t *testing.T, b *bench) {
		b.put("web-app@1.service", stampedAs("web", "alice", "v1"))
		once := b.lookOnce()
		b.put("web-app@1.service", stampedAs("web", "alice", "v2"))
		live, err := once.LiveServices(t.Context(), "web")
		require.NoError(t, err)
		assert.Equal(t, "v2", live["web-app@.service"].Fields["Unit.Description[0]"])
	})
}

func TestLookOnceThatFails(t *testing.T) {
	onBench(t, fleettest.Config{}, func(t *testing.T, b *bench) {
		b.faults.Set(fleettest.Always(fleettest.Fail(400, "no")))
		once, err := b.engine.LookOnce(t.Context())
		require.Error(t, err)
		assert.Nil(t, once)
	})
}

func deployCheck(checker reconcile.DeployChecker, owner, name, manifest string) error {
	return checker.CheckDeploy(context.Background(), stack.DeployRequest{Name: name, Manifest: manifest, Owner: owner})
}

// CheckDeploy refuses what DeployStack refuses, whether it looks itself or goes by LookOnce, and changes nothing.
func TestCheckDeploySaysWhatDeployStackWould(t *testing.T) {
	web := webManifest("slices: 2\n", "v2")
	var fault *stack.ManifestError
	isManifest := func(err error) bool { return errors.As(err, &fault) }
	passes := func(err error) bool { return err == nil }
	tests := map[string]struct {
		unit, content string
		manifest      string
		is            func(error) bool
	}{
		"nothing there":             {"", "", web, passes},
		"its own":                   {"web-app@1.service", stampedAs("web", "alice", "v1"), web, passes},
		"named alike":               {"webhook-app@1.service", service("v1"), web, passes},
		"another owner's":           {"web-db@1.service", stampedAs("web", "bob", "v1"), web, stack.IsForeignStack},
		"unstamped":                 {"web-app@1.service", service("v1"), web, stack.IsForeignStack},
		"unstamped, other unit":     {"web-db@1.service", service("v1"), web, stack.IsForeignStack},
		"another stack's unit":      {"web-app@1.service", stampedAs("web-app", "alice", "v1"), web, stack.IsForeignStack},
		"of its group, other names": {"x.service", stampedAs("web", "bob", "v1"), web, stack.IsForeignStack},
		"a bad manifest":            {"", "", "slices: 0\n" + web, isManifest},
		"a reference": {"db.service", stampedAs("db", "alice", "v1"),
			file("web.service", "[Unit]\nAfter=db.service\n"+service("v1")), stack.IsForbiddenReference},
		"a reference to nothing": {"", "", file("web.service", "[Unit]\nAfter=db.service\n"+service("v1")), passes},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			onBench(t, fleettest.Config{}, func(t *testing.T, b *bench) {
				if test.unit != "" {
					b.put(test.unit, test.content)
				}
				before := b.snapshot()
				for _, checker := range []*units.Engine{b.engine, b.lookOnce()} {
					err := deployCheck(checker, "alice", "web", test.manifest)
					assert.True(t, test.is(err), "%v", err)
				}
				assert.Equal(t, before, b.snapshot())
				assert.Empty(t, b.manifests("alice", "web"), "nothing is recorded")
				assert.True(t, test.is(b.deploy("alice", "web", test.manifest)))
			})
		})
	}
}

func TestCheckDeployOfTheOwnStack(t *testing.T) {
	onBenchOf(t, fleettest.Config{}, "web", func(t *testing.T, b *bench) {
		err := deployCheck(b.engine, "alice", "web", webManifest("slices: 2\n", "v1"))
		require.ErrorIs(t, err, capability.ErrOwnStack)
		released := b.engine.WithSelfRelease(func(func(context.Context) error) { t.Error("a check hands nothing over") })
		require.NoError(t, deployCheck(released.(*units.Engine), "alice", "web", webManifest("slices: 2\n", "v1")))
	})
}
