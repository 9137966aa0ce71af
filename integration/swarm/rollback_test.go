package swarm

import (
	"strings"
	"testing"

	"github.com/moby/moby/api/types/swarm"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/squadronctl/squadron/reconcile"
	engine "github.com/squadronctl/squadron/stack/swarm"
)

const careful = `
services:
  web:
    image: IMAGE
    environment: {REVISION: "VERSION"}
    stop_grace_period: 1s
    deploy:
      replicas: 2
      endpoint_mode: dnsrr
      update_config: {parallelism: 1, order: stop-first, failure_action: rollback, monitor: 2s}
      rollback_config: {parallelism: 2, monitor: 1s}
      restart_policy: {delay: 500ms}
      placement: {constraints: [node.role == manager]}
  other:
    image: squadron.test/app:1
    stop_grace_period: 1s
    deploy: {endpoint_mode: dnsrr, placement: {constraints: [node.role == manager]}}
`

// An update replaces what has changed, and nothing else.
func TestUpdateWritesWhatHasChanged(t *testing.T) {
	t.Parallel()
	h := newHand(t, "update", "update")
	h.declare("update", replaced(careful, "IMAGE", app1, "VERSION", "1"))
	h.pass()
	before := versionsOf(t, "update")
	h.declare("update", replaced(careful, "IMAGE", app2, "VERSION", "2"))
	report := h.pass()
	assert.Equal(t, reconcile.ReasonManifest, report.Stacks[0].Reason)
	after := versionsOf(t, "update")
	assert.Equal(t, before["update_other"], after["update_other"])
	assert.Greater(t, after["update_web"], before["update_web"])
	web := service(t, "update_web")
	assert.Equal(t, app2, web.Spec.TaskTemplate.ContainerSpec.Image)
	assert.Equal(t, []string{"REVISION=2"}, web.Spec.TaskTemplate.ContainerSpec.Env)
	require.NotNil(t, web.UpdateStatus)
	assert.Equal(t, swarm.UpdateStateCompleted, web.UpdateStatus.State, "the deployment has waited for the whole update")
	h.holdsStill()
}

// What Swarm has rolled back is reported and not deployed again, by this process and by one after it; another manifest is.
func TestRollbackIsReported(t *testing.T) {
	t.Parallel()
	h := newHand(t, "back", "back")
	good := replaced(careful, "IMAGE", app1, "VERSION", "1")
	bad := replaced(careful, "IMAGE", app3, "VERSION", "2") // there is no such image
	h.declare("back", good)
	h.pass()

	h.declare("back", bad)
	first := h.try().Stacks[0]
	assert.Equal(t, reconcile.ActionFailed, first.Action)
	assert.True(t, engine.IsRolledBack(first.Err), first.Error)
	assert.Contains(t, first.Error, "back_web")
	assert.Contains(t, first.Error, "roll", "it has Swarm's own words")
	rolledBack := service(t, "back_web")
	assert.Equal(t, app1, rolledBack.Spec.TaskTemplate.ContainerSpec.Image)
	waitForEnd(t, "back_web")
	versions := versionsOf(t, "back")

	for name, of := range map[string]*hand{"the same process": h, "the next process": h.again()} {
		for range 2 {
			report := of.try().Stacks[0]
			assert.Equal(t, reconcile.ActionFailed, report.Action, name)
			assert.True(t, engine.IsRolledBack(report.Err), "%s: %s", name, report.Error)
		}
		assert.Equal(t, versions, versionsOf(t, "back"), "%s has written", name)
	}

	h.declare("back", strings.ReplaceAll(bad, app3, app2))
	assert.Equal(t, reconcile.ActionDeployed, h.pass().Stacks[0].Action)
	assert.Equal(t, app2, service(t, "back_web").Spec.TaskTemplate.ContainerSpec.Image)
	h.holdsStill()
}

// waitForEnd waits until Swarm has ended a rollback.
func waitForEnd(t *testing.T, name string) {
	t.Helper()
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		status := service(t, name).UpdateStatus
		require.NotNil(c, status)
		assert.Equal(c, swarm.UpdateStateRollbackCompleted, status.State, status.Message)
	}, settle, pause)
}
