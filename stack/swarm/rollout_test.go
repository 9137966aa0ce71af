package swarm_test

import (
	"context"
	"strings"
	"testing"
	"time"

	api "github.com/moby/moby/api/types/swarm"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/squadronctl/squadron/internal/dockertest"
	"github.com/squadronctl/squadron/stack/swarm"
)

// A change of nothing but ports replaces all tasks, though each is made of what the service says: it is waited for.
func TestAChangeOfPortsIsWaitedFor(t *testing.T) {
	onBench(t, dockertest.Config{}, func(t *testing.T, b *bench) {
		b.mustDeploy("ops", "shop", web)
		b.mustDeploy("ops", "shop", web+"    ports: [\"8080:80\"]\n")
		service, _ := b.swarm.Service("shop_app")
		require.NotNil(t, service.UpdateStatus)
		assert.Equal(t, api.UpdateStateCompleted, service.UpdateStatus.State)
		assert.Equal(t, map[string]int{"shop/web:1": 2}, b.swarm.Running("shop_app"))
	})
}

// A service whose tasks end again and again runs now and then. That is no success, whenever and however often one looks.
func TestACrashLoopIsNeverASuccess(t *testing.T) {
	for name, c := range map[string]struct {
		image, more string
		poll        time.Duration
	}{
		"fails":               {"shop/bad:1", "", 500 * time.Millisecond},
		"ends":                {"shop/once:1", "", 500 * time.Millisecond},
		"is seldom looked at": {"shop/bad:1", "", 6500 * time.Millisecond},
		"at once again":       {"shop/bad:1", "      restart_policy: {delay: 0s}\n", 1500 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			onBench(t, dockertest.Config{Behave: failing}, func(t *testing.T, b *bench) {
				b.config.PollInterval, b.config.WaitTimeout = c.poll, 15*time.Second
				b.restart()
				manifest := webOf(c.image, "1") + c.more
				for range 30 {
					require.True(t, swarm.IsUnconverged(b.deploy("ops", "shop", manifest)))
					time.Sleep(130 * time.Millisecond)
				}
			})
		})
	}
}

// An update that Swarm goes on with whatever fails is completed by its own word only.
func TestAnUpdateThatGoesOnOverFailures(t *testing.T) {
	for _, config := range []string{"{failure_action: continue}", "{max_failure_ratio: 1}"} {
		for delay := range 10 { // between one end and the next start
			onBench(t, dockertest.Config{Behave: failing}, func(t *testing.T, b *bench) {
				b.config.PollInterval, b.config.WaitTimeout = time.Duration(100+delay*130)*time.Millisecond, 15*time.Second
				b.restart()
				manifest := web + "      update_config: " + config + "\n      restart_policy: {delay: 100ms}\n"
				b.mustDeploy("ops", "shop", manifest)
				assert.True(t, swarm.IsUnconverged(b.deploy("ops", "shop", strings.Replace(manifest, "web:1", "bad:2", 1))))
			})
		}
	}
}

// A rollout that is slow by its own config is not given up.
func TestASlowConfigIsNoStandstill(t *testing.T) {
	onBench(t, dockertest.Config{}, func(t *testing.T, b *bench) {
		b.config.PollInterval = 30 * time.Second
		b.restart()
		slow := web + "      update_config: {delay: 20m, monitor: 20m}\n"
		b.mustDeploy("ops", "shop", slow)
		b.mustDeploy("ops", "shop", strings.Replace(slow, "web:1", "web:2", 1))
	})
}

// Nothing is written to a service of which a rollout is under way: together they could take more down than either may.
func TestAWriteWaitsForTheRolloutUnderWay(t *testing.T) {
	onBench(t, dockertest.Config{Timing: dockertest.Timing{Start: 20 * time.Second}}, func(t *testing.T, b *bench) {
		b.mustDeploy("ops", "shop", webOf("shop/web:1", "4"))
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Second)
		defer cancel()
		require.ErrorIs(t, deployWith(ctx, b.engine, "ops", "shop", webOf("shop/web:2", "4")), context.DeadlineExceeded)
		b.restart()
		done := make(chan error, 1)
		go func() { done <- b.deploy("ops", "shop", webOf("shop/web:3", "4")) }()
		for {
			running := 0
			for _, copies := range b.swarm.Running("shop_app") {
				running += copies
			}
			require.GreaterOrEqual(t, running, 3, "parallelism is 1")
			select {
			case err := <-done:
				require.NoError(t, err)
				assert.Equal(t, map[string]int{"shop/web:3": 4}, b.swarm.Running("shop_app"))
				return
			case <-time.After(time.Second):
			}
		}
	})
}

// One that never ends is not waited for for ever: what mends it is written.
func TestAWriteMendsARolloutThatHangs(t *testing.T) {
	onBench(t, dockertest.Config{Behave: failing}, func(t *testing.T, b *bench) {
		b.mustDeploy("ops", "shop", web)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		require.ErrorIs(t, deployWith(ctx, b.engine, "ops", "shop", webOf("shop/hangs:2", "2")), context.DeadlineExceeded)
		b.mustDeploy("ops", "shop", webOf("shop/web:3", "2"))
		assert.Equal(t, map[string]int{"shop/web:3": 2}, b.swarm.Running("shop_app"))
	})
}

// Swarm goes back to what somebody had changed by hand, under the label of the manifest that can't be brought back: that is
// no success, and is not tried again and again.
func TestARollbackToWhatWasChangedByHand(t *testing.T) {
	bad := ""
	behave := func(image string) dockertest.Outcome {
		if image == bad {
			return dockertest.Fails
		}
		return dockertest.Runs
	}
	onBench(t, dockertest.Config{Behave: behave}, func(t *testing.T, b *bench) {
		b.mustDeploy("ops", "shop", rollsBack)
		require.NoError(t, b.swarm.EditService("shop_app", func(spec *api.ServiceSpec) { spec.TaskTemplate.ContainerSpec.Image = "shop/hand:1" }))
		time.Sleep(time.Minute)
		bad = "shop/web:1"
		again := func() error { return b.deploy("ops", "shop", rollsBack) }
		b.wrote()
		require.True(t, swarm.IsRolledBack(again()))
		require.Len(t, b.wrote(), 1)
		assert.True(t, swarm.IsRolledBack(b.unwritten(again)))
		b.restart()
		assert.True(t, swarm.IsRolledBack(b.unwritten(again)), "by the next process")
	})
}

// What was rolled back of one service is not written again by the next process either when the manifest changes elsewhere.
func TestARollbackIsNotRepeatedByAnotherManifest(t *testing.T) {
	onBench(t, dockertest.Config{Behave: failing}, func(t *testing.T, b *bench) {
		b.mustDeploy("ops", "shop", rollsBack)
		require.True(t, swarm.IsRolledBack(b.deploy("ops", "shop", rollsBackOf("shop/bad:2"))))
		b.restart()
		b.wrote()
		require.True(t, swarm.IsRolledBack(b.deploy("ops", "shop", rollsBackOf("shop/bad:2")+"  db: {image: shop/db:1}\n")))
		assert.Equal(t, []string{"ServiceCreate shop_db"}, b.wrote())
		b.mustDeploy("ops", "shop", rollsBackOf("shop/web:3"))
	})
}
