package reconcile_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/squadronctl/squadron/internal/stackmark"
	"github.com/squadronctl/squadron/internal/stacktest"
	"github.com/squadronctl/squadron/reconcile"
	"github.com/squadronctl/squadron/stack"
)

func TestDriftIsSeenAndCorrectedOnlyWhenAsked(t *testing.T) {
	onBench(t, func(t *testing.T, b *bench) {
		b.declare("web", "service app image=1 env.A=x", "db", "service db")
		b.pass()
		b.quiet()
		b.cluster.Set("web", "web_app", "image", "by hand")
		b.cluster.Set("web", "web_app", "env.B", "y")
		b.quiet() // what was seen stands for DriftInterval
		time.Sleep(5 * time.Minute)
		for range 2 {
			s := b.of(b.pass(), "web")
			assert.Equal(t, reconcile.OutOfSync, s.Sync)
			assert.Equal(t, reconcile.Healthy, s.Health)
			assert.Equal(t, reconcile.ReasonDrift, s.Reason)
			assert.Equal(t, reconcile.ActionNone, s.Action)
			assert.Equal(t, []reconcile.Change{
				{Service: "web_app", Field: "env.B", New: "y"}, {Service: "web_app", Field: "image", Old: "1", New: "by hand"},
			}, s.Changes)
			assert.False(t, s.ChangesAt.IsZero())
		}
		assert.True(t, b.of(b.pass(), "db").Settled())

		b.cfg.CorrectDrift = true
		b.restart("")
		s := b.of(b.pass(), "web")
		assert.Equal(t, reconcile.ActionDeployed, s.Action)
		assert.True(t, s.Settled())
		assert.Equal(t, map[string]string{"image": "1", "env.A": "x"}, b.cluster.Fields("web", "web_app"))
		b.quiet()
	})
}

func TestPlanReadsFieldsEachTime(t *testing.T) {
	onBench(t, func(t *testing.T, b *bench) {
		b.declare("web", "service app image=1")
		b.pass()
		b.quiet()
		b.cluster.Set("web", "web_app", "image", "2")
		plan, err := b.Plan(t.Context())
		require.NoError(t, err)
		assert.Len(t, b.of(plan, "web").Changes, 1)
		assert.Equal(t, reconcile.ActionNone, b.of(plan, "web").Action)
	})
}

func TestWhatIsMissingHasNotDrifted(t *testing.T) {
	onBench(t, func(t *testing.T, b *bench) {
		b.declare("web", "service app image=1")
		b.pass()
		b.cluster.Set("web", "web_app", "image", "2")
		assert.Len(t, b.of(b.pass(), "web").Changes, 1)
		b.cluster.DeleteStack("web")
		b.cluster.FailWrites(func(string) error { return errTest })
		s := b.of(b.pass(), "web")
		assert.Empty(t, s.Changes)
		assert.Equal(t, reconcile.Missing, s.Health)
	})
}

// What a deployment that failed has left may look like a change by hand. It is gone on with all the same.
func TestADeploymentThatFailedIsGoneOnWith(t *testing.T) {
	onBench(t, func(t *testing.T, b *bench) {
		b.declare("web", "service app image=1\nservice cache image=1")
		b.pass()
		b.cluster.Set("web", "web_cache", "image", "by hand")
		b.declare("web", "service app image=2\nservice cache image=2")
		b.cluster.FailWrites(func(op string) error {
			if op == "update web_cache" {
				return errTest
			}
			return nil
		})
		b.pass()
		b.cluster.FailWrites(nil)
		time.Sleep(10 * time.Second)
		s := b.of(b.pass(), "web")
		assert.Equal(t, reconcile.ReasonUnfinished, s.Reason)
		assert.True(t, s.Settled())
	})
}

// A pass takes one look at the cluster, however many stacks there are, and whether or not it compares their fields.
func TestAQuietPassTakesOneLook(t *testing.T) {
	onBench(t, func(t *testing.T, b *bench) {
		b.declare(manyStacks(1000)...)
		b.pass()
		for range 25 {
			assert.Equal(t, 1, b.looks(func() { b.quiet() }))
			time.Sleep(30 * time.Second)
		}
		b.restart("")
		assert.Equal(t, 1, b.looks(func() { b.quiet() }), "a restart deploys nothing")
		b.cluster.Set("stack0500", "stack0500_app", "image", "by hand")
		time.Sleep(5 * time.Minute)
		assert.Equal(t, 1, b.looks(func() { assert.Len(t, b.of(b.pass(), "stack0500").Changes, 1) }))
		assert.Equal(t, 1, b.looks(func() {
			_, err := b.Plan(t.Context())
			require.NoError(t, err)
		}))
	})
}

