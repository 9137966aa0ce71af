package swarm

import (
	"net/http"
	"testing"
	"time"

	"github.com/moby/moby/api/types/swarm"
	"github.com/moby/moby/client"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/squadronctl/squadron/fleet/fleettest"
	"github.com/squadronctl/squadron/internal/dockertest"
)

const second = time.Second

// fakeDiffers is where the API in memory answers otherwise than the real one, and why that is no matter.
var fakeDiffers = []explanation{
	{`(\[\d+\]\.)?(EnableIPv4|Volumes|Containers)`, "written with the types of a newer API"},
	{`(\[\d+\]\.)?Endpoint\.Spec(\.Mode)?`, "which mode an endpoint without ports is said to have: nobody reads it"},
	{`\[\d+\]\.NetworksAttachments\[0\]\..*`, "what a task knows of its networks"},
	{`\[\d+\]\.Status\.ContainerStatus\.(PID|ContainerID|ExitCode)`, "processes, and containers of rejected tasks, that are not there"},
	{`(Containers|Peers\[\d+\])\..*`, "what one node knows of its side of a network"},
	{`(\[\d+\]\.)?Options\.com\.docker\.network\.driver\.overlay\.vxlanid_list`, "numbers that are given again or not"},
}

// The Docker API in memory that unit tests use answers as the real one does, to the same calls.
func TestFakeAnswersAsTheRealOne(t *testing.T) {
	t.Parallel()
	fake := dockertest.New(dockertest.Config{
		Nodes: []dockertest.Node{{Hostname: "m1", Manager: true}, {Hostname: "m2"}},
		Behave: func(image string) dockertest.Outcome {
			if image == app3 {
				return dockertest.Rejected
			}
			return dockertest.Runs
		},
	})
	var theirs, ours []recorded
	t.Run("play", func(t *testing.T) {
		t.Run("real", func(t *testing.T) { t.Parallel(); theirs = play(t, overSocket(t, real.Manager().Socket())) })
		t.Run("in memory", func(t *testing.T) { t.Parallel(); ours = play(t, fleettest.Transport(fake.Handler())) })
	})
	require.NotEmpty(t, theirs)
	require.Len(t, ours, len(theirs))
	met := map[string]bool{}
	for i := range theirs {
		require.Equal(t, theirs[i].request, ours[i].request)
		for _, difference := range differences(theirs[i].values, ours[i].values) {
			explained := false
			for _, explanation := range fakeDiffers {
				if explanation.explains(difference) {
					explained, met[explanation.path] = true, true
				}
			}
			assert.True(t, explained, "%s: %s: real %q, in memory %q", theirs[i].title, difference.path, difference.docker, difference.ours)
		}
	}
	for _, explanation := range fakeDiffers {
		assert.True(t, met[explanation.path], "nothing meets what is explained by %q", explanation.path)
	}
	t.Logf("%d answers", len(theirs))
}

// play makes the calls, and gives the answers.
func play(t *testing.T, answers http.RoundTripper) []recorded {
	p := newPlayer(t, answers)
	p.playObjects()
	network := p.playNetworks()
	p.playRefused(network)
	p.playLife(network)
	p.playRollouts()
	p.playRemoval(network)
	return p.recorder.answers
}

func (p *player) playObjects() {
	ctx := p.t.Context()
	for _, named := range []struct{ title, name, data string }{
		{"a config or secret", "script_one", "one"}, {"of the same name", "script_one", "two"},
		{"of a bad name", "script one", "one"}, {"empty", "script_empty", ""},
	} {
		p.keep("create "+named.title, func() {
			annotations := swarm.Annotations{Name: named.name, Labels: labels("kind")}
			_, _ = p.ConfigCreate(ctx, client.ConfigCreateOptions{Spec: swarm.ConfigSpec{Annotations: annotations, Data: []byte(named.data)}})
			_, _ = p.SecretCreate(ctx, client.SecretCreateOptions{Spec: swarm.SecretSpec{Annotations: annotations, Data: []byte(named.data)}})
		})
	}
	for _, name := range []string{"script_one", "script_none"} {
		p.keep("inspect "+name, func() {
			_, _ = p.ConfigInspect(ctx, name, client.ConfigInspectOptions{})
			_, _ = p.SecretInspect(ctx, name, client.SecretInspectOptions{})
		})
	}
	for _, value := range []string{"script", "nobody"} {
		filters := make(client.Filters).Add("label", scriptLabel+"="+value)
		p.keep("list the configs and secrets of "+value, func() {
			_, _ = p.ConfigList(ctx, client.ConfigListOptions{Filters: filters})
			_, _ = p.SecretList(ctx, client.SecretListOptions{Filters: filters})
		})
	}
}

