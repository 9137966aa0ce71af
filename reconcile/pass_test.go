package reconcile_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/squadronctl/squadron/capability"
	"github.com/squadronctl/squadron/internal/stacktest"
	"github.com/squadronctl/squadron/reconcile"
	"github.com/squadronctl/squadron/stack"
)

var errTest = errors.New("out of order")

func TestPassDeploysWhatDiffers(t *testing.T) {
	onBench(t, func(t *testing.T, b *bench) {
		b.declare("web", "service app image=1", "db", "service db image=1")
		report := b.pass()
		require.NoError(t, report.Err())
		for _, name := range []string{"web", "db"} {
			s := b.of(report, name)
			assert.Equal(t, reconcile.ActionDeployed, s.Action)
			assert.Equal(t, reconcile.ReasonMissing, s.Reason)
			assert.True(t, s.Settled())
			assert.Equal(t, name+".stack", s.File)
		}
		assert.Equal(t, []string{"ops service db db_db", "ops service web web_app"}, b.cluster.Contents())
		b.quiet()

		b.declare("web", "service app image=2", "db", "service db image=1")
		report = b.pass()
		assert.Equal(t, reconcile.ReasonManifest, b.of(report, "web").Reason)
		assert.Equal(t, reconcile.ActionNone, b.of(report, "db").Action)
		assert.Equal(t, "2", b.cluster.Fields("web", "web_app")["image"])
		b.quiet()

		b.declare("web", "service app image=1", "db", "service db image=1")
		b.pass()
		assert.Equal(t, "1", b.cluster.Fields("web", "web_app")["image"], "back again")
		b.quiet()
	})
}

func TestWhatIsGoneComesBack(t *testing.T) {
	onBench(t, func(t *testing.T, b *bench) {
		b.declare("web", "service app\nservice cache")
		b.pass()
		b.cluster.Delete("web", "web_cache")
		plan, err := b.Plan(t.Context())
		require.NoError(t, err)
		s := b.of(plan, "web")
		assert.Equal(t, reconcile.OutOfSync, s.Sync)
		assert.Equal(t, reconcile.Degraded, s.Health)
		assert.Equal(t, reconcile.ReasonIncomplete, s.Reason)
		assert.Equal(t, []string{"web_cache"}, s.Missing)
		assert.True(t, b.of(b.pass(), "web").Settled())

		b.cluster.DeleteStack("web")
		plan, err = b.Plan(t.Context())
		require.NoError(t, err)
		assert.Equal(t, reconcile.Missing, b.of(plan, "web").Health)
		assert.True(t, b.of(b.pass(), "web").Settled())
		b.quiet()
	})
}

func TestWhatCouldNotBeReadIsUnknownAndNeverMissing(t *testing.T) {
	for _, lacks := range []string{"", "StacksReader", "StackServicesReader"} {
		onBench(t, func(t *testing.T, b *bench) {
			b.restart(lacks)
			b.declare("web", "service app", "db", "service db")
			b.pass()
			b.cluster.FailReads(func(string) error { return errTest })
			written := len(b.cluster.Writes())
			report := b.pass()
			for _, name := range []string{"web", "db"} {
				s := b.of(report, name)
				assert.Equal(t, reconcile.SyncUnknown, s.Sync, lacks)
				assert.Equal(t, reconcile.HealthUnknown, s.Health, lacks)
				assert.Equal(t, reconcile.ActionNone, s.Action, lacks)
				assert.ErrorIs(t, s.Err, errTest, lacks)
			}
			assert.ErrorIs(t, report.Err(), errTest)
			assert.Len(t, b.cluster.Writes(), written)
			b.cluster.FailReads(nil)
			b.quiet()
		})
	}
}

func TestOneUnreadableStackLeavesTheOthersKnown(t *testing.T) {
	onBench(t, func(t *testing.T, b *bench) {
		b.restart("StacksReader")
		b.declare("web", "service app", "db", "service db")
		b.cluster.FailReads(func(op string) error {
			if strings.HasSuffix(op, " db") {
				return errTest
			}
			return nil
		})
		report := b.pass()
		assert.True(t, b.of(report, "web").Settled())
		assert.Equal(t, reconcile.HealthUnknown, b.of(report, "db").Health)
	})
}

