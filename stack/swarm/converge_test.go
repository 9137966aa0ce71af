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
	"github.com/squadronctl/squadron/stack"
	"github.com/squadronctl/squadron/stack/swarm"
)

// failing has the images with these words in their names fail, each in its way.
func failing(image string) dockertest.Outcome {
	for word, outcome := range map[string]dockertest.Outcome{
		"bad": dockertest.Fails, "once": dockertest.Completes, "nowhere": dockertest.Rejected, "hangs": dockertest.Hangs,
	} {
		if strings.Contains(image, word) {
			return outcome
		}
	}
	return dockertest.Runs
}

const rollsBack = web + "      update_config: {failure_action: rollback}\n"

func rollsBackOf(image string) string { return strings.Replace(rollsBack, "shop/web:1", image, 1) }

// What Swarm rolls back is reported, and not deployed again: not by this process, and not by the next.
func TestARollbackIsReportedAndNotRepeated(t *testing.T) {
	onBench(t, dockertest.Config{Behave: failing}, func(t *testing.T, b *bench) {
		b.mustDeploy("ops", "shop", rollsBack)
		err := b.deploy("ops", "shop", rollsBackOf("shop/bad:2"))
		require.True(t, swarm.IsRolledBack(err), "%v", err)
		assert.False(t, swarm.IsUnconverged(err) || swarm.IsTemporary(err))
		assert.ErrorContains(t, err, "service shop_app")
		assert.ErrorContains(t, err, "rollback completed")
		assert.Equal(t, map[string]int{"shop/web:1": 2}, b.swarm.Running("shop_app"))
		states, err := b.engine.ReadStackServices(t.Context(), "shop")
		require.NoError(t, err)
		assert.Equal(t, stack.StatusRunning, states[0].Status)
		assert.Contains(t, states[0].Message, "rolled it back")

		again := func() error { return b.deploy("ops", "shop", rollsBackOf("shop/bad:2")) }
		assert.True(t, swarm.IsRolledBack(b.unwritten(again)))
		b.restart()
		assert.True(t, swarm.IsRolledBack(b.unwritten(again)), "by the next process")
		request := stack.DeployRequest{Name: "shop", Owner: "ops", Manifest: rollsBackOf("shop/bad:2")}
		assert.True(t, swarm.IsRolledBack(b.engine.CheckDeploy(t.Context(), request)))
		for range 10 {
			time.Sleep(time.Hour)
			assert.True(t, swarm.IsRolledBack(b.unwritten(again)))
		}
		b.quiet("ops", "shop", rollsBack) // the one of before is what is there

		more := rollsBackOf("shop/bad:2") + "  db: {image: shop/db:1}\n"
		err = b.deploy("ops", "shop", more)
		assert.True(t, swarm.IsRolledBack(err), "the same of this service in another manifest")
		assert.Equal(t, map[string]int{"shop/db:1": 1}, b.swarm.Running("shop_db"), "the rest is deployed")
		b.mustDeploy("ops", "shop", rollsBackOf("shop/web:3"))
		assert.Equal(t, map[string]int{"shop/web:3": 2}, b.swarm.Running("shop_app"))
	})
}

// What this process has seen rolled back it knows, though the store does not tell: another manifest was recorded later.
func TestARollbackOfAnOlderManifest(t *testing.T) {
	onBench(t, dockertest.Config{Behave: failing}, func(t *testing.T, b *bench) {
		b.mustDeploy("ops", "shop", rollsBack)
		require.True(t, swarm.IsRolledBack(b.deploy("ops", "shop", rollsBackOf("shop/bad:2"))))
		b.mustDeploy("ops", "shop", rollsBackOf("shop/web:3"))
		again := func() error { return b.deploy("ops", "shop", rollsBackOf("shop/bad:2")) }
		b.wrote()
		require.True(t, swarm.IsRolledBack(again()))
		require.Len(t, b.wrote(), 1, "the service was out of that state")
		assert.True(t, swarm.IsRolledBack(b.unwritten(again)))
	})
}

// Somebody brings the service out of that state: then the same thing is tried again.
func TestARollbackThatSomebodyEnded(t *testing.T) {
	onBench(t, dockertest.Config{Behave: failing}, func(t *testing.T, b *bench) {
		b.mustDeploy("ops", "shop", rollsBack)
		require.True(t, swarm.IsRolledBack(b.deploy("ops", "shop", rollsBackOf("shop/bad:2"))))
		require.NoError(t, b.swarm.Label("shop_app", "note", "try again"))
		b.wrote()
		require.True(t, swarm.IsRolledBack(b.deploy("ops", "shop", rollsBackOf("shop/bad:2"))))
		assert.Equal(t, []string{"ServiceUpdate shop_app"}, b.wrote())
	})
}