// playNetworks gives the ID of a network that is there then.
func (p *player) playNetworks() (id string) {
	ctx := p.t.Context()
	for _, options := range []struct {
		title, name string
		client.NetworkCreateOptions
	}{
		{"a network", "script_net", client.NetworkCreateOptions{Driver: "overlay", Labels: labels("kind"), Attachable: true,
			Options: map[string]string{"com.docker.network.driver.mtu": "1400"}}},
		{"a network of the same name", "script_net", client.NetworkCreateOptions{Driver: "overlay"}},
		{"a network of another driver", "script_other", client.NetworkCreateOptions{Driver: "nosuch"}},
	} {
		p.keep("create "+options.title, func() {
			made, err := p.NetworkCreate(ctx, options.name, options.NetworkCreateOptions)
			if err == nil {
				id = made.ID
			}
		})
	}
	filters := make(client.Filters).Add("label", scriptLabel+"=script")
	require.EventuallyWithT(p.t, func(c *assert.CollectT) { // the swarm gives it addresses a moment later
		found, err := p.NetworkInspect(ctx, id, client.NetworkInspectOptions{})
		require.NoError(c, err)
		require.NotEmpty(c, found.Network.IPAM.Config)
	}, settle, pause)
	p.keep("inspect and list networks", func() {
		_, _ = p.NetworkInspect(ctx, id, client.NetworkInspectOptions{})
		_, _ = p.NetworkInspect(ctx, "script_none", client.NetworkInspectOptions{})
		_, _ = p.NetworkList(ctx, client.NetworkListOptions{Filters: filters})
	})
	return id
}

func (p *player) playRefused(network string) {
	p.create("a service", scriptSpec("script_a", replicas(0)))
	p.create("a service of the same name", scriptSpec("script_a", replicas(0)))
	p.create("a service of a bad name", scriptSpec("script a"))
	p.create("a service of a long name", scriptSpec("script_0123456789012345678901234567890123456789012345678901234567890123"))
	p.create("a service without an image", scriptSpec("script_b", func(s *serviceSpec) { s.TaskTemplate.ContainerSpec.Image = "" }))
	p.create("a service on no network", scriptSpec("script_b", on("script_none")))
	p.create("a service with no config", scriptSpec("script_b", with("nosuch", "nosuch")))
	p.create("a service with a config by another name", scriptSpec("script_b", with(p.config(), "script_two")))
	p.create("an ingress port without an address", scriptSpec("script_b", func(s *serviceSpec) {
		s.EndpointSpec.Ports = []swarm.PortConfig{{TargetPort: 80, PublishedPort: 18601, PublishMode: swarm.PortConfigPublishModeIngress}}
	}))
	p.inspect("inspect a service", "script_a")
	p.inspect("inspect no service", "script_none")
	p.update("change nothing", "script_a", 0, func(*serviceSpec) {})
	p.inspect("inspect it", "script_a")
	p.update("change a label", "script_a", 0, func(s *serviceSpec) { s.Labels["more"] = "1" })
	p.update("with a stale version", "script_a", 1, func(s *serviceSpec) { s.Labels["more"] = "2" })
	p.update("rename", "script_a", 0, func(s *serviceSpec) { s.Name = "script_c" })
	p.update("change the mode", "script_a", 0, func(s *serviceSpec) { s.Mode = swarm.ServiceMode{Global: &swarm.GlobalService{}} })
	p.keep("update no service", func() {
		_, _ = p.ServiceUpdate(p.t.Context(), "script_none", client.ServiceUpdateOptions{Version: swarm.Version{Index: 1}, Spec: scriptSpec("script_none")})
	})
	p.update("put it on the network, with a config", "script_a", 0, func(s *serviceSpec) { on(network)(s); with(p.config(), "script_one")(s) })
	p.inspect("inspect it", "script_a")
	p.keep("remove what is in use, and what is not there", func() {
		_, _ = p.ConfigRemove(p.t.Context(), p.config(), client.ConfigRemoveOptions{})
		_, _ = p.NetworkRemove(p.t.Context(), network, client.NetworkRemoveOptions{})
		_, _ = p.ConfigRemove(p.t.Context(), "script_none", client.ConfigRemoveOptions{})
		_, _ = p.SecretRemove(p.t.Context(), "script_none", client.SecretRemoveOptions{})
		_, _ = p.NetworkRemove(p.t.Context(), "script_none", client.NetworkRemoveOptions{})
		_, _ = p.ServiceRemove(p.t.Context(), "script_none", client.ServiceRemoveOptions{})
	})
}