func TestHealthIsTheWorstOfTheDeclaredServices(t *testing.T) {
	for status, want := range map[string]reconcile.Health{
		stack.StatusRunning: reconcile.Healthy, stack.StatusStarting: reconcile.Progressing, stack.StatusStopping: reconcile.Progressing,
		stack.StatusStopped: reconcile.Degraded, stack.StatusFailed: reconcile.Degraded,
	} {
		onBench(t, func(t *testing.T, b *bench) {
			b.declare("web", "service app\nservice cache")
			b.pass()
			b.cluster.SetStatus("web", "web_cache", status)
			b.cluster.Put("ops", "web", "web_byhand", nil)
			b.cluster.SetStatus("web", "web_byhand", stack.StatusFailed)
			s := b.of(b.pass(), "web")
			assert.Equal(t, want, s.Health, status)
			assert.Equal(t, reconcile.Synced, s.Sync, "health says nothing about sync")
			assert.Equal(t, []string{"web_byhand"}, s.Undeclared)
		})
	}
	onBench(t, func(t *testing.T, b *bench) {
		b.declare("web", "service app replicas=0")
		b.pass()
		b.cluster.SetStatus("web", "web_app", stack.StatusStopped)
		b.quiet()
	})
}

func TestOneFailingStackStopsNoOther(t *testing.T) {
	onBench(t, func(t *testing.T, b *bench) {
		b.declare("a", "service app", "bad", "service app\nnonsense x", "c", "service app", "panics", "service app")
		b.cluster.FailWrites(func(op string) error {
			if op == "create panics_app" {
				panic("a fault of the engine")
			}
			return nil
		})
		report := b.pass()
		assert.True(t, b.of(report, "a").Settled())
		assert.True(t, b.of(report, "c").Settled())
		bad := b.of(report, "bad")
		assert.Equal(t, reconcile.ActionFailed, bad.Action)
		assert.Equal(t, reconcile.Missing, bad.Health)
		var fault *stack.ManifestError
		require.ErrorAs(t, bad.Err, &fault)
		assert.Equal(t, 2, fault.Line)
		assert.ErrorContains(t, b.of(report, "panics").Err, "deploy panics: panic: a fault of the engine")
		assert.ErrorContains(t, report.Err(), "bad: deploy bad: manifest:2: ")
	})
}

// Begin tells of each deployment before its first write, and of nothing else. Its panic is the stack's failure.
func TestBeginTellsOfDeployments(t *testing.T) {
	onBench(t, func(t *testing.T, b *bench) {
		var told []string
		b.cfg.Concurrency = 1
		b.cfg.Begin = func(name string, reason reconcile.Reason) {
			if name == "panics" {
				panic("out of order")
			}
			told = append(told, fmt.Sprintf("%s %s, after %d writes", name, reason, len(b.cluster.Writes())))
		}
		b.restart("")
		b.declare("web", "service app image=1", "panics", "service app")
		_, err := b.Plan(t.Context())
		require.NoError(t, err)
		assert.Empty(t, told)
		report := b.pass()
		assert.True(t, b.of(report, "web").Settled())
		assert.ErrorContains(t, b.of(report, "panics").Err, "out of order")
		b.pass()
		b.declare("web", "service app image=2")
		b.pass()
		b.quiet()
		assert.Equal(t, []string{"web missing, after 0 writes", "web manifest, after 1 writes"}, told)
	})
}

func TestFaultsOfTheSource(t *testing.T) {
	onBench(t, func(t *testing.T, b *bench) {
		b.declare("web", "service app", "twice", "service app", "twice", "service app", "", "service app")
		b.faults = []error{fmt.Errorf("read: %w", &stack.ManifestError{File: "broken.stack", Line: 7, Err: errTest}), errTest}
		report := b.pass()
		require.Len(t, report.Stacks, 1)
		assert.True(t, report.Stacks[0].Settled())
		assert.False(t, report.Settled())
		require.Len(t, report.Faults, 5)
		assert.Equal(t, "broken.stack", report.Faults[0].File)
		assert.Equal(t, 7, report.Faults[0].Line)
		assert.Empty(t, report.Faults[1].File)
		assert.EqualError(t, report.Faults[2].Err, "twice.stack: stack twice is declared more than once")
		assert.ErrorContains(t, report.Err(), "without a name")
		assert.Equal(t, []string{"ops service web web_app"}, b.cluster.Contents())

		b.cfg.Source = func(context.Context) ([]reconcile.Declared, []error) { panic("a fault of the caller") }
		b.restart("")
		assert.ErrorContains(t, b.pass().Err(), "a fault of the caller")
	})
}