// A rollback from before the manifest was recorded is not the manifest's: the process ended before it wrote it.
func TestAnEarlierRollbackIsNotTheManifests(t *testing.T) {
	onBench(t, dockertest.Config{Behave: failing}, func(t *testing.T, b *bench) {
		b.mustDeploy("ops", "shop", rollsBack)
		require.True(t, swarm.IsRolledBack(b.deploy("ops", "shop", rollsBackOf("shop/bad:2"))))
		time.Sleep(time.Minute)
		b.swarm.FailWrites(func(string) error { return dockertest.ErrHang })
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		require.Error(t, deployWith(ctx, b.engine, "ops", "shop", rollsBackOf("shop/web:3")))
		b.swarm.FailWrites(nil)
		b.restart()
		b.mustDeploy("ops", "shop", rollsBackOf("shop/web:3"))
		assert.Equal(t, map[string]int{"shop/web:3": 2}, b.swarm.Running("shop_app"))
	})
}

func TestAPausedUpdateIsAnError(t *testing.T) {
	onBench(t, dockertest.Config{Behave: failing}, func(t *testing.T, b *bench) {
		b.mustDeploy("ops", "shop", web)
		begun := time.Now()
		err := b.deploy("ops", "shop", webOf("shop/bad:2", "2"))
		require.True(t, swarm.IsUnconverged(err), "%v", err)
		assert.ErrorContains(t, err, "paused")
		assert.ErrorContains(t, err, "shop_app")
		assert.ErrorContains(t, err, "non-zero exit (1)")
		assert.Less(t, time.Since(begun), time.Minute)
		states := b.engine.StackServices(t.Context(), "shop")
		assert.Equal(t, stack.StatusFailed, states[0].Status)
		b.mustDeploy("ops", "shop", web)
	})
}

// A task that fails is started again by its policy; only when that gives up, or nothing moves for long, it is an error.
func TestFailingTasks(t *testing.T) {
	for name, c := range map[string]struct {
		image, policy, says, status string
		atMost                      time.Duration
	}{
		"for ever":     {"shop/bad:1", "", "non-zero exit (1)", stack.StatusFailed, 6 * time.Minute},
		"three times":  {"shop/bad:1", "{max_attempts: 3}", "Swarm starts no other", stack.StatusFailed, time.Minute},
		"never again":  {"shop/bad:1", "{condition: none}", "Swarm starts no other", stack.StatusFailed, 20 * time.Second},
		"ends":         {"shop/once:1", "{max_attempts: 1}", "Swarm starts no other", stack.StatusFailed, time.Minute},
		"not there":    {"shop/nowhere:1", "", "No such image", stack.StatusFailed, 6 * time.Minute},
		"does nothing": {"shop/hangs:1", "", "nothing has moved for 5m0s", stack.StatusStarting, 6 * time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			onBench(t, dockertest.Config{Behave: failing}, func(t *testing.T, b *bench) {
				b.config.PollInterval = 2 * time.Second
				b.restart()
				manifest := webOf(c.image, "2")
				if c.policy != "" {
					manifest += "      restart_policy: " + c.policy + "\n"
				}
				begun := time.Now()
				err := b.deploy("ops", "shop", manifest)
				require.True(t, swarm.IsUnconverged(err), "%v", err)
				assert.ErrorContains(t, err, c.says)
				assert.ErrorContains(t, err, "service shop_app")
				assert.ErrorContains(t, err, "0 of 2 run")
				assert.Less(t, time.Since(begun), c.atMost)
				states := b.engine.StackServices(t.Context(), "shop")
				require.Len(t, states, 1)
				assert.Equal(t, c.status, states[0].Status)
				assert.Equal(t, 2, states[0].Desired)
			})
		})
	}
}

// What has run and ended well, and is not to run again, is done.
func TestWhatEndsWellIsDone(t *testing.T) {
	onBench(t, dockertest.Config{Behave: failing}, func(t *testing.T, b *bench) {
		manifest := webOf("shop/once:1", "2") + "      restart_policy: {condition: on-failure}\n"
		b.mustDeploy("ops", "shop", manifest)
		time.Sleep(time.Minute)
		b.quiet("ops", "shop", manifest)
		assert.Equal(t, []stack.ServiceState{{Name: "shop_app", Running: 2, Desired: 2, Status: stack.StatusRunning}},
			b.engine.StackServices(t.Context(), "shop"))
	})
}