// Without OnceLooker it is one between two looks at the fields.
func TestAQuietPassWithoutOnceLooker(t *testing.T) {
	onBench(t, func(t *testing.T, b *bench) {
		b.restart("OnceLooker")
		b.declare(manyStacks(100)...)
		b.pass()
		assert.Equal(t, 3, b.looks(func() { b.quiet() }), "after a deployment: states, owners and fields")
		for range 9 {
			time.Sleep(30 * time.Second)
			assert.Equal(t, 1, b.looks(func() { b.quiet() }))
		}
		time.Sleep(30 * time.Second)
		assert.Equal(t, 3, b.looks(func() { b.quiet() }), "owners and fields once per DriftInterval")

		b.declared[0].Manifest += "\nservice more"
		b.pass()
		assert.Equal(t, 3, b.looks(func() { b.quiet() }), "what was deployed again is looked at again")

		b.restart("OnceLooker")
		assert.Equal(t, 3, b.looks(func() { b.quiet() }), "a restart deploys nothing")
	})
}

// unshared is an engine that reads the fields of one stack at a time.
type unshared struct {
	*stacktest.Engine
	reconcile.OnceLooker
	reconcile.DriftReader
}

// Without OnceLooker and DriftReader the fields cost a look for each stack; these are spread over the interval.
func TestLooksAtFieldsAreSpread(t *testing.T) {
	onBench(t, func(t *testing.T, b *bench) {
		b.cfg.Backend = unshared{Engine: stacktest.NewEngine(b.cluster, b.store, "")}
		b.Reconciler = reconcile.New(b.cfg)
		b.declare(manyStacks(200)...)
		b.pass()
		b.quiet()
		most := 0
		for range 20 {
			time.Sleep(30 * time.Second)
			most = max(most, b.looks(func() { b.quiet() }))
		}
		assert.Less(t, most, 100)
		assert.Greater(t, most, 2)
	})
}

func manyStacks(n int) []string {
	var pairs []string
	for i := range n {
		pairs = append(pairs, fmt.Sprintf("stack%04d", i), "service app image=1\nservice cache image=1")
	}
	return pairs
}

func TestDriftThatCouldNotBeReadIsUnknown(t *testing.T) {
	for _, op := range []string{"LiveStacks", "OwnedStacks"} { // of what LookOnce gave
		onBench(t, func(t *testing.T, b *bench) {
			b.declare("web", "service app")
			b.pass()
			b.cluster.FailReads(func(asked string) error {
				if strings.HasPrefix(asked, op) {
					return errTest
				}
				return nil
			})
			s := b.of(b.pass(), "web")
			assert.Equal(t, reconcile.SyncUnknown, s.Sync)
			assert.Equal(t, reconcile.Healthy, s.Health, "health is known all the same")
			assert.ErrorIs(t, s.Err, errTest)
			b.cluster.FailReads(nil)
			b.quiet()
		})
	}
}

func TestARestartDeploysNothingThatIsThere(t *testing.T) {
	for _, lacks := range []string{"", "LiveDrift", "DriftReader", "DeclaredLister", "OwnerLister"} {
		onBench(t, func(t *testing.T, b *bench) {
			b.restart(lacks)
			b.declare("web", "service app image=1", "db", "service db")
			b.pass()
			b.restart(lacks)
			written := len(b.cluster.Writes())
			assert.True(t, b.pass().Settled(), lacks)
			assert.Len(t, b.cluster.Writes(), written)
			b.quiet()
		})
	}
}

// The revision is recorded before the first write, so after a crash it proves nothing by itself.
func TestADeploymentThatACrashBrokeOffIsFinished(t *testing.T) {
	for _, lacks := range []string{"", "LiveDrift", "DeclaredLister"} {
		onBench(t, func(t *testing.T, b *bench) {
			b.restart(lacks)
			b.declare("web", "service app image=1\nservice cache image=1")
			b.pass()
			b.declare("web", "service app image=2\nservice cache image=2")
			b.cluster.FailWrites(func(op string) error {
				if op == "update web_cache" {
					return errTest
				}
				return nil
			})
			b.pass()
			b.cluster.FailWrites(nil)
			b.restart(lacks)
			assert.True(t, b.pass().Settled(), lacks)
			assert.Equal(t, "2", b.cluster.Fields("web", "web_cache")["image"], lacks)
			b.quiet()
		})
	}
}