func TestASourceThatFailsForAWhileForgetsNothing(t *testing.T) {
	onBench(t, func(t *testing.T, b *bench) {
		b.declare("web", "service app", "bad", "nonsense x")
		b.pass()
		declared := b.declared
		b.declared, b.faults = nil, []error{errTest}
		b.pass()
		assert.NotEmpty(t, b.cluster.Contents(), "what a source leaves out is let be")
		b.declared, b.faults = declared, nil
		assert.Equal(t, reconcile.ActionBackoff, b.of(b.pass(), "bad").Action)
		b.declare("web", "service app")
		b.pass()
		b.declared = declared
		assert.Equal(t, reconcile.ActionFailed, b.of(b.pass(), "bad").Action, "what was undeclared in between begins anew")
	})
}

func TestARefusedManifestIsNoUnfinishedDeployment(t *testing.T) {
	onBench(t, func(t *testing.T, b *bench) {
		b.declare("web", "service app")
		b.pass()
		b.declare("web", "nonsense x")
		for range 2 {
			s := b.of(b.pass(), "web")
			assert.Equal(t, reconcile.ReasonManifest, s.Reason)
			assert.Equal(t, reconcile.Healthy, s.Health, "the old one runs")
			assert.Equal(t, reconcile.OutOfSync, s.Sync)
		}
	})
}

// vanishing removes by hand what it has just deployed.
type vanishing struct {
	*stacktest.Engine
	cluster *stacktest.Cluster
}

func (v vanishing) WithOutOfBandNotifier(func(string)) stack.Backend { return v }

func (v vanishing) WithSelfRelease(capability.DeferSelf) stack.Backend { return v }

func (v vanishing) DeployStack(ctx context.Context, req stack.DeployRequest) error {
	defer v.cluster.Delete(req.Name, stacktest.Scoped(req.Name, "app"))
	return v.Engine.DeployStack(ctx, req)
}

func TestWhatVanishesAfterItsDeploymentIsNotSynced(t *testing.T) {
	onBench(t, func(t *testing.T, b *bench) {
		b.cfg.Backend = vanishing{stacktest.NewEngine(b.cluster, b.store, ""), b.cluster}
		b.Reconciler = reconcile.New(b.cfg)
		b.declare("web", "service app\nservice cache")
		s := b.of(b.pass(), "web")
		assert.Equal(t, reconcile.ActionDeployed, s.Action)
		assert.Equal(t, reconcile.OutOfSync, s.Sync)
		assert.Equal(t, []string{"web_app"}, s.Missing)
	})
}

func TestAnotherOwnersStackIsNotTouched(t *testing.T) {
	onBench(t, func(t *testing.T, b *bench) {
		b.cluster.Put("others", "web", "web_app", map[string]string{"image": "theirs"})
		b.declare("web", "service app image=1")
		s := b.of(b.pass(), "web")
		assert.Equal(t, reconcile.OutOfSync, s.Sync)
		assert.Equal(t, reconcile.Missing, s.Health, "what is there is not what is declared")
		assert.Equal(t, reconcile.ActionFailed, s.Action)
		assert.Equal(t, reconcile.ReasonForeign, s.Reason)
		assert.True(t, stack.IsForeignStack(s.Err))
		s = b.of(b.pass(), "web")
		assert.Equal(t, reconcile.ActionBackoff, s.Action)
		assert.Equal(t, reconcile.ReasonForeign, s.Reason)
		assert.True(t, stack.IsForeignStack(s.Err))
		assert.Empty(t, b.cluster.Writes())

		b.cluster.DeleteStack("web")
		time.Sleep(time.Minute)
		assert.True(t, b.of(b.pass(), "web").Settled())
	})
}

