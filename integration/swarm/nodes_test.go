package swarm

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/moby/moby/api/types/swarm"
	"github.com/moby/moby/client"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/squadronctl/squadron/reconcile"
	"github.com/squadronctl/squadron/stack"
	engine "github.com/squadronctl/squadron/stack/swarm"
)

// While a worker is lost, what ran there does not count as running; Swarm puts it elsewhere, and nobody deploys anything.
func TestWorkerLost(t *testing.T) {
	t.Parallel()
	worker := real.Nodes()[1]
	h := newHand(t, "lost", "lost")
	h.declare("lost", lines(
		"services:",
		"  all:",
		"    image: "+app1,
		"    stop_grace_period: 1s",
		"    deploy: {mode: global, endpoint_mode: dnsrr}",
		"  spread:",
		"    image: "+app1,
		"    stop_grace_period: 1s",
		"    deploy: {replicas: 2, endpoint_mode: dnsrr, restart_policy: {delay: 1s}, placement: {preferences: [{spread: node.id}]}}",
	))
	h.pass()
	h.holdsStill()
	nodes, err := h.backend().SwarmNodes(t.Context())
	require.NoError(t, err)
	assert.Equal(t, 2, nodes)
	all, spread := stack.ServiceState{Name: "lost_all", Running: 2, Desired: 2, Status: stack.StatusRunning},
		stack.ServiceState{Name: "lost_spread", Running: 2, Desired: 2, Status: stack.StatusRunning}
	assert.Equal(t, []stack.ServiceState{all, spread}, states(t, h))
	require.Len(t, nodesOf(t, "lost_spread"), 2, "each node has a replica")
	versions := versionsOf(t, "lost")
	onWorker := newHand(t, "lost")
	onWorker.config.Client = worker.Client()
	_, err = onWorker.backend().ReadStackServices(t.Context(), "lost")
	assert.True(t, engine.IsNotManager(err), "%v", err)

	worker.Kill()
	require.NoError(t, real.WaitState(t.Context(), worker, swarm.NodeStateDown))
	all.Running, all.Desired = 1, 1
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		found := states(t, h)
		for _, state := range found {
			assert.LessOrEqual(t, state.Running, state.Desired, "%+v", state)
		}
		assert.Equal(c, reconcile.ActionNone, h.try().Stacks[0].Action)
		assert.Equal(c, []stack.ServiceState{all, spread}, found)
	}, settle, pause)
	h.holdsStill()

	require.NoError(t, real.Restart(t.Context(), worker))
	require.NoError(t, real.WaitState(t.Context(), worker, swarm.NodeStateReady))
	all.Running, all.Desired = 2, 2
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		assert.Equal(c, []stack.ServiceState{all, spread}, states(t, h))
	}, settle, pause)
	h.holdsStill()
	assert.Equal(t, versions["lost_all"], versionsOf(t, "lost")["lost_all"], "nothing was written")
}

func states(t *testing.T, h *hand) []stack.ServiceState {
	t.Helper()
	found, err := h.backend().ReadStacks(t.Context(), []string{"lost"})
	require.NoError(t, err)
	return found["lost"]
}

// nodesOf gives the nodes that tasks of a service run on.
func nodesOf(t *testing.T, name string) map[string]bool {
	t.Helper()
	tasks, err := real.Manager().Client().TaskList(t.Context(), client.TaskListOptions{
		Filters: make(client.Filters).Add("service", name).Add("desired-state", "running")})
	require.NoError(t, err)
	nodes := map[string]bool{}
	for _, task := range tasks.Items {
		nodes[task.NodeID] = true
	}
	return nodes
}

// An engine that does not answer may do so later.
func TestNobodyAnswers(t *testing.T) {
	t.Parallel()
	single := newHand(t, "wrong")
	text := lines("services:", "  web: {image: "+app1+"}")

	nobody, err := client.New(client.WithHost("unix://" + filepath.Join(t.TempDir(), "sock")))
	require.NoError(t, err)
	defer nobody.Close()
	single.config.Client = nobody
	err = single.tryDeploy("wrong", text)
	assert.True(t, engine.IsTemporary(err), "%v", err)
	assert.False(t, engine.IsNotManager(err))
	assert.Nil(t, single.backend().StackServices(t.Context(), "wrong"))
	_, err = single.backend().ReadStackServices(t.Context(), "wrong")
	assert.True(t, engine.IsTemporary(err), "%v", err)
}

// overtaken is the API, save that somebody else writes to a service just before the engine's own write gets there.
type overtaken struct {
	engine.API
	times int
	how   func()
}

func (o *overtaken) ServiceUpdate(ctx context.Context, id string, options client.ServiceUpdateOptions) (client.ServiceUpdateResult, error) {
	if o.times > 0 {
		o.times--
		o.how()
	}
	return o.API.ServiceUpdate(ctx, id, options)
}

// A write that loses against somebody else's is told and repeated; one that loses twice is for the next pass.
func TestLostRace(t *testing.T) {
	t.Parallel()
	h := newHand(t, "race", "race")
	api := &overtaken{API: h.config.Client, how: func() {
		change(t, "race_web", func(spec *serviceSpec) { spec.Labels["by-hand"] += "x" })
	}}
	h.config.Client = api
	manifest := lines("services:", "  web:", "    image: "+app1, "    environment: {A: 'VALUE'}", "    deploy: {replicas: 0}")
	h.declare("race", replaced(manifest, "VALUE", "1"))
	h.pass()

	api.times = 1
	h.declare("race", replaced(manifest, "VALUE", "2"))
	report := h.pass().Stacks[0]
	assert.Equal(t, []string{"race_web"}, report.OutOfBand)
	h.holdsStill()

	api.times = 2
	h.declare("race", replaced(manifest, "VALUE", "3"))
	report = h.try().Stacks[0]
	assert.Equal(t, reconcile.ActionFailed, report.Action)
	assert.True(t, engine.IsTemporary(report.Err), report.Error)
	assert.Equal(t, []string{"race_web"}, report.OutOfBand)
	h.pass()
	h.holdsStill()
	spec := service(t, "race_web").Spec
	assert.Equal(t, []string{"A=3"}, spec.TaskTemplate.ContainerSpec.Env)
	assert.NotContains(t, spec.Labels, "by-hand")
}
