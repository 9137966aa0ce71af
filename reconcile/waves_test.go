package reconcile_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/squadronctl/squadron/capability"
	"github.com/squadronctl/squadron/internal/stacktest"
	"github.com/squadronctl/squadron/reconcile"
	"github.com/squadronctl/squadron/stack"
)

func TestWavesGoUpOnlyWhenTheLowerIsHealthy(t *testing.T) {
	onBench(t, func(t *testing.T, b *bench) {
		b.declare("db", "service db", "web", "service app", "tests", "service runner")
		b.declared[0].Wave, b.declared[1].Wave, b.declared[2].Wave = -1, 0, 5
		b.cluster.Behave(func(service string) string {
			if service == "db_db" {
				return stack.StatusStarting
			}
			return stack.StatusRunning
		})
		report := b.pass()
		assert.Equal(t, "db", report.Stacks[0].Name, "reports are in the order of the waves")
		assert.Equal(t, reconcile.Progressing, b.of(report, "db").Health)
		assert.Equal(t, reconcile.Synced, b.of(report, "db").Sync)
		assert.Equal(t, reconcile.ActionWaiting, b.of(report, "web").Action)
		assert.Equal(t, reconcile.ActionWaiting, b.of(report, "tests").Action)
		assert.Equal(t, []string{"create db_db"}, b.cluster.Writes())

		b.cluster.SetStatus("db", "db_db", stack.StatusRunning)
		report = b.pass()
		assert.True(t, report.Settled())
		assert.Equal(t, []string{"create db_db", "create web_app", "create tests_runner"}, b.cluster.Writes())

		b.cluster.SetStatus("db", "db_db", stack.StatusFailed)
		report = b.pass()
		assert.Equal(t, reconcile.ActionNone, b.of(report, "web").Action, "what has nothing to be deployed does not wait")
		assert.True(t, b.of(report, "web").Settled())
	})
}

func TestAFailureHoldsHigherWavesUp(t *testing.T) {
	onBench(t, func(t *testing.T, b *bench) {
		b.declare("db", "service db image=1", "other", "service app", "web", "service app")
		b.declared[2].Wave = 1
		b.pass()
		b.declare("db", "service db image=2", "other", "service app", "web", "service app image=2")
		b.declared[2].Wave = 1
		b.cluster.FailWrites(func(op string) error {
			if op == "update db_db" {
				return errTest
			}
			return nil
		})
		report := b.pass()
		assert.Equal(t, reconcile.Healthy, b.of(report, "db").Health, "the old one runs")
		assert.Equal(t, reconcile.ActionWaiting, b.of(report, "web").Action)
		b.cluster.FailWrites(nil)
		assert.Equal(t, reconcile.ActionWaiting, b.of(b.pass(), "web").Action, "db is let be for a while")
		time.Sleep(10 * time.Second)
		assert.True(t, b.pass().Settled())
	})
}

func TestUncorrectedDriftHoldsNothingUp(t *testing.T) {
	onBench(t, func(t *testing.T, b *bench) {
		b.declare("db", "service db")
		b.pass()
		b.cluster.Set("db", "db_db", "image", "by hand")
		b.declare("db", "service db", "web", "service app")
		b.declared[1].Wave = 1
		report := b.pass()
		assert.Equal(t, reconcile.ReasonDrift, b.of(report, "db").Reason)
		assert.Equal(t, reconcile.ActionDeployed, b.of(report, "web").Action)
	})
}

func TestFailuresAreRetriedEverMoreSeldom(t *testing.T) {
	onBench(t, func(t *testing.T, b *bench) {
		b.cfg.Retry = reconcile.Retry{Min: time.Second, Max: 5 * time.Second}
		b.restart("")
		b.declare("web", "service app", "db", "service db")
		tries := 0
		b.cluster.FailWrites(func(op string) error {
			if op == "create web_app" {
				tries++
				return errTest
			}
			return nil
		})
		began := time.Now()
		var triedAt []time.Duration
		for time.Since(began) < 20*time.Second {
			before := tries
			report := b.pass()
			assert.True(t, b.of(report, "db").Settled())
			s := b.of(report, "web")
			assert.ErrorIs(t, s.Err, errTest)
			assert.Equal(t, tries, s.Failures)
			if tries > before {
				assert.Equal(t, reconcile.ActionFailed, s.Action)
				triedAt = append(triedAt, time.Since(began))
			} else {
				assert.Equal(t, reconcile.ActionBackoff, s.Action)
				assert.True(t, s.NextTry.After(time.Now()))
			}
			time.Sleep(500 * time.Millisecond)
		}
		assert.Equal(t, []time.Duration{0, time.Second, 3 * time.Second, 7 * time.Second, 12 * time.Second, 17 * time.Second}, triedAt)

		b.declare("web", "service app image=2")
		assert.Equal(t, 1, b.of(b.pass(), "web").Failures, "another manifest is tried at once")
		b.cluster.FailWrites(nil)
		time.Sleep(time.Second)
		s := b.of(b.pass(), "web")
		assert.True(t, s.Settled())
		assert.Zero(t, s.Failures)
		assert.True(t, s.NextTry.IsZero())
	})
}