// A stack that went, and that somebody else then made under the same name, is not taken for one's own.
func TestAStackThatChangesHandsIsSeen(t *testing.T) {
	onBench(t, func(t *testing.T, b *bench) {
		b.declare("web", "service app")
		b.pass()
		b.quiet()
		b.cluster.DeleteStack("web")
		b.cluster.Put("others", "web", "web_app", nil)
		b.restart("")
		assert.Equal(t, reconcile.ReasonForeign, b.of(b.pass(), "web").Reason)
		assert.Equal(t, []string{"others service web web_app"}, b.cluster.Contents())
	})
}

func TestAForeignStackIsKnownByItsRefusalToo(t *testing.T) {
	onBench(t, func(t *testing.T, b *bench) {
		b.restart("OwnerLister")
		b.cluster.Put("others", "web", "web_app", nil)
		b.declare("web", "service app")
		b.pass()
		s := b.of(b.pass(), "web")
		assert.Equal(t, reconcile.ReasonForeign, s.Reason)
		assert.Equal(t, reconcile.Missing, s.Health)
	})
}

func TestPassEndsWithItsContext(t *testing.T) {
	onBench(t, func(t *testing.T, b *bench) {
		b.declare("a", "service app", "b", "service app")
		ctx, cancel := context.WithCancel(t.Context())
		b.cfg.Concurrency = 1
		b.restart("")
		b.cluster.FailWrites(func(string) error {
			cancel()
			return ctx.Err()
		})
		report, err := b.Pass(ctx)
		require.ErrorIs(t, err, context.Canceled)
		assert.Len(t, report.Stacks, 2)
		assert.Empty(t, b.recorded)
		b.cluster.FailWrites(nil)
		assert.True(t, b.pass().Settled(), "what was broken off is no failure to wait after")

		_, err = b.Pass(ctx)
		assert.ErrorIs(t, err, context.Canceled)
	})
}

func TestConfigThatCannotWork(t *testing.T) {
	b := newBench(t)
	for _, broken := range []func(*reconcile.Config){
		func(c *reconcile.Config) { c.Backend = nil }, func(c *reconcile.Config) { c.Owner = "" }, func(c *reconcile.Config) { c.Source = nil },
	} {
		cfg := b.cfg
		broken(&cfg)
		_, err := reconcile.New(cfg).Pass(t.Context())
		assert.True(t, reconcile.IsInvalidArgument(err))
		assert.True(t, reconcile.IsInvalidArgument(reconcile.New(cfg).Run(t.Context())))
	}
}

func TestReportAsJSON(t *testing.T) {
	onBench(t, func(t *testing.T, b *bench) {
		b.declare("web", "service app", "bad", "nonsense x")
		text, err := json.Marshal(b.pass())
		require.NoError(t, err)
		var back reconcile.Report
		require.NoError(t, json.Unmarshal(text, &back))
		assert.Equal(t, reconcile.Synced, b.of(back, "web").Sync)
		assert.NotContains(t, string(text), `"web","wave":0,"file":"web.stack","sync":"synced","health":"healthy","action":"deployed","nextTry"`)
		assert.Contains(t, b.of(back, "bad").Error, "nonsense")
		assert.False(t, b.of(back, "bad").NextTry.IsZero())
	})
}

// lossy answers without some of what it was asked for.
type lossy struct{ *stacktest.Engine }

func (lossy) ReadStacks(context.Context, []string) (map[string][]stack.ServiceState, error) {
	return nil, nil
}

func (l lossy) LookOnce(context.Context) (stack.Backend, error) { return l, nil }

func TestAStackLackingInAnAnswerIsUnknown(t *testing.T) {
	onBench(t, func(t *testing.T, b *bench) {
		b.cfg.Backend = lossy{stacktest.NewEngine(b.cluster, b.store, "")}
		var _ capability.StacksReader = lossy{}
		b.Reconciler = reconcile.New(b.cfg)
		b.declare("a", "service app", "b", "service app")
		assert.Equal(t, reconcile.HealthUnknown, b.of(b.pass(), "a").Health)
		assert.Empty(t, b.cluster.Writes())
	})
}