func on(network string) func(*serviceSpec) {
	return func(s *serviceSpec) {
		s.TaskTemplate.Networks = []swarm.NetworkAttachmentConfig{{Target: network, Aliases: []string{"alias"}}}
	}
}

func with(config, name string) func(*serviceSpec) {
	return func(s *serviceSpec) {
		s.TaskTemplate.ContainerSpec.Configs = []*swarm.ConfigReference{{ConfigID: config, ConfigName: name,
			File: &swarm.ConfigReferenceFileTarget{Name: "/c", UID: "0", GID: "0", Mode: 0o444}}}
	}
}

// config gives the ID of the config that there is.
func (p *player) config() string {
	title := p.recorder.title
	p.recorder.title = ""
	defer func() { p.recorder.title = title }()
	found, err := p.ConfigInspect(p.t.Context(), "script_one", client.ConfigInspectOptions{})
	require.NoError(p.t, err)
	return found.Config.ID
}

// playLife has services run, of both modes, and scales one.
func (p *player) playLife(network string) {
	ctx := p.t.Context()
	p.create("a service as it comes", serviceSpec{
		Annotations:  swarm.Annotations{Name: "script_plain", Labels: labels()},
		TaskTemplate: swarm.TaskSpec{ContainerSpec: &swarm.ContainerSpec{Image: app1}, Placement: &swarm.Placement{Constraints: []string{"node.role == manager"}}},
	})
	p.create("a global service", scriptSpec("script_global", on(network), func(s *serviceSpec) {
		s.Mode = swarm.ServiceMode{Global: &swarm.GlobalService{}}
	}))
	p.create("a service that has no node", scriptSpec("script_nowhere", replicas(1), func(s *serviceSpec) {
		s.TaskTemplate.Placement.Constraints = []string{"node.labels.none == here"}
	}))
	p.create("a service without its image", scriptSpec("script_rejected", replicas(1), func(s *serviceSpec) {
		s.TaskTemplate.ContainerSpec.Image = app3
		s.TaskTemplate.RestartPolicy.Condition = swarm.RestartPolicyConditionNone
	}))
	p.awaitTasks("script_plain", swarm.TaskStateRunning, 1)
	p.awaitTasks("script_global", swarm.TaskStateRunning, 1)
	p.awaitTasks("script_nowhere", swarm.TaskStatePending, 1)
	p.awaitTasks("script_rejected", swarm.TaskStateRejected, 1)
	time.Sleep(second) // until what it has tried stands in the pending task, and the rejected one is given up
	for _, name := range []string{"script_plain", "script_global", "script_nowhere", "script_rejected"} {
		p.inspect("inspect "+name, name)
		p.tasks("tasks of "+name, make(client.Filters).Add("service", name))
	}
	p.keep("list services with their status", func() {
		_, _ = p.ServiceList(ctx, client.ServiceListOptions{Status: true, Filters: make(client.Filters).Add("label", scriptLabel+"=script")})
		_, _ = p.ServiceList(ctx, client.ServiceListOptions{Filters: make(client.Filters).Add("name", "script_p")})
		_, _ = p.ServiceList(ctx, client.ServiceListOptions{Filters: make(client.Filters).Add("label", scriptLabel+"=nobody")})
	})
	p.tasks("tasks of no service", make(client.Filters).Add("service", "script_none"))
	p.update("scale up", "script_plain", 0, replicas(2))
	p.awaitTasks("script_plain", swarm.TaskStateRunning, 2)
	p.inspect("inspect what was scaled", "script_plain")
	p.update("scale to nothing", "script_plain", 0, replicas(0))
	p.awaitTasks("script_plain", "", 0)
	p.inspect("inspect what was scaled", "script_plain")
}

