package reconcile_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/squadronctl/squadron/internal/stacktest"
	"github.com/squadronctl/squadron/reconcile"
	"github.com/squadronctl/squadron/stack"
)

type credentials struct{}

func (credentials) Credential(context.Context, string) (stack.Credential, error) {
	return stack.Credential{Username: "app"}, nil
}

// features are what a Reconciler can do by a capability each. Each function says whether it does.
var features = map[string]func(t *testing.T, b *bench) bool{
	"RegistryAuth": func(_ *testing.T, b *bench) bool {
		b.declare("pulls", "service app image=registry.example/app")
		b.declared[0].Credentials = credentials{}
		b.pass()
		return b.cluster.Pulls()["pulls_app"] == "app"
	},
	"ForbidSecrets": func(_ *testing.T, b *bench) bool {
		b.declare("thief", "service app\nuse-secret controller-key")
		b.declared[0].Allow.Secrets = []string{"controller-key"}
		return b.of(b.pass(), "thief").Action == reconcile.ActionFailed
	},
	"AllowedReferences": func(_ *testing.T, b *bench) bool {
		b.declare("mounts", "service app\nmount /srv/data/app")
		b.declared[0].Allow.HostPaths = []string{"/srv/data"}
		return b.of(b.pass(), "mounts").Settled()
	},
	"SelfRelease": func(_ *testing.T, b *bench) bool {
		b.declare("own", "service app")
		return b.of(b.pass(), "own").Settled()
	},
	"OutOfBand": func(_ *testing.T, b *bench) bool {
		b.declare("raced", "service app")
		b.cluster.Stale("raced_app")
		return len(b.of(b.pass(), "raced").OutOfBand) == 1
	},
	"StacksReader": func(_ *testing.T, b *bench) bool {
		b.declare("a", "service app", "b", "service app", "c", "service app")
		b.pass()
		b.pass()
		return b.looks(func() { b.pass() }) == 1
	},
	"LiveDrift": func(_ *testing.T, b *bench) bool {
		b.declare("drifts", "service app image=1")
		b.pass()
		b.cluster.Set("drifts", "drifts_app", "image", "2")
		return len(b.of(b.pass(), "drifts").Changes) == 1
	},
	"NetworkNamer": func(_ *testing.T, b *bench) bool {
		b.declare("attached", "network front\nservice app network=front")
		b.pass()
		id := b.cluster.PutNetwork("ops", "attached", "attached_front")
		b.cluster.Set("attached", "attached_app", "network", id)
		report, err := b.Plan(b.t.Context())
		return err == nil && len(b.of(report, "attached").Changes) == 0
	},
	"DriftReader": func(_ *testing.T, b *bench) bool {
		b.declare("a", "service app", "b", "service app", "c", "service app", "d", "service app")
		b.pass()
		apart := 0
		b.cluster.FailReads(func(op string) error {
			if strings.HasPrefix(op, "LiveServices") {
				apart++
			}
			return nil
		})
		b.pass()
		return apart == 0
	},
	"OnceLooker": func(_ *testing.T, b *bench) bool {
		b.declare("a", "service app")
		b.pass()
		return b.looks(func() { b.pass() }) == 1
	},
	"DeployChecker": func(t *testing.T, b *bench) bool {
		b.declare("mounts", "service app\nmount /srv/data/app")
		plan, err := b.Plan(t.Context())
		require.NoError(t, err)
		return b.of(plan, "mounts").Action == reconcile.ActionRefuse
	},
	"OwnerLister": func(t *testing.T, b *bench) bool {
		b.declare("taken", "service app")
		b.pass()
		b.cluster.DeleteStack("taken")
		b.cluster.Put("others", "taken", "taken_app", map[string]string{})
		return b.of(b.pass(), "taken").Reason == reconcile.ReasonForeign
	},
	"DeclaredLister": func(_ *testing.T, b *bench) bool {
		b.declare("part", "service app\nservice cache")
		b.pass()
		b.quiet()
		b.cluster.Delete("part", "part_cache")
		return b.of(b.pass(), "part").Action == reconcile.ActionDeployed // otherwise at the next look at the fields
	},
}

func TestEachCapabilityTakesNoOtherAway(t *testing.T) {
	for _, lacks := range append(stacktest.Capabilities(), "") {
		t.Run("without "+lacks, func(t *testing.T) {
			reports := []string{}
			for name, works := range features {
				onBench(t, func(t *testing.T, b *bench) {
					b.own = "own"
					b.cfg.Own = "own"
					b.cfg.ForbiddenSecrets = map[string]struct{}{"controller-key": {}}
					b.cfg.Record = func(_ context.Context, report reconcile.Report) error {
						reports = append(reports, report.Lacks...)
						return nil
					}
					b.restart(lacks)
					assert.Equal(t, name != lacks, works(t, b), "%s, without %s", name, lacks)
					report, err := b.Plan(b.t.Context())
					require.NoError(t, err)
					reports = append(reports, report.Lacks...)
				})
			}
			slices.Sort(reports)
			want := []string{}
			// What only a sweep uses is not missed here.
			if features[lacks] != nil || lacks == "StackServicesReader" {
				want = append(want, lacks)
			}
			assert.ElementsMatch(t, want, slices.Compact(reports))
		})
	}
}

// Nothing but stack.Backend is enough to have stacks deployed, and an empty answer is unknown.
func TestABackendWithoutAnyCapability(t *testing.T) {
	onBench(t, func(t *testing.T, b *bench) {
		b.restart(stacktest.Everything)
		b.declare("web", "service app image=1", "db", "service db")
		report := b.pass()
		assert.True(t, report.Settled())
		assert.Equal(t, reconcile.ReasonUnproven, b.of(report, "web").Reason)
		assert.Equal(t, []string{"DeclaredLister", "LiveDrift", "OutOfBand", "OwnerLister", "StackServicesReader", "StacksReader"}, report.Lacks)
		b.quiet()
		b.declare("web", "service app image=2", "db", "service db")
		b.pass()
		assert.Equal(t, "2", b.cluster.Fields("web", "web_app")["image"])

		b.cluster.FailReads(func(string) error { return errTest })
		s := b.of(b.pass(), "web")
		assert.Equal(t, reconcile.HealthUnknown, s.Health)
		assert.Equal(t, reconcile.SyncUnknown, s.Sync)
		b.cluster.FailReads(nil)
		time.Sleep(time.Minute)
		b.quiet()

		b.cluster.DeleteStack("web")
		assert.True(t, b.of(b.pass(), "web").Settled(), "deployed again to be sure")
		b.restart(stacktest.Everything)
		plan, err := b.Plan(t.Context())
		require.NoError(t, err)
		assert.True(t, plan.Settled(), "a plan takes the store's word")
	})
}
