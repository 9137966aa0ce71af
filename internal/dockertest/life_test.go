package dockertest_test

import (
	"testing"
	"time"

	"github.com/moby/moby/api/types/swarm"
	"github.com/moby/moby/client"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/squadronctl/squadron/internal/dockertest"
)

func TestTasksGoThroughTheirStates(t *testing.T) {
	onBench(t, dockertest.Config{}, func(t *testing.T, b *bench) {
		b.create(spec("web", "app:1", 1))
		assert.Empty(t, b.swarm.Tasks("web"), "the Swarm has not noticed it")
		var seen []swarm.TaskState
		for range 120 {
			time.Sleep(10 * time.Millisecond)
			for _, task := range b.swarm.Tasks("web") {
				if len(seen) == 0 || seen[len(seen)-1] != task.Status.State {
					seen = append(seen, task.Status.State)
				}
			}
		}
		assert.Equal(t, []swarm.TaskState{
			"new", "pending", "assigned", "accepted", "preparing", "ready", "starting", "running",
		}, seen)
		require.NoError(t, b.swarm.Scale("web", 3))
		time.Sleep(time.Minute)
		assert.Equal(t, map[string]int{"app:1": 3}, b.swarm.Running("web"))
		assert.Nil(t, b.inspect("web").UpdateStatus, "nothing was rolled out")
		require.NoError(t, b.swarm.Scale("web", 0))
		time.Sleep(time.Minute)
		assert.Empty(t, b.swarm.Tasks("web"))
	})
}

func TestAnUpdateReplacesTasks(t *testing.T) {
	onBench(t, dockertest.Config{Behave: failing}, func(t *testing.T, b *bench) {
		b.create(spec("web", "app:1", 2))
		time.Sleep(time.Minute)
		before := b.inspect("web")
		b.update("web", image("app:2"))
		assert.Nil(t, b.inspect("web").UpdateStatus, "the first look after a write shows none")
		time.Sleep(time.Second)
		now := b.inspect("web")
		require.NotNil(t, now.UpdateStatus)
		assert.Equal(t, swarm.UpdateStateUpdating, now.UpdateStatus.State)
		assert.Equal(t, before.Spec, *now.PreviousSpec)
		time.Sleep(time.Minute)
		done := b.inspect("web")
		assert.Equal(t, swarm.UpdateStateCompleted, done.UpdateStatus.State)
		assert.Greater(t, done.Version.Index, now.Version.Index, "the end of an update is a write")
		assert.Equal(t, map[string]int{"app:2": 2}, b.swarm.Running("web"))
		b.update("web", func(spec *swarm.ServiceSpec) { spec.Labels["a"] = "b" })
		time.Sleep(time.Minute)
		assert.Nil(t, b.inspect("web").UpdateStatus)
		assert.Len(t, b.swarm.Tasks("web"), 4)
	})
}

// A failed update is paused, rolled back or goes on, as the service says.
func TestAFailedUpdate(t *testing.T) {
	for action, of := range map[swarm.FailureAction]struct {
		broken, image string
		order         swarm.UpdateOrder
		state         swarm.UpdateState
		running       map[string]int
	}{
		"":         {"app:none", "app:none", "", swarm.UpdateStatePaused, map[string]int{"app:1": 1}},
		"rollback": {"app:bad", "app:1", "start-first", swarm.UpdateStateRollbackCompleted, map[string]int{"app:1": 2}},
		"continue": {"app:none", "app:none", "stop-first", swarm.UpdateStateCompleted, map[string]int{}},
	} {
		t.Run(string(action), func(t *testing.T) {
			onBench(t, dockertest.Config{Behave: failing}, func(t *testing.T, b *bench) {
				wanted := spec("web", "app:1", 2)
				wanted.UpdateConfig = &swarm.UpdateConfig{Parallelism: 1, FailureAction: action, Order: of.order}
				b.create(wanted)
				time.Sleep(time.Minute)
				b.update("web", image(of.broken))
				time.Sleep(time.Minute)
				now := b.inspect("web")
				require.NotNil(t, now.UpdateStatus)
				assert.Equal(t, of.state, now.UpdateStatus.State)
				assert.Equal(t, of.image, now.Spec.TaskTemplate.ContainerSpec.Image)
				assert.Equal(t, action != "rollback", now.PreviousSpec != nil)
				assert.Equal(t, of.running, b.swarm.Running("web"))
			})
		})
	}
}

func TestFailedTasksAreStartedAgain(t *testing.T) {
	onBench(t, dockertest.Config{Behave: failing}, func(t *testing.T, b *bench) {
		b.create(spec("web", "app:bad", 1))
		wanted := spec("once", "app:none", 1)
		wanted.TaskTemplate.RestartPolicy = &swarm.RestartPolicy{
			Condition: swarm.RestartPolicyConditionOnFailure, MaxAttempts: ptr(uint64(1)),
		}
		b.create(wanted)
		time.Sleep(time.Hour)
		assert.Len(t, b.swarm.Tasks("web"), 5)
		failed := b.swarm.Tasks("web")[0]
		assert.Equal(t, swarm.TaskStateFailed, failed.Status.State)
		assert.Equal(t, swarm.TaskStateShutdown, failed.DesiredState)
		assert.Equal(t, "task: non-zero exit (1)", failed.Status.Err)
		tasks := b.swarm.Tasks("once")
		require.Len(t, tasks, 2)
		assert.Equal(t, "No such image: app:none", tasks[1].Status.Err)
		b.update("once", image("app:1"))
		time.Sleep(time.Minute)
		assert.Equal(t, map[string]int{"app:1": 1}, b.swarm.Running("once"))
	})
}

func TestALostNode(t *testing.T) {
	nodes := []dockertest.Node{{Hostname: "m", Manager: true}, {Hostname: "w", Labels: map[string]string{"disk": "ssd"}}}
	onBench(t, dockertest.Config{Nodes: nodes}, func(t *testing.T, b *bench) {
		b.create(spec("web", "app:1", 2))
		all := spec("all", "app:1", 0)
		all.Mode = swarm.ServiceMode{Global: &swarm.GlobalService{}}
		b.create(all)
		there := spec("there", "app:1", 1)
		there.TaskTemplate.Placement = &swarm.Placement{Constraints: []string{"node.labels.disk == ssd"}}
		b.create(there)
		time.Sleep(time.Minute)
		require.NoError(t, b.swarm.NodeDown("w"))
		time.Sleep(time.Minute)
		list, err := b.ServiceList(t.Context(), client.ServiceListOptions{Status: true})
		require.NoError(t, err)
		status := map[string]swarm.ServiceStatus{}
		for _, s := range list.Items {
			status[s.Spec.Name] = *s.ServiceStatus
		}
		assert.Equal(t, map[string]swarm.ServiceStatus{
			"web":   {RunningTasks: 3, DesiredTasks: 2}, // with the one that was lost
			"all":   {RunningTasks: 2, DesiredTasks: 1},
			"there": {RunningTasks: 1, DesiredTasks: 1},
		}, status)
		waits := b.swarm.Tasks("there")[1]
		assert.Equal(t, swarm.TaskStatePending, waits.Status.State)
		assert.Contains(t, waits.Status.Err, "no suitable node (1 node not available for new tasks; scheduling constraints not "+
			"satisfied on 1 node)")
		require.NoError(t, b.swarm.NodeUp("w"))
		time.Sleep(time.Minute)
		for name, running := range map[string]int{"web": 2, "all": 2, "there": 1} {
			assert.Equal(t, map[string]int{"app:1": running}, b.swarm.Running(name), name)
		}
	})
}
