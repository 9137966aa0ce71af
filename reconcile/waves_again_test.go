package reconcile_test

import (
	"cmp"
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/squadronctl/squadron/reconcile"
	"github.com/squadronctl/squadron/stack"
)

// A deployment takes long. What was healthy when the pass began may have failed meanwhile, be it of the same wave or of one
// between, and then higher ones wait.
func TestHigherWavesGoByHowTheLowerAreByNow(t *testing.T) {
	for name, harm := range map[string]struct {
		by     func(b *bench)
		sync   reconcile.Sync
		reason reconcile.Reason
		health reconcile.Health
	}{
		"fails": {func(b *bench) { b.cluster.SetStatus("api", "api_app", stack.StatusFailed) },
			reconcile.Synced, "", reconcile.Degraded},
		"part is gone": {func(b *bench) { b.cluster.Delete("api", "api_app") },
			reconcile.OutOfSync, reconcile.ReasonIncomplete, reconcile.Degraded},
		"all is gone": {func(b *bench) { b.cluster.DeleteStack("api") },
			reconcile.OutOfSync, reconcile.ReasonMissing, reconcile.Missing},
		"unreadable": {func(b *bench) {
			all, one := failing("ReadStacks"), failing("ReadStackServices api")
			b.cluster.FailReads(func(op string) error { return cmp.Or(all(op), one(op)) })
		},
			reconcile.SyncUnknown, reconcile.ReasonUnreadable, reconcile.HealthUnknown},
	} {
		for _, wave := range []int{0, 1} {
			t.Run(name, func(t *testing.T) {
				onBench(t, func(t *testing.T, b *bench) {
					declare := func(image string) {
						b.declare("db", "service db image="+image, "api", "service app\nservice cache", "web", "service app image="+image)
						b.declared[1].Wave, b.declared[2].Wave = wave, 2
					}
					declare("1")
					require.True(t, b.pass().Settled())
					declare("2")
					b.cfg.Begin = func(string, reconcile.Reason) { harm.by(b) }
					b.restart("")
					report := b.pass()
					api := b.of(report, "api")
					assert.Equal(t, reconcile.ActionNone, api.Action)
					assert.Equal(t, harm.sync, api.Sync)
					assert.Equal(t, harm.reason, api.Reason)
					assert.Equal(t, harm.health, api.Health)
					assert.Equal(t, reconcile.ActionWaiting, b.of(report, "web").Action)
					assert.Equal(t, "1", b.cluster.Fields("web", "web_app")["image"])
				})
			})
		}
	}
}

// The second look is for those who wait: without them a pass takes none.
func TestAWaveIsLookedAtAgainOnlyWhereSomethingWaitsForIt(t *testing.T) {
	onBench(t, func(t *testing.T, b *bench) {
		declare := func(db string) {
			b.declare("db", "service db image="+db, "api", "service app", "web", "service app")
			b.declared[1].Wave, b.declared[2].Wave = 1, 2
		}
		declare("1")
		b.pass()
		b.quiet()
		declare("2")
		assert.Equal(t, 3, b.looks(func() { b.pass() }), "one for all, one by the deployment, and one at what it wrote to")
	})
}

// As long as it can't be read whether a manifest is deployed, it may be one that is not.
func TestAnUnreadableStoreHoldsHigherWavesUp(t *testing.T) {
	onBench(t, func(t *testing.T, b *bench) {
		b.declare("db", "service db")
		b.pass()
		b.declare("db", "service db", "web", "service app")
		b.declared[1].Wave = 1
		b.store.Fail(failing("Revisions db"))
		b.restart("")
		report := b.pass()
		assert.Equal(t, reconcile.ReasonUnreadable, b.of(report, "db").Reason)
		assert.Equal(t, reconcile.Healthy, b.of(report, "db").Health)
		assert.Equal(t, reconcile.ActionWaiting, b.of(report, "web").Action)
		b.store.Fail(nil)
		assert.True(t, b.pass().Settled())
	})
}

// Once the context has ended no deployment is begun, not of the same wave either, and no mark is lost by it.
func TestNothingIsBegunAfterTheContextsEnd(t *testing.T) {
	onBench(t, func(t *testing.T, b *bench) {
		b.declare("a", "service app image=1", "b", "service app image=1", "c", "service app image=1")
		require.True(t, b.pass().Settled())
		b.declare("a", "service app image=2", "b", "service app image=2", "c", "service app image=2")
		ctx, end := context.WithCancel(t.Context())
		begun := []string{}
		b.cfg.Concurrency = 1
		b.cfg.Begin = func(name string, _ reconcile.Reason) {
			begun = append(begun, name)
			end()
		}
		b.restart("")
		report, err := b.Pass(ctx)
		require.ErrorIs(t, err, context.Canceled)
		require.Len(t, begun, 1)
		for _, s := range report.Stacks {
			want := reconcile.ActionNone
			if s.Name == begun[0] {
				want = reconcile.ActionFailed
			}
			assert.Equal(t, want, s.Action, s.Name)
		}
		b.cfg.Begin = nil
		b.restart("")
		plan, err := b.Plan(t.Context())
		require.NoError(t, err)
		for _, s := range plan.Stacks {
			want := reconcile.ReasonManifest
			if s.Name == begun[0] {
				want = reconcile.ReasonUnproven
			}
			assert.Equal(t, want, s.Reason, s.Name)
		}
	})
}

// Looks that share one look at the cluster are taken together, also where fields are read stack by stack.
func TestWithoutDriftReaderOneLookIsSharedAllTheSame(t *testing.T) {
	onBench(t, func(t *testing.T, b *bench) {
		b.restart("DriftReader")
		b.declare("a", "service app", "b", "service app", "c", "service app", "d", "service app")
		b.pass()
		b.pass()
		at := b.quiet().Stacks[0].ChangesAt
		for range 29 {
			time.Sleep(10 * time.Second)
			for _, s := range b.quiet().Stacks {
				assert.Equal(t, at, s.ChangesAt)
			}
		}
		time.Sleep(10 * time.Second)
		report := b.quiet()
		for _, s := range report.Stacks {
			assert.Equal(t, report.Started, s.ChangesAt)
		}
	})
}
