package units_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/squadronctl/squadron/controller"
	"github.com/squadronctl/squadron/fleet/fleettest"
	"github.com/squadronctl/squadron/stack"
)

func TestDeployMakesWhatIsDeclaredAndARepeatWritesNothing(t *testing.T) {
	for name, timing := range map[string]fleettest.Timing{"instant": fleettest.Instant(), "fast": fleettest.Fast()} {
		t.Run(name, func(t *testing.T) {
			onBench(t, fleettest.Config{Timing: timing}, func(t *testing.T, b *bench) {
				manifest := webManifest("slices: 3\nmin-alive: 2\n", "v1") + file("web-log@.service", service("log"))
				b.mustDeploy("alice", "web", manifest)
				assert.Equal(t, map[string]int{"v1": 3, "log": 3}, b.running("web-"))
				assert.Equal(t, []string{manifest}, b.manifests("alice", "web"))

				b.wrote()
				b.mustDeploy("alice", "web", manifest)
				counts := b.cluster.Counts()
				assert.Equal(t, 1, counts.UnitListings, "one look")
				assert.Zero(t, counts.UnitReads, "and no content")
				assert.Zero(t, b.wrote())
				assert.Len(t, b.manifests("alice", "web"), 1)
			})
		})
	}
}

func TestDeployStampsGroupOwnerAndRevision(t *testing.T) {
	onBench(t, fleettest.Config{}, func(t *testing.T, b *bench) {
		stamp := func() string {
			unit := b.cluster.Units()[0]
			_, stamp, found := strings.Cut(unit.Content, "[X-Squadron]\n")
			require.True(t, found)
			return stamp
		}
		b.mustDeploy("alice & co/x", "web", webManifest("slices: 1\n", "v1"))
		first := stamp()
		assert.Regexp(t, `^Group=web\nOwner=alice & co/x\nRevision=[0-9a-f]{16}\n$`, first)

		names := b.names("web-")
		b.mustDeploy("alice & co/x", "web", webManifest("slices: 2\nready-secs: 3\nwave: 4\n# more\n", "v1"))
		assert.Subset(t, b.names("web-"), names, "another number replaces nothing")
		assert.Equal(t, first, stamp())
		b.mustDeploy("alice & co/x", "web", webManifest("slices: 1\n", "v2"))
		assert.NotEqual(t, first, stamp())
	})
}

func TestDeployReplacesUnderTheBounds(t *testing.T) {
	for header, bounds := range map[string]struct{ least, most int }{
		"min-alive: 2\nmax-growth: 1\n": {2, 4},
		"min-alive: 1\nmax-growth: 0\n": {1, 3},
		"":                              {3, 4}, // all that run keep running, with one more for the while
		"max-growth: 0\n":               {2, 3},
	} {
		t.Run(header, func(t *testing.T) {
			onBench(t, fleettest.Config{Timing: fleettest.Fast()}, func(t *testing.T, b *bench) {
				b.mustDeploy("alice", "web", webManifest("slices: 3\n", "v1"))
				least, most := 3, 0
				ended := watch(func() {
					running, there := 0, 0
					for _, unit := range b.cluster.Units() {
						there++
						if len(unit.On) == 1 && unit.On[0].Active == "active" {
							running++
						}
					}
					least, most = min(least, running), max(most, there)
				})
				b.mustDeploy("alice", "web", webManifest("slices: 3\n"+header, "v2"))
				ended()
				assert.Equal(t, map[string]int{"v2": 3}, b.running("web-"))
				assert.GreaterOrEqual(t, least, bounds.least)
				assert.LessOrEqual(t, most, bounds.most)
				assert.Len(t, b.manifests("alice", "web"), 2)
			})
		})
	}
}

// watch looks every moment until the function that it returns is called.
func watch(look func()) (end func()) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			look()
			time.Sleep(5 * time.Millisecond)
		}
	}()
	return func() { cancel(); <-done }
}

func TestDeployScalesBothWays(t *testing.T) {
	onBench(t, fleettest.Config{}, func(t *testing.T, b *bench) {
		for _, header := range []string{"slices: 3\n", "slices: 1\n", "slices: 4\nmin-alive: 4\n", "slices: 2\nmax-growth: 0\nmin-alive: 1\n"} {
			b.mustDeploy("alice", "web", webManifest(header, "v1"))
			want := int(header[8] - '0')
			assert.Equal(t, map[string]int{"v1": want}, b.running("web-"))
		}
		b.mustDeploy("alice", "web", webManifest("", "v2"))
		assert.Equal(t, map[string]int{"v2": 2}, b.running("web-"), "left open: as many as there are")
	})
}

