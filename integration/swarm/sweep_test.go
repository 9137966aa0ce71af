package swarm

import (
	"context"
	"maps"
	"slices"
	"testing"

	"github.com/moby/moby/api/types/swarm"
	"github.com/moby/moby/client"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/squadronctl/squadron/prune"
	"github.com/squadronctl/squadron/stack"
)

const shrinking = `
services:
  stays:
    image: squadron.test/app:1
    stop_grace_period: 1s
    networks: [stays]
    configs: [settings]
    secrets: [password]
    deploy: {endpoint_mode: dnsrr, placement: {constraints: [node.role == manager]}}
GOES  goes:
GOES    image: squadron.test/app:1
GOES    stop_grace_period: 1s
GOES    networks: [stays, goes]
GOES    configs: [more]
GOES    secrets: [another]
GOES    deploy: {endpoint_mode: dnsrr, placement: {constraints: [node.role == manager]}}
networks:
  stays:
GOES  goes:
configs:
  settings: {content: "VALUE"}
GOES  more: {content: more}
secrets:
  password: {content: "VALUE"}
GOES  another: {content: another}
`

// sweep removes what the hand's stacks no longer declare, and gives what became of what by name.
func (h *hand) sweep() map[string]prune.Outcome {
	h.t.Helper()
	config := prune.Config{Backend: h.backend(), Owner: h.owner, Store: h.config.Store, Complete: true}
	for _, declared := range h.declared {
		config.Declared = append(config.Declared, prune.Declared{Name: declared.Name, Manifest: declared.Manifest})
	}
	report, err := prune.Sweep(h.t.Context(), config)
	require.NoError(h.t, err)
	found := map[string]prune.Outcome{}
	for _, item := range report.Items {
		name := item.Stack
		if item.Kind != prune.KindStack {
			name = item.Name
		}
		found[string(item.Kind)+" "+name] = item.Outcome
	}
	return found
}

// names gives the names of all that there is of a stack.
func namesOf(t *testing.T, name string) []string {
	t.Helper()
	found := contentsOf(t, name)
	var all []string
	for kind, of := range found {
		for key := range of.(map[string]any) {
			all = append(all, kind+" "+key)
		}
	}
	slices.Sort(all)
	return all
}

// Services, configs, secrets and networks go once they are not declared, those in use with the next pass, and whole stacks;
// all that another owner has, and all that nobody recorded, stays.
func TestSweepOfAllKinds(t *testing.T) {
	t.Parallel()
	h := newHand(t, "sweeper", "sweep", "sweep2")
	h.declare("sweep", replaced(shrinking, "GOES", "", "VALUE", "one"))
	h.declare("sweep2", replaced(shrinking, "GOES", "# ", "VALUE", "one"))
	other := newHand(t, "somebody", "sweep3")
	other.declare("sweep3", replaced(shrinking, "GOES", "# ", "VALUE", "one"))
	h.pass()
	other.pass()
	untouched := versionsOf(t, "sweep3")
	assert.Empty(t, h.sweep())

	// Somebody uses a network and a config that are to go, and has put something of his own under the stack's label.
	guest := addGuest(t)
	h.declare("sweep", replaced(shrinking, "GOES", "# ", "VALUE", "two"))
	h.declared = h.declared[:1] // sweep2 is no longer declared
	h.pass()
	outcomes := h.sweep()
	hashed := map[prune.Outcome]int{}
	for name, outcome := range maps.Clone(outcomes) {
		if plainName := plain(name); plainName != name {
			hashed[outcome]++
			delete(outcomes, name)
		}
	}
	assert.Equal(t, map[string]prune.Outcome{
		"stack sweep2":        prune.Removed,
		"service sweep_goes":  prune.Removed,
		"network sweep_goes":  prune.Left,
		"config sweep-guest":  prune.Unmanaged,
		"service sweep-guest": prune.Unmanaged,
	}, outcomes)
	// Of the old content and of the service that is gone, two configs and two secrets.
	assert.Equal(t, map[prune.Outcome]int{prune.Removed: 3, prune.Left: 1}, hashed)
	assert.Empty(t, namesOf(t, "sweep2"))

	guest()
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		h.sweep()
		assert.Equal(c, []string{"configs STACK_settings", "networks STACK_stays", "secrets STACK_password", "services STACK_stays"},
			namesOf(t, "sweep"))
	}, settle, pause)
	h.holdsStill()
	assert.Equal(t, untouched, versionsOf(t, "sweep3"))
	other.holdsStill()
	h.declared = nil
	assert.Equal(t, map[string]prune.Outcome{"stack sweep": prune.Removed}, h.sweep())
	assert.Len(t, namesOf(t, "sweep3"), 4)
}