// A refusal in between does not end what was begun.
func TestADeploymentThatFailedIsGoneOnWithAfterARefusal(t *testing.T) {
	onBench(t, func(t *testing.T, b *bench) {
		b.declare("web", "service app image=1\nservice cache image=1")
		b.pass()
		b.cluster.Set("web", "web_app", "image", "2")
		b.cluster.Delete("web", "web_cache")
		b.cluster.FailWrites(func(string) error { return errTest })
		assert.Equal(t, reconcile.ActionFailed, b.of(b.pass(), "web").Action)
		b.cluster.FailWrites(nil)
		b.cluster.FailReads(func(op string) error {
			if op == "DeployStack web" {
				return stack.ErrForeignStack
			}
			return nil
		})
		time.Sleep(time.Minute)
		assert.Equal(t, reconcile.ActionFailed, b.of(b.pass(), "web").Action)
		b.cluster.FailReads(nil)
		b.cluster.Put("ops", "web", "web_cache", map[string]string{"image": "1"})
		time.Sleep(time.Minute)
		s := b.of(b.pass(), "web")
		assert.Equal(t, reconcile.ReasonUnfinished, s.Reason)
		assert.True(t, s.Settled())
	})
}

// A restart does not make what somebody did by hand an unfinished deployment.
func TestAChangeByHandOutlastsARestart(t *testing.T) {
	onBench(t, func(t *testing.T, b *bench) {
		b.declare("web", "service app image=1")
		b.pass()
		b.declare("web", "service app image=2")
		b.pass()
		b.cluster.Set("web", "web_app", "image", "1") // as an older revision had it
		for range 2 {
			b.restart("")
			s := b.of(b.pass(), "web")
			assert.Equal(t, reconcile.ReasonDrift, s.Reason)
			assert.Equal(t, reconcile.ActionNone, s.Action)
		}
	})
}

// A manifest that is refused does not take away what is known of the one before.
func TestARefusedManifestLeavesTheMark(t *testing.T) {
	onBench(t, func(t *testing.T, b *bench) {
		b.declare("web", "service app image=1")
		b.pass()
		b.cluster.Set("web", "web_app", "image", "by hand")
		b.declare("web", "nonsense x")
		b.pass()
		b.declare("web", "service app image=1")
		b.restart("")
		assert.Equal(t, reconcile.ReasonDrift, b.of(b.pass(), "web").Reason)
	})
}

// Without its mark a stack is only deployed once more, which writes nothing.
func TestAMarkThatCouldNotBeKept(t *testing.T) {
	onBench(t, func(t *testing.T, b *bench) {
		b.declare("web", "service app")
		records := 0
		b.store.Fail(func(op string) error {
			if strings.HasPrefix(op, "AddRevision") {
				if records++; records == 2 { // the first is the engine's
					return errTest
				}
			}
			return nil
		})
		assert.True(t, b.pass().Settled())
		b.quiet()
		b.restart("")
		written := len(b.cluster.Writes())
		s := b.of(b.pass(), "web")
		assert.Equal(t, reconcile.ReasonUnproven, s.Reason)
		assert.True(t, s.Settled())
		assert.Len(t, b.cluster.Writes(), written)
		b.restart("")
		assert.Equal(t, reconcile.ActionNone, b.of(b.quiet(), "web").Action)
	})
}

// Two processes of one owner can leave two marks, of which neither counts. The next deployment leaves one.
func TestMarksOfTwoProcessesBecomeOne(t *testing.T) {
	onBench(t, func(t *testing.T, b *bench) {
		b.declare("web", "service app image=2")
		for _, manifest := range []string{"service app image=1", "service app image=2"} {
			require.NoError(t, stackmark.Set(t.Context(), b.store, "ops", "web", manifest))
		}
		b.pass()
		b.restart("")
		assert.Equal(t, reconcile.ActionNone, b.of(b.quiet(), "web").Action)
	})
}

func TestAnUnreadableStoreIsUnknown(t *testing.T) {
	onBench(t, func(t *testing.T, b *bench) {
		b.declare("web", "service app")
		b.pass()
		b.store.Fail(func(string) error { return errTest })
		b.quiet() // known from before
		b.restart("")
		s := b.of(b.pass(), "web")
		assert.Equal(t, reconcile.SyncUnknown, s.Sync)
		assert.ErrorIs(t, s.Err, errTest)
		b.store.Fail(nil)
		b.quiet()
	})
}

func TestWithoutAStoreEachStackIsDeployedOnce(t *testing.T) {
	onBench(t, func(t *testing.T, b *bench) {
		b.declare("web", "service app")
		b.pass()
		b.cfg.Store = nil
		b.restart("")
		written := len(b.cluster.Writes())
		assert.Equal(t, reconcile.ActionDeployed, b.of(b.pass(), "web").Action)
		assert.Equal(t, reconcile.ActionNone, b.of(b.quiet(), "web").Action)
		assert.Len(t, b.cluster.Writes(), written, "a repeat writes nothing")
	})
}

func BenchmarkQuietPass1000(b *testing.B) {
	bench := newBench(b)
	bench.declare(manyStacks(1000)...)
	bench.cfg.Record = nil
	bench.restart("")
	for range 2 {
		if _, err := bench.Pass(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
	before := bench.cluster.Looks()
	for b.Loop() {
		if _, err := bench.Pass(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(bench.cluster.Looks()-before)/float64(b.N), "looks/op")
}