// The write that replaces the process itself is issued when the report is recorded, and only then.
func TestTheOwnStackIsWrittenLast(t *testing.T) {
	onBench(t, func(t *testing.T, b *bench) {
		b.own = "squadron"
		b.declare("squadron", "service controller image=1", "web", "service app")
		var written []string
		b.cfg.Record = func(_ context.Context, report reconcile.Report) error {
			written = b.cluster.Writes()
			b.recorded = append(b.recorded, report)
			return nil
		}
		b.restart("")
		report := b.pass()
		assert.Equal(t, []string{"create web_app"}, written)
		assert.Equal(t, reconcile.ActionHeld, b.of(b.recorded[0], "squadron").Action)
		assert.Equal(t, reconcile.OutOfSync, b.of(b.recorded[0], "squadron").Sync)
		assert.Equal(t, reconcile.ActionDeployed, b.of(report, "squadron").Action)
		assert.True(t, report.Settled())
		b.quiet()
	})
}

func TestAReportThatIsNotRecordedHoldsTheOwnWriteBack(t *testing.T) {
	onBench(t, func(t *testing.T, b *bench) {
		b.own = "squadron"
		b.declare("squadron", "service controller", "web", "service app")
		fails := true
		b.cfg.Record = func(context.Context, reconcile.Report) error {
			if fails {
				return errTest
			}
			return nil
		}
		b.restart("")
		_, err := b.Pass(t.Context())
		require.ErrorIs(t, err, errTest)
		assert.EqualError(t, err, "reconcile: record the pass: out of order")
		assert.Equal(t, []string{"create web_app"}, b.cluster.Writes())
		fails = false
		assert.True(t, b.pass().Settled())
		assert.Equal(t, []string{"create web_app", "create squadron_controller"}, b.cluster.Writes())
	})
}

// What ends the process before its own write leaves that to the next.
func TestNoOwnWriteAfterTheContextsEnd(t *testing.T) {
	onBench(t, func(t *testing.T, b *bench) {
		b.own = "squadron"
		b.declare("squadron", "service controller")
		ctx, end := context.WithCancel(t.Context())
		b.cfg.Record = func(context.Context, reconcile.Report) error { end(); return nil }
		b.restart("")
		_, err := b.Pass(ctx)
		require.ErrorIs(t, err, context.Canceled)
		assert.Empty(t, b.cluster.Writes())
		b.restart("")
		assert.True(t, b.pass().Settled())
	})
}

// hasty hands a write over, and then fails.
type hasty struct {
	*stacktest.Engine
	hold capability.DeferSelf
}

func (h hasty) WithOutOfBandNotifier(func(string)) stack.Backend { return h }

func (h hasty) WithSelfRelease(hold capability.DeferSelf) stack.Backend { return hasty{h.Engine, hold} }

func (h hasty) DeployStack(ctx context.Context, req stack.DeployRequest) error {
	h.hold(func(context.Context) error { return h.Engine.DeployStack(ctx, req) })
	return errTest
}

func TestNothingIsReleasedOfADeploymentThatFailed(t *testing.T) {
	onBench(t, func(t *testing.T, b *bench) {
		b.cfg.Backend = hasty{stacktest.NewEngine(b.cluster, b.store, ""), nil}
		b.Reconciler = reconcile.New(b.cfg)
		b.declare("web", "service app")
		assert.Equal(t, reconcile.ActionFailed, b.of(b.pass(), "web").Action)
		assert.Empty(t, b.cluster.Writes())
	})
}

func TestAnOwnWriteThatFailsIsRetried(t *testing.T) {
	onBench(t, func(t *testing.T, b *bench) {
		b.own = "squadron"
		b.declare("squadron", "service controller")
		b.restart("")
		b.cluster.Stale("squadron_controller")
		b.cluster.FailWrites(func(string) error { return errTest })
		s := b.of(b.pass(), "squadron")
		assert.Equal(t, reconcile.ActionFailed, s.Action)
		assert.EqualError(t, s.Err, "release squadron: out of order")
		assert.Equal(t, []string{"squadron_controller"}, s.OutOfBand)
		b.cluster.FailWrites(nil)
		assert.Equal(t, reconcile.ActionBackoff, b.of(b.pass(), "squadron").Action)
		time.Sleep(10 * time.Second)
		assert.True(t, b.pass().Settled())
	})
}

