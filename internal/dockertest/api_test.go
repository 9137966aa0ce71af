package dockertest_test

import (
	"encoding/json"
	"net/http"
	"testing"
	"time"

	cerrdefs "github.com/containerd/errdefs"
	"github.com/moby/moby/api/types/swarm"
	"github.com/moby/moby/client"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/squadronctl/squadron/internal/dockertest"
)

// What dockerd 20.10 keeps of the smallest spec, and of one with everything empty that can be.
func TestASpecIsFilledInAsSwarmDoes(t *testing.T) {
	for name, of := range map[string]struct{ sent, kept string }{
		"smallest": {
			`{"Name":"min","TaskTemplate":{"ContainerSpec":{"Image":"probe/app:1"}}}`,
			`{"Name":"min","Labels":{},"TaskTemplate":{"ContainerSpec":{"Image":"probe/app:1","Isolation":"default"},
			  "ForceUpdate":0,"Runtime":"container"},"Mode":{"Replicated":{"Replicas":1}}}`,
		},
		"all empty": {
			`{"Name":"e1","TaskTemplate":{"ContainerSpec":{"Image":"probe/app:1","Healthcheck":{},"Mounts":[],"Env":[],"Labels":{},
			  "DNSConfig":{},"Privileges":{"NoNewPrivileges":true}},"Resources":{},"RestartPolicy":{},"Placement":{}},
			  "UpdateConfig":{},"RollbackConfig":{},"EndpointSpec":{"Ports":[{"TargetPort":80}]},"Mode":{"Replicated":{}}}`,
			`{"Name":"e1","Labels":{},"TaskTemplate":{"ContainerSpec":{"Image":"probe/app:1",
			  "Privileges":{"CredentialSpec":null,"SELinuxContext":null,"NoNewPrivileges":false},"Healthcheck":{},"DNSConfig":{},
			  "Isolation":"default"},"Resources":{},"RestartPolicy":{"Condition":"any","MaxAttempts":0},"Placement":{},
			  "ForceUpdate":0,"Runtime":"container"},"Mode":{"Replicated":{"Replicas":1}},
			  "UpdateConfig":{"Parallelism":0,"FailureAction":"pause","MaxFailureRatio":0,"Order":"stop-first"},
			  "RollbackConfig":{"Parallelism":0,"FailureAction":"pause","MaxFailureRatio":0,"Order":"stop-first"},
			  "EndpointSpec":{"Mode":"vip","Ports":[{"Protocol":"tcp","TargetPort":80,"PublishMode":"ingress"}]}}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			onBench(t, dockertest.Config{}, func(t *testing.T, b *bench) {
				var sent swarm.ServiceSpec
				require.NoError(t, json.Unmarshal([]byte(of.sent), &sent))
				b.create(sent)
				kept, err := json.Marshal(b.inspect(sent.Name).Spec)
				require.NoError(t, err)
				assert.JSONEq(t, of.kept, string(kept))
			})
		})
	}
}

func TestErrorsAreThoseOfTheDaemon(t *testing.T) {
	onBench(t, dockertest.Config{}, func(t *testing.T, b *bench) {
		ctx := t.Context()
		b.create(spec("web", "app:1", 1))
		create := func(edit func(*swarm.ServiceSpec)) error {
			wanted := spec("other", "app:1", 1)
			edit(&wanted)
			_, err := b.ServiceCreate(ctx, client.ServiceCreateOptions{Spec: wanted})
			return err
		}
		config := client.ConfigCreateOptions{Spec: swarm.ConfigSpec{Annotations: swarm.Annotations{Name: "c"}, Data: []byte("1")}}
		made, err := b.ConfigCreate(ctx, config)
		require.NoError(t, err)
		_, again := b.ConfigCreate(ctx, config)
		b.update("web", func(spec *swarm.ServiceSpec) {
			spec.TaskTemplate.ContainerSpec.Configs = []*swarm.ConfigReference{
				{ConfigID: made.ID, ConfigName: "c", File: &swarm.ConfigReferenceFileTarget{Name: "/c"}},
			}
		})
		_, inUse := b.ConfigRemove(ctx, "c", client.ConfigRemoveOptions{})
		kept, err := b.ConfigInspect(ctx, "c", client.ConfigInspectOptions{})
		require.NoError(t, err)
		_, content := b.ConfigUpdate(ctx, made.ID, client.ConfigUpdateOptions{
			Version: kept.Config.Version,
			Spec:    swarm.ConfigSpec{Annotations: swarm.Annotations{Name: "c"}, Data: []byte("2")},
		})
		_, missing := b.ServiceInspect(ctx, "nosuch", client.ServiceInspectOptions{})
		_, tasks := b.TaskList(ctx, client.TaskListOptions{Filters: filter("service", "nosuch")})
		_, nets := b.NetworkList(ctx, client.NetworkListOptions{Filters: filter("colour", "red")})
		_, stale := b.ServiceUpdate(ctx, "web", client.ServiceUpdateOptions{Spec: b.inspect("web").Spec})
		_, bridge := b.NetworkRemove(ctx, "bridge", client.NetworkRemoveOptions{})
		for _, of := range []struct {
			err  error
			is   func(error) bool
			text string
		}{
			{create(func(s *swarm.ServiceSpec) { s.Name = "web" }), cerrdefs.IsConflict, "service web already exists"},
			{create(func(s *swarm.ServiceSpec) { s.Name = "b ad" }), cerrdefs.IsInvalidArgument, "valid as a DNS name component"},
			{create(image("")), cerrdefs.IsInvalidArgument, "image reference must be provided"},
			{create(func(s *swarm.ServiceSpec) {
				s.TaskTemplate.Networks = []swarm.NetworkAttachmentConfig{{Target: "nosuch"}}
			}), cerrdefs.IsInternal, "network nosuch not found"},
			{create(func(s *swarm.ServiceSpec) {
				s.TaskTemplate.Networks = []swarm.NetworkAttachmentConfig{{Target: "none"}}
			}), cerrdefs.IsNotFound, "predefined swarm network"},
			{create(func(s *swarm.ServiceSpec) {
				s.TaskTemplate.ContainerSpec.Secrets = []*swarm.SecretReference{{SecretID: "x", SecretName: "key"}}
			}), cerrdefs.IsInvalidArgument, "secret not found: key"},
			{again, cerrdefs.IsConflict, "config c already exists"},
			{inUse, cerrdefs.IsInvalidArgument, "config 'c' is in use by the following service: web"},
			{content, cerrdefs.IsInvalidArgument, "only updates to Labels are allowed"},
			{missing, cerrdefs.IsNotFound, "service nosuch not found"},
			{tasks, cerrdefs.IsNotFound, "service nosuch not found"},
			{nets, cerrdefs.IsInvalidArgument, "Invalid filter 'colour'"},
			{stale, cerrdefs.IsInternal, "rpc error: code = Unknown desc = update out of sequence"},
			{b.write("web", func(s *swarm.ServiceSpec) { s.Name = "www" }), cerrdefs.IsNotImplemented, "renaming"},
			{b.write("web", func(s *swarm.ServiceSpec) { s.Mode = swarm.ServiceMode{Global: &swarm.GlobalService{}} }),
				cerrdefs.IsNotImplemented, "mode change"},
			{bridge, cerrdefs.IsPermissionDenied, "pre-defined network"},
		} {
			require.ErrorContains(t, of.err, of.text)
			assert.True(t, of.is(of.err), of.text)
		}
		newer, err := client.New(client.WithHTTPClient(httpClient(b.swarm)), client.WithAPIVersion("1.45"))
		require.NoError(t, err)
		_, err = newer.ServiceList(ctx, client.ServiceListOptions{})
		require.ErrorContains(t, err, "client version 1.45 is too new")
	})
}

func TestListsAreFiltered(t *testing.T) {
	nodes := []dockertest.Node{{Hostname: "m", Manager: true}, {Hostname: "w"}}
	onBench(t, dockertest.Config{Nodes: nodes}, func(t *testing.T, b *bench) {
		ctx := t.Context()
		for _, name := range []string{"web", "web-2", "db"} {
			b.create(spec(name, "app:1", 2))
		}
		time.Sleep(time.Minute)
		require.NoError(t, b.swarm.Label("db", "late", "yes"))
		names := func(f client.Filters) []string {
			list, err := b.ServiceList(ctx, client.ServiceListOptions{Filters: f, Status: true})
			require.NoError(t, err)
			found := []string{}
			for _, s := range list.Items {
				assert.Equal(t, &swarm.ServiceStatus{RunningTasks: 2, DesiredTasks: 2}, s.ServiceStatus)
				found = append(found, s.Spec.Name)
			}
			return found
		}
		assert.ElementsMatch(t, []string{"web", "web-2"}, names(filter("name", "web")))
		assert.Equal(t, []string{"db"}, names(filter("label", "late=yes")))
		assert.Empty(t, names(filter("label", "late=no")))
		assert.Empty(t, names(filter("mode", "global")))
		tasks := func(f client.Filters) int {
			list, err := b.TaskList(ctx, client.TaskListOptions{Filters: f})
			require.NoError(t, err)
			return len(list.Items)
		}
		assert.Equal(t, 4, tasks(filter("service", "web", "db")))
		assert.Equal(t, 3, tasks(filter("node", "w")))
		assert.Equal(t, 2, tasks(filter("label", "role=web")))
		assert.Zero(t, tasks(filter("label", "late")), "tasks keep the labels of their beginning")
		nodes, err := b.NodeList(ctx, client.NodeListOptions{Filters: filter("role", "worker")})
		require.NoError(t, err)
		require.Len(t, nodes.Items, 1)
		assert.Equal(t, "w", nodes.Items[0].Description.Hostname)
		info, err := b.Info(ctx, client.InfoOptions{})
		require.NoError(t, err)
		assert.Equal(t, 2, info.Info.Swarm.Nodes)
		assert.True(t, info.Info.Swarm.ControlAvailable)
	})
}

// A network goes from the Swarm at once, while the node that answers has it as long as containers there use it.
func TestARemovedNetworkLingers(t *testing.T) {
	onBench(t, dockertest.Config{}, func(t *testing.T, b *bench) {
		ctx := t.Context()
		network := func() (string, error) {
			made, err := b.NetworkCreate(ctx, "net", client.NetworkCreateOptions{Driver: "overlay"})
			return made.ID, err
		}
		first, err := network()
		require.NoError(t, err)
		wanted := spec("web", "app:1", 1)
		wanted.TaskTemplate.Networks = []swarm.NetworkAttachmentConfig{{Target: "net", Aliases: []string{"web"}}}
		b.create(wanted)
		assert.Equal(t, first, b.inspect("web").Spec.TaskTemplate.Networks[0].Target)
		time.Sleep(time.Minute)
		_, err = b.NetworkRemove(ctx, first, client.NetworkRemoveOptions{})
		require.ErrorContains(t, err, "is in use by service")
		require.True(t, cerrdefs.IsInvalidArgument(err))
		_, err = b.ServiceRemove(ctx, "web", client.ServiceRemoveOptions{})
		require.NoError(t, err)
		_, err = b.NetworkRemove(ctx, first, client.NetworkRemoveOptions{})
		require.NoError(t, err)
		_, err = b.NetworkInspect(ctx, "net", client.NetworkInspectOptions{})
		require.NoError(t, err, "listed still")
		_, err = b.ServiceCreate(ctx, client.ServiceCreateOptions{Spec: wanted})
		require.ErrorContains(t, err, "network net not found")
		_, err = network()
		require.NoError(t, err)
		_, err = b.NetworkInspect(ctx, "net", client.NetworkInspectOptions{})
		require.ErrorContains(t, err, "2 matches found based on name: network net is ambiguous")
		time.Sleep(time.Minute)
		_, err = b.NetworkInspect(ctx, first, client.NetworkInspectOptions{})
		require.True(t, cerrdefs.IsNotFound(err))
		_, err = b.NetworkInspect(ctx, "net", client.NetworkInspectOptions{})
		require.NoError(t, err)
	})
}

func httpClient(s *dockertest.Swarm) *http.Client {
	return &http.Client{Transport: transport(s)}
}
