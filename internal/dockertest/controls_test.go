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

func TestStatusByHand(t *testing.T) {
	onBench(t, dockertest.Config{}, func(t *testing.T, b *bench) {
		b.create(spec("web", "app:1", 1))
		require.Error(t, b.swarm.RollBack("web", "no reason"), "there is no previous spec")
		b.update("web", image("app:2"))
		time.Sleep(time.Minute)
		require.NoError(t, b.swarm.RollBack("web", "by order"))
		assert.Equal(t, swarm.UpdateStateRollbackStarted, b.inspect("web").UpdateStatus.State)
		assert.Equal(t, "by order", b.inspect("web").UpdateStatus.Message)
		time.Sleep(time.Minute)
		assert.Equal(t, swarm.UpdateStateRollbackCompleted, b.inspect("web").UpdateStatus.State)
		assert.Equal(t, map[string]int{"app:1": 1}, b.swarm.Running("web"))
		require.NoError(t, b.swarm.SetUpdateStatus("web", swarm.UpdateStateRollbackPaused, "stuck"))
		assert.Equal(t, swarm.UpdateStateRollbackPaused, b.inspect("web").UpdateStatus.State)
		b.update("web", func(spec *swarm.ServiceSpec) { spec.Labels["a"] = "b" })
		assert.Nil(t, b.inspect("web").UpdateStatus, "the next write clears it")
	})
}

func TestATaskThatDies(t *testing.T) {
	onBench(t, dockertest.Config{}, func(t *testing.T, b *bench) {
		b.create(spec("web", "app:1", 1))
		require.Error(t, b.swarm.FailTask("web", 1, 3), "nothing runs yet")
		time.Sleep(time.Minute)
		require.NoError(t, b.swarm.FailTask("web", 1, 3))
		tasks := b.swarm.Tasks("web")
		require.Len(t, tasks, 2)
		assert.Equal(t, 3, tasks[0].Status.ContainerStatus.ExitCode)
		assert.Equal(t, swarm.TaskStateReady, tasks[1].DesiredState, "the next one waits")
		time.Sleep(time.Minute)
		assert.Equal(t, map[string]int{"app:1": 1}, b.swarm.Running("web"))
	})
}

func TestAnotherNode(t *testing.T) {
	onBench(t, dockertest.Config{}, func(t *testing.T, b *bench) {
		all := spec("all", "app:1", 0)
		all.Mode = swarm.ServiceMode{Global: &swarm.GlobalService{}}
		all.TaskTemplate.Placement = &swarm.Placement{Constraints: []string{"node.labels.disk != hdd"}}
		b.create(all)
		time.Sleep(time.Minute)
		require.NoError(t, b.swarm.AddNode(dockertest.Node{Hostname: "w"}))
		require.Error(t, b.swarm.AddNode(dockertest.Node{Hostname: "w"}))
		time.Sleep(time.Minute)
		assert.Equal(t, map[string]int{"app:1": 2}, b.swarm.Running("all"))
		require.Len(t, b.swarm.Nodes(), 2)
		require.NoError(t, b.swarm.LabelNode("w", "disk", "hdd"))
		time.Sleep(time.Minute)
		assert.Equal(t, map[string]int{"app:1": 1}, b.swarm.Running("all"))
	})
}

// A foreign service keeps its tasks until they have stopped, after it is gone itself.
func TestARemovedService(t *testing.T) {
	onBench(t, dockertest.Config{}, func(t *testing.T, b *bench) {
		_, err := b.swarm.CreateService(spec("web", "app:1", 2))
		require.NoError(t, err)
		time.Sleep(time.Minute)
		tasks := func() []swarm.Task {
			list, err := b.TaskList(t.Context(), client.TaskListOptions{Filters: filter("label", "role=web")})
			require.NoError(t, err)
			return list.Items
		}
		require.Len(t, tasks(), 2)
		require.NoError(t, b.swarm.Remove(dockertest.KindService, "web"))
		require.Len(t, tasks(), 2)
		assert.Equal(t, swarm.TaskStateRemove, tasks()[0].DesiredState)
		assert.Equal(t, swarm.TaskStateRunning, tasks()[0].Status.State)
		time.Sleep(time.Minute)
		assert.Empty(t, tasks())
		assert.Empty(t, b.swarm.Writes(), "nothing of it was asked by the API")
	})
}