// The process ends with its own write, before it could remember anything of it.
func TestTheNewProcessFindsItsOwnStackDeployed(t *testing.T) {
	onBench(t, func(t *testing.T, b *bench) {
		b.own = "squadron"
		b.declare("squadron", "service controller image=1")
		b.restart("")
		b.pass()
		b.declare("squadron", "service controller image=2", "web", "service app")
		b.declared[1].Wave = 1
		ctx, end := context.WithCancel(t.Context())
		b.cluster.FailWrites(func(string) error { end(); return nil })
		report, err := b.Pass(ctx)
		require.NoError(t, err)
		assert.Equal(t, reconcile.ActionWaiting, b.of(report, "web").Action, "higher waves are the new process's")
		b.cluster.FailWrites(nil)
		b.restart("")
		report = b.pass()
		assert.Equal(t, reconcile.ActionNone, b.of(report, "squadron").Action)
		assert.True(t, report.Settled())
	})
}

func TestTheOwnStackWithoutSelfRelease(t *testing.T) {
	for _, own := range []string{"squadron", ""} { // whether the Reconciler is told, or the backend alone knows
		onBench(t, func(t *testing.T, b *bench) {
			b.own, b.cfg.Own = "squadron", own
			b.declare("squadron", "service controller", "web", "service app")
			b.restart("SelfRelease")
			for range 2 {
				report := b.pass()
				s := b.of(report, "squadron")
				assert.Equal(t, reconcile.ActionOwn, s.Action)
				assert.Equal(t, reconcile.OutOfSync, s.Sync)
				assert.True(t, b.of(report, "web").Settled())
				if own != "" {
					assert.Contains(t, report.Lacks, "SelfRelease")
				}
			}
			assert.Equal(t, []string{"create web_app"}, b.cluster.Writes())
		})
	}
}

func TestLostCompareAndSwapsAreReportedWithTheirStack(t *testing.T) {
	onBench(t, func(t *testing.T, b *bench) {
		b.declare("web", "service app\nservice cache", "db", "service db")
		b.cluster.Stale("web_cache")
		b.cluster.Stale("db_db")
		report := b.pass()
		assert.Equal(t, []string{"web_cache"}, b.of(report, "web").OutOfBand)
		assert.Equal(t, []string{"db_db"}, b.of(report, "db").OutOfBand)
		assert.Empty(t, b.of(b.quiet(), "web").OutOfBand)
	})
}

func TestRunPassesUntilItsContextEnds(t *testing.T) {
	onBench(t, func(t *testing.T, b *bench) {
		b.cfg.Interval, b.cfg.Jitter = time.Minute, 10*time.Second
		b.restart("")
		b.declare("web", "service app")
		ctx, end := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- b.Run(ctx) }()
		time.Sleep(10 * time.Minute)
		end()
		require.NoError(t, <-ended)
		require.GreaterOrEqual(t, len(b.recorded), 9)
		require.LessOrEqual(t, len(b.recorded), 11)
		waits := map[time.Duration]bool{}
		for i, report := range b.recorded[1:] {
			wait := report.Started.Sub(b.recorded[i].Ended)
			assert.GreaterOrEqual(t, wait, time.Minute)
			assert.LessOrEqual(t, wait, 70*time.Second)
			waits[wait] = true
		}
		assert.Greater(t, len(waits), 1, "waits differ")
	})
}

func TestRunGoesOnAfterAPassThatFailed(t *testing.T) {
	onBench(t, func(t *testing.T, b *bench) {
		b.declare("web", "service app")
		tries := 0
		b.cfg.Record = func(context.Context, reconcile.Report) error {
			tries++
			return errTest
		}
		b.restart("")
		ctx, end := context.WithTimeout(t.Context(), 5*time.Minute)
		defer end()
		require.NoError(t, b.Run(ctx))
		assert.GreaterOrEqual(t, tries, 9)
	})
}

func TestPassesTakeTurns(t *testing.T) {
	onBench(t, func(t *testing.T, b *bench) {
		inside := make(chan struct{})
		b.cfg.Record = func(context.Context, reconcile.Report) error {
			inside <- struct{}{}
			<-inside
			return nil
		}
		b.restart("")
		done := make(chan error)
		go func() { _, err := b.Pass(b.t.Context()); done <- err }()
		<-inside
		ctx, end := context.WithTimeout(t.Context(), time.Second)
		defer end()
		_, err := b.Pass(ctx)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		inside <- struct{}{}
		require.NoError(t, <-done)
	})
}