func TestDeployOfAnInstanceGroup(t *testing.T) {
	onBench(t, fleettest.Config{Timing: fleettest.Fast()}, func(t *testing.T, b *bench) {
		manifest := func(version string) string {
			return file("db.service", service(version)) + file("db-log.service", service("log"))
		}
		b.mustDeploy("alice", "db", manifest("v1"))
		b.wrote()
		b.mustDeploy("alice", "db", manifest("v1"))
		assert.Zero(t, b.wrote())
		b.mustDeploy("alice", "db", manifest("v2"))
		assert.Equal(t, map[string]int{"v2": 1, "log": 1}, b.running("db"))
		assert.Len(t, b.cluster.Units(), 2)
	})
}

func TestDeployMendsWhatWasChangedByHand(t *testing.T) {
	manifest := webManifest("slices: 3\n", "v1") + file("web-log@.service", service("log"))
	changes := map[string]func(b *bench, app, log string){
		"stopped":   func(b *bench, app, _ string) { require.NoError(b.t, b.client.Stop(b.t.Context(), app)) },
		"destroyed": func(b *bench, _, log string) { require.True(b.t, b.cluster.Remove(log)) },
		"another content": func(b *bench, app, _ string) {
			b.put(app, stampedAs("web", "alice", "by hand"))
		},
		"one slice more": func(b *bench, _, _ string) {
			b.put("web-app@more.service", stampedAs("web", "alice", "v1"))
		},
	}
	for name, change := range changes {
		t.Run(name, func(t *testing.T) {
			onBench(t, fleettest.Config{}, func(t *testing.T, b *bench) {
				b.mustDeploy("alice", "web", manifest)
				names := b.names("web-")
				change(b, names[0], names[3])
				b.mustDeploy("alice", "web", manifest)
				assert.Equal(t, map[string]int{"v1": 3, "log": 3}, b.running("web-"))
			})
		})
	}
}

func TestDeployFindsBackFromFewerThanMinAlive(t *testing.T) {
	onBench(t, fleettest.Config{}, func(t *testing.T, b *bench) {
		manifest := func(version string) string {
			return webManifest("slices: 3\nmin-alive: 2\nmax-growth: 0\n", version)
		}
		b.mustDeploy("alice", "web", manifest("v1"))
		names := b.names("web-")
		b.cluster.Remove(names[0])
		require.NoError(t, b.client.Stop(t.Context(), names[1]))
		b.mustDeploy("alice", "web", manifest("v2"))
		assert.Equal(t, map[string]int{"v2": 3}, b.running("web-"))
	})
}

func TestWhatIsNoLongerDeclaredStays(t *testing.T) {
	t.Run("slices", func(t *testing.T) {
		onBench(t, fleettest.Config{}, func(t *testing.T, b *bench) {
			b.mustDeploy("alice", "web", webManifest("slices: 2\n", "v1")+file("web-log@.service", service("log")))
			logs := b.names("web-log")
			b.mustDeploy("alice", "web", webManifest("slices: 2\n", "v2"))
			assert.Equal(t, map[string]int{"v2": 2}, b.running("web-app"))
			assert.Equal(t, logs, b.names("web-log"), "a sweep removes it, with proof")
			b.wrote()
			b.mustDeploy("alice", "web", webManifest("slices: 2\n", "v2"))
			assert.Zero(t, b.wrote(), "and it is no reason to write")
		})
	})
	t.Run("instance group", func(t *testing.T) {
		onBench(t, fleettest.Config{}, func(t *testing.T, b *bench) {
			b.mustDeploy("alice", "db", file("db.service", service("v1"))+file("db-log.service", service("log")))
			b.mustDeploy("alice", "db", file("db.service", service("v2")))
			assert.Equal(t, map[string]int{"v2": 1, "log": 1}, b.running("db"))
		})
	})
}

func TestFailedUpdateSaysWhichSlicesAreNewAndOld(t *testing.T) {
	onBench(t, fleettest.Config{}, func(t *testing.T, b *bench) {
		b.mustDeploy("alice", "web", webManifest("slices: 2\n", "v1"))
		bad := strings.Replace(webManifest("slices: 2\n", "v2"), "/bin/serve v2", "/bin/false", 1)
		err := b.deploy("alice", "web", bad)
		require.True(t, controller.IsUpdateFailed(err), "%v", err)
		var failure *controller.UpdateFailure
		require.True(t, errors.As(err, &failure))
		assert.Len(t, failure.Old, 2)
		assert.Empty(t, failure.New)
		assert.ErrorContains(t, err, `deploy stack "web"`)
		assert.Equal(t, map[string]int{"v1": 2}, b.running("web-"))
		assert.Equal(t, bad, b.manifests("alice", "web")[0], "recorded before the first write")
		b.mustDeploy("alice", "web", webManifest("slices: 2\n", "v3"))
		assert.Equal(t, map[string]int{"v3": 2}, b.running("web-"))
	})
}