func TestGlobalServices(t *testing.T) {
	const global = "services:\n  app:\n    image: shop/web:1\n    deploy: {mode: global}\n"
	nodes := []dockertest.Node{{Hostname: "one", Manager: true}, {Hostname: "two"}, {Hostname: "three"}}
	onBench(t, dockertest.Config{Nodes: nodes}, func(t *testing.T, b *bench) {
		b.mustDeploy("ops", "shop", global)
		assert.Equal(t, map[string]int{"shop/web:1": 3}, b.swarm.Running("shop_app"))
		require.NoError(t, b.swarm.NodeDown("two"))
		assert.Equal(t, []stack.ServiceState{{Name: "shop_app", Running: 2, Desired: 2, Status: stack.StatusRunning}},
			b.engine.StackServices(t.Context(), "shop"))
		b.quiet("ops", "shop", global)
		count, err := b.engine.SwarmNodes(t.Context())
		require.NoError(t, err)
		assert.Equal(t, 3, count)
		b.mustDeploy("ops", "far", strings.Replace(global, "mode: global", "mode: global, placement: {constraints: [node.hostname==four]}", 1))
		assert.Equal(t, 0, b.engine.StackServices(t.Context(), "far")[0].Desired)
	})
}

// A task on a node that is down does not count, whatever it was last said to do.
func TestTasksOfALostNodeDoNotRun(t *testing.T) {
	nodes := []dockertest.Node{{Hostname: "one", Manager: true}, {Hostname: "two"}}
	onBench(t, dockertest.Config{Nodes: nodes, Timing: dockertest.Timing{Start: 10 * time.Second}}, func(t *testing.T, b *bench) {
		b.mustDeploy("ops", "shop", web)
		require.NoError(t, b.swarm.NodeDown("two"))
		states := b.engine.StackServices(t.Context(), "shop")
		assert.Equal(t, 1, states[0].Running)
		assert.Equal(t, 2, states[0].Desired)
		assert.Equal(t, stack.StatusStarting, states[0].Status)
		b.quiet("ops", "shop", web)
		assert.Equal(t, 2, b.engine.StackServices(t.Context(), "shop")[0].Running, "it has waited for the other node")
	})
}

func TestStatesWhileThingsMove(t *testing.T) {
	onBench(t, dockertest.Config{Timing: dockertest.Timing{Start: 10 * time.Second, Stop: 10 * time.Second}}, func(t *testing.T, b *bench) {
		state := func() stack.ServiceState { return b.engine.StackServices(t.Context(), "shop")[0] }
		done := make(chan error)
		go func() { done <- b.deploy("ops", "shop", web) }()
		time.Sleep(5 * time.Second)
		assert.Equal(t, stack.StatusStarting, state().Status)
		require.NoError(t, <-done)
		assert.Equal(t, stack.StatusRunning, state().Status)

		go func() { done <- b.deploy("ops", "shop", webOf("shop/web:2", "2")) }()
		time.Sleep(25 * time.Second)
		assert.Equal(t, stack.StatusStarting, state().Status)
		require.NoError(t, <-done)
		assert.Equal(t, map[string]int{"shop/web:2": 2}, b.swarm.Running("shop_app"))

		require.NoError(t, b.deploy("ops", "shop", webOf("shop/web:2", "0")))
		assert.Equal(t, stack.StatusStopping, state().Status)
		time.Sleep(time.Minute)
		assert.Equal(t, stack.ServiceState{Name: "shop_app", Status: stack.StatusStopped}, state())
	})
}

// The end of a context ends the wait; what Swarm was told goes on.
func TestTheEndOfAContextEndsTheWait(t *testing.T) {
	onBench(t, dockertest.Config{Timing: dockertest.Timing{Start: time.Minute}}, func(t *testing.T, b *bench) {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		err := deployWith(ctx, b.engine, "ops", "shop", web)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		assert.ErrorContains(t, err, "shop_app is starting, 0 of 2 run")
		b.quiet("ops", "shop", web)
	})
}

// A service that somebody removes meanwhile is not waited for.
func TestAServiceThatGoesWhileItIsWaitedFor(t *testing.T) {
	onBench(t, dockertest.Config{Timing: dockertest.Timing{Start: time.Minute}}, func(t *testing.T, b *bench) {
		done := make(chan error)
		go func() { done <- b.deploy("ops", "shop", web) }()
		time.Sleep(10 * time.Second)
		require.NoError(t, b.swarm.Remove(dockertest.KindService, "shop_app"))
		err := <-done
		require.True(t, swarm.IsUnconverged(err), "%v", err)
		assert.ErrorContains(t, err, "removed it")
	})
}

// A rolling update that goes on is not given up, however long it takes.
func TestALongRolloutIsWaitedFor(t *testing.T) {
	onBench(t, dockertest.Config{}, func(t *testing.T, b *bench) {
		b.config.PollInterval = 10 * time.Second
		b.restart()
		slow := webOf("shop/web:1", "10") + "      update_config: {delay: 2m}\n"
		b.mustDeploy("ops", "shop", slow)
		begun := time.Now()
		b.mustDeploy("ops", "shop", strings.Replace(slow, "shop/web:1", "shop/web:2", 1))
		assert.Greater(t, time.Since(begun), 15*time.Minute)
		service, _ := b.swarm.Service("shop_app")
		assert.Equal(t, api.UpdateStateCompleted, service.UpdateStatus.State)
	})
}