// addGuest adds a service and a config that carry the namespace's label and no owner's; the service uses the stack's network
// and one of its configs. It gives what removes both.
func addGuest(t *testing.T) (remove func()) {
	t.Helper()
	api := real.Manager().Client()
	labels := map[string]string{"com.docker.stack.namespace": "sweep"}
	config, err := api.ConfigCreate(t.Context(), client.ConfigCreateOptions{
		Spec: swarm.ConfigSpec{Annotations: swarm.Annotations{Name: "sweep-guest", Labels: labels}, Data: []byte("guest")}})
	require.NoError(t, err)
	configs, err := api.ConfigList(t.Context(), client.ConfigListOptions{Filters: ofStack("sweep")})
	require.NoError(t, err)
	i := slices.IndexFunc(configs.Items, func(c swarm.Config) bool { return plain(c.Spec.Name) == "sweep_more" })
	require.GreaterOrEqual(t, i, 0)
	none := uint64(0)
	guest, err := api.ServiceCreate(t.Context(), client.ServiceCreateOptions{Spec: swarm.ServiceSpec{
		Annotations: swarm.Annotations{Name: "sweep-guest", Labels: labels},
		Mode:        swarm.ServiceMode{Replicated: &swarm.ReplicatedService{Replicas: &none}},
		TaskTemplate: swarm.TaskSpec{
			ContainerSpec: &swarm.ContainerSpec{Image: app1, Configs: []*swarm.ConfigReference{{
				ConfigID: configs.Items[i].ID, ConfigName: configs.Items[i].Spec.Name, File: &swarm.ConfigReferenceFileTarget{Name: "/c"}}}},
			Networks: []swarm.NetworkAttachmentConfig{{Target: "sweep_goes"}},
		},
	}})
	require.NoError(t, err)
	return func() {
		_, err := api.ServiceRemove(context.Background(), guest.ID, client.ServiceRemoveOptions{})
		require.NoError(t, err)
		_, err = api.ConfigRemove(context.Background(), config.ID, client.ConfigRemoveOptions{})
		require.NoError(t, err)
	}
}

// A name that another owner has is refused, and so is one that docker's command has deployed; nothing of it is touched.
func TestTwoOwners(t *testing.T) {
	t.Parallel()
	first, second := newHand(t, "first", "owned"), newHand(t, "second")
	manifest := replaced(shrinking, "GOES", "# ", "VALUE", "one")
	first.declare("owned", manifest)
	first.pass()
	versions := versionsOf(t, "owned")
	err := second.tryDeploy("owned", replaced(shrinking, "GOES", "", "VALUE", "two"))
	assert.True(t, stack.IsForeignStack(err), "%v", err)
	assert.Len(t, namesOf(t, "owned"), 4)
	assert.Equal(t, versions, versionsOf(t, "owned"))
	assert.Empty(t, second.sweep())
	first.holdsStill()

	text, err := real.Manager().Docker(t.Context(), "stack", "deploy", "--resolve-image", "never", "-c", "testdata/parity/01-plain.yml",
		"bydocker").CombinedOutput()
	require.NoError(t, err, "%s", text)
	err = first.tryDeploy("bydocker", manifest)
	assert.True(t, stack.IsForeignStack(err), "%v", err)
	assert.Equal(t, []string{"networks STACK_default", "services STACK_web"}, namesOf(t, "bydocker"))
	text, err = real.Manager().Docker(t.Context(), "stack", "rm", "bydocker").CombinedOutput()
	require.NoError(t, err, "%s", text)
}

// A stack that somebody has just removed, and that still goes, is deployed again at once: Docker lists its network until the
// last container has left it, and has no use of it.
func TestDeployedRightAfterItsRemoval(t *testing.T) {
	t.Parallel()
	h := newHand(t, "again", "again")
	h.declare("again", lines(
		"services:",
		"  web:",
		"    image: "+app1,
		"    command: [stubborn]",
		"    stop_grace_period: 3s",
		"    networks: [net]",
		"    deploy: {endpoint_mode: dnsrr, placement: {constraints: [node.role == manager]}}",
		"networks: {net: {attachable: true}}",
	))
	h.pass()
	text, err := real.Manager().Docker(t.Context(), "stack", "rm", "again").CombinedOutput()
	require.NoError(t, err, "%s", text)
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		report := h.try()
		assert.NoError(c, report.Err())
		assert.True(c, report.Settled())
	}, settle, pause)
	h.holdsStill()
	assert.Equal(t, []string{"networks STACK_net", "services STACK_web"}, namesOf(t, "again"))
}