func TestBadRequestsWriteAndRecordNothing(t *testing.T) {
	onBench(t, fleettest.Config{}, func(t *testing.T, b *bench) {
		good := webManifest("", "v1")
		for _, req := range []stack.DeployRequest{
			{Name: "web", Owner: "alice", Manifest: "slices: x\n" + good},
			{Name: "api", Owner: "alice", Manifest: good},
			{Name: "w@b", Owner: "alice", Manifest: good},
			{Name: "", Owner: "alice", Manifest: good},
			{Name: "web", Owner: "alice", Manifest: file("web.service", "[Service]\nEnvironmentFile=/etc/x\nExecStart=/bin/x\n")},
			{Name: "web", Owner: "alice", Manifest: file("web.service", service("")+"#"+strings.Repeat(strings.Repeat("x", 2000)+"\n#", 524)+"\n")},
		} {
			var fault *stack.ManifestError
			require.ErrorAs(t, b.engine.DeployStack(t.Context(), req), &fault)
		}
		for _, owner := range []string{"", " alice", "alice\nbob", `alice\`, "\xff", strings.Repeat("x", 1025)} {
			require.Error(t, b.deploy(owner, "web", good), "%q", owner)
		}
		assert.Zero(t, b.wrote())
		for _, owner := range []string{"", "alice"} {
			stacks, err := b.store.Stacks(t.Context(), owner)
			require.NoError(t, err)
			assert.Empty(t, stacks)
		}
	})
}

// refusingStore records nothing.
type refusingStore struct{ stack.RevisionStore }

func (refusingStore) AddRevision(context.Context, string, string, string) error {
	return errors.New("the disk is full")
}

func TestWithoutARecordNothingIsWritten(t *testing.T) {
	onBench(t, fleettest.Config{}, func(t *testing.T, b *bench) {
		engine := b.newEngine(refusingStore{b.store})
		defer func() { require.NoError(t, engine.Close()) }()
		require.ErrorContains(t, deployWith(t.Context(), engine, "alice", "web", webManifest("", "v1")), "the disk is full")
		assert.Zero(t, b.wrote())
	})
}

func TestDeployOfOneStackByManyAtOnce(t *testing.T) {
	onBench(t, fleettest.Config{Timing: fleettest.Fast()}, func(t *testing.T, b *bench) {
		errs := make(chan error)
		for i := range 5 {
			go func() { errs <- b.deploy("alice", "web", webManifest("slices: 2\n", []string{"v1", "v2"}[i%2])) }()
		}
		for range 5 {
			require.NoError(t, <-errs)
		}
		assert.Len(t, b.names("web-"), 2)
	})
}

func TestEndOfContextEndsWhatIsUnderWay(t *testing.T) {
	onBench(t, fleettest.Config{Timing: fleettest.Timing{Start: time.Minute}}, func(t *testing.T, b *bench) {
		b.mustDeploy("alice", "web", webManifest("slices: 3\n", "v1"))
		ctx, cancel := context.WithTimeout(t.Context(), 90*time.Second)
		defer cancel()
		err := deployWith(ctx, b.engine, "alice", "web", webManifest("slices: 3\n", "v2"))
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.True(t, controller.IsUpdateFailed(err), "%v", err)
		b.wrote()
		time.Sleep(time.Hour)
		assert.Zero(t, b.wrote(), "nothing goes on")
		assert.Less(t, b.running("web-")["v2"], 3)
		b.mustDeploy("alice", "web", webManifest("slices: 3\n", "v2"))
		assert.Equal(t, map[string]int{"v2": 3}, b.running("web-"))

		ended, end := context.WithCancel(t.Context())
		end()
		require.ErrorIs(t, deployWith(ended, b.engine, "alice", "web", webManifest("slices: 4\n", "v2")), context.Canceled)
	})
}

func TestCloseEndsDeployments(t *testing.T) {
	onBench(t, fleettest.Config{Timing: fleettest.Timing{Start: time.Minute}}, func(t *testing.T, b *bench) {
		done := make(chan error)
		go func() { done <- b.deploy("alice", "web", webManifest("", "v1")) }()
		time.Sleep(time.Second)
		require.NoError(t, b.engine.Close())
		require.ErrorIs(t, <-done, context.Canceled)
	})
}

func TestDeployOnAClusterOfManyPages(t *testing.T) {
	onBench(t, fleettest.Config{PageLimit: 3}, func(t *testing.T, b *bench) {
		manifest := webManifest("slices: 8\n", "v1")
		b.mustDeploy("alice", "web", manifest)
		b.wrote()
		b.mustDeploy("alice", "web", manifest)
		assert.Equal(t, 2, b.cluster.Counts().UnitListings, "one listing over several pages proves nothing")
		assert.Zero(t, b.wrote())
		found, err := b.engine.ReadStacks(t.Context(), []string{"web"})
		require.NoError(t, err)
		assert.Equal(t, 8, found["web"][0].Running)
		names := b.names("web-")
		assert.True(t, slices.IsSorted(names))
		require.NoError(t, b.engine.RemoveStack(t.Context(), "web"))
		assert.Empty(t, b.cluster.Units())
	})
}