// playRollouts updates a service to its end, to a rollback, and to a pause.
func (p *player) playRollouts() {
	quick := swarm.UpdateConfig{Parallelism: 1, FailureAction: swarm.UpdateFailureActionRollback, Monitor: second, Order: swarm.UpdateOrderStopFirst}
	p.create("a service with an update policy", scriptSpec("script_roll", replicas(1), func(s *serviceSpec) { s.UpdateConfig = &quick }))
	p.awaitTasks("script_roll", swarm.TaskStateRunning, 1)
	image := func(image string) func(*serviceSpec) {
		return func(s *serviceSpec) { s.TaskTemplate.ContainerSpec.Image = image; s.Labels["of"] = image }
	}
	p.update("another image", "script_roll", 0, image(app2))
	p.await("script_roll", swarm.UpdateStateCompleted)
	p.inspect("inspect the updated service", "script_roll")
	p.update("an image that is not there", "script_roll", 0, image(app3))
	p.await("script_roll", swarm.UpdateStateRollbackCompleted)
	p.inspect("inspect what was rolled back", "script_roll")
	p.update("a label after that", "script_roll", 0, func(s *serviceSpec) { s.Labels["more"] = "1" })
	p.inspect("inspect what had been rolled back", "script_roll")
	p.update("an image that is not there, with a pause", "script_roll", 0, func(s *serviceSpec) {
		image(app3)(s)
		s.UpdateConfig.FailureAction = swarm.UpdateFailureActionPause
	})
	p.await("script_roll", swarm.UpdateStatePaused)
	p.inspect("inspect what was paused", "script_roll")
}

// playRemoval removes all, one after the other.
func (p *player) playRemoval(network string) {
	ctx := p.t.Context()
	for _, name := range []string{"script_a", "script_plain", "script_global", "script_nowhere", "script_rejected", "script_roll"} {
		p.keep("remove "+name, func() { _, _ = p.ServiceRemove(ctx, name, client.ServiceRemoveOptions{}) })
	}
	p.tasks("tasks of a service that is gone", make(client.Filters).Add("service", "script_global"))
	p.keep("remove the network", func() { _, _ = p.NetworkRemove(ctx, network, client.NetworkRemoveOptions{}) })
	p.keep("inspect it while tasks end", func() { _, _ = p.NetworkInspect(ctx, "script_net", client.NetworkInspectOptions{}) })
	p.keep("make it again while tasks end", func() {
		_, _ = p.NetworkCreate(ctx, "script_net", client.NetworkCreateOptions{Driver: "overlay"})
	})
	p.awaitTasks("", "", 0)
	p.keep("remove the rest", func() {
		_, _ = p.ConfigRemove(ctx, "script_one", client.ConfigRemoveOptions{})
		_, _ = p.SecretRemove(ctx, "script_one", client.SecretRemoveOptions{})
		_, _ = p.NetworkInspect(ctx, "script_net", client.NetworkInspectOptions{})
		_, _ = p.NetworkRemove(ctx, "script_net", client.NetworkRemoveOptions{})
	})
}
