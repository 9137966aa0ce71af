package swarm

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/moby/moby/api/types/swarm"
	"github.com/moby/moby/client"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/squadronctl/squadron/reconcile"
	"github.com/squadronctl/squadron/stack"
	"github.com/squadronctl/squadron/stack/revision"
)

const ownStack = `
services:
  controller:
    image: squadron.test/controller:1
    command: [own]
    environment: {REVISION: "NUMBER", SOCKET: "THESOCKET", STATE: "THEDIR"}
    stop_grace_period: 5s
    volumes: ["THESOCKET:/var/run/docker.sock", "THEDIR:/state"]
    deploy: {endpoint_mode: dnsrr, placement: {constraints: [node.role == manager]}}
  helper:
    image: squadron.test/app:1
    environment: {REVISION: "NUMBER"}
    stop_grace_period: 1s
    deploy: {endpoint_mode: dnsrr, placement: {constraints: [node.role == manager]}}
`

// pass is a line that the program controller writes for each of its passes.
type pass struct {
	Revision string
	reconcile.StackReport
}

func passes(t assert.TestingT, dir string) []pass {
	text, err := os.ReadFile(filepath.Join(dir, "passes"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	require.NoError(t.(require.TestingT), err)
	var all []pass
	for line := range bytes.Lines(text) {
		var one pass
		if json.Unmarshal(line, &one) == nil { // the last line may be half written
			all = append(all, one)
		}
	}
	return all
}

// A controller that is a service updates the stack that it is in: what else is in it first, and itself once, as the last thing
// that it does, after it has recorded the pass. Its successor finds nothing left to do. It does not remove its stack.
func TestControllerUpdatesItsOwnStack(t *testing.T) {
	t.Parallel()
	require.NoError(t, real.Import(t.Context(), own, "./controller", real.Manager()))
	dir := t.TempDir()
	store, err := revision.NewDirectory(filepath.Join(dir, "revisions"))
	require.NoError(t, err)
	socket := real.Manager().Socket()
	manifest := func(number string) string {
		return replaced(ownStack, "NUMBER", number, "THESOCKET", socket, "THEDIR", dir)
	}
	write := func(number string) {
		next := filepath.Join(dir, "next")
		require.NoError(t, os.WriteFile(next, []byte(manifest(number)), 0o644))
		require.NoError(t, os.Rename(next, filepath.Join(dir, "manifest.yml")))
	}
	write("1")
	h := newHand(t, "controller", "own")
	h.config.Store = store
	h.allow = stack.Allow{HostPaths: []string{dir}}
	assert.True(t, stack.IsForbiddenReference(h.tryDeploy("own", manifest("1"))), "the engine's socket is not allowed by itself")
	h.allow.HostPaths = append(h.allow.HostPaths, socket)
	t.Cleanup(func() { endController(t, dir) })
	h.deploy("own", manifest("1"))
	awaitPass(t, dir, "1", reconcile.ActionNone)
	versions := versionsOf(t, "own")

	write("2")
	awaitPass(t, dir, "2", reconcile.ActionNone)
	controller, helper := service(t, "own_controller"), service(t, "own_helper")
	for _, of := range []swarm.Service{controller, helper} {
		assert.Contains(t, of.Spec.TaskTemplate.ContainerSpec.Env, "REVISION=2")
		assert.Greater(t, of.Version.Index, versions[of.Spec.Name])
	}
	var held []pass
	for _, one := range passes(t, dir) {
		assert.Empty(t, one.Error)
		if one.Action == reconcile.ActionHeld {
			held = append(held, one)
		}
	}
	if assert.Len(t, held, 1, "itself is replaced once") {
		assert.Equal(t, "1", held[0].Revision)
	}
	tasks, err := real.Manager().Client().TaskList(t.Context(), client.TaskListOptions{
		Filters: make(client.Filters).Add("service", controller.ID)})
	require.NoError(t, err)
	assert.Len(t, tasks.Items, 2, "one controller of each revision")
	slices.SortFunc(tasks.Items, func(a, b swarm.Task) int { return a.CreatedAt.Compare(b.CreatedAt) })
	helpers, err := real.Manager().Client().TaskList(t.Context(), client.TaskListOptions{
		Filters: make(client.Filters).Add("service", helper.ID)})
	require.NoError(t, err)
	for _, task := range helpers.Items {
		assert.True(t, task.CreatedAt.Before(tasks.Items[1].CreatedAt), "the helper was updated first")
	}
	removal, err := os.ReadFile(filepath.Join(dir, "removal"))
	require.NoError(t, err)
	assert.Contains(t, string(removal), "refused: true")
}

// endController ends the controller before its stack is removed, which it would deploy again.
func endController(t *testing.T, dir string) {
	t.Helper()
	assert.NoError(t, os.Remove(filepath.Join(dir, "manifest.yml")))
	api := real.Manager().Client()
	_, err := api.ServiceRemove(context.Background(), "own_controller", client.ServiceRemoveOptions{})
	assert.NoError(t, err)
	assert.Eventually(t, func() bool {
		containers, err := api.ContainerList(context.Background(), client.ContainerListOptions{
			Filters: make(client.Filters).Add("ancestor", own)})
		return err == nil && len(containers.Items) == 0
	}, settle, pause)
}

// awaitPass waits for a pass of a controller of that revision that did that, and left nothing to do.
func awaitPass(t *testing.T, dir, revision string, action reconcile.Action) {
	t.Helper()
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		all := passes(c, dir)
		assert.True(c, slices.ContainsFunc(all, func(one pass) bool {
			return one.Revision == revision && one.Action == action && one.Settled()
		}), "%+v", all)
	}, settle, pause)
}
