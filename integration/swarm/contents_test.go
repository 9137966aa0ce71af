package swarm

import (
	"encoding/json"
	"net/netip"
	"regexp"
	"strings"
	"testing"

	"github.com/moby/moby/api/types/network"
	"github.com/moby/moby/api/types/swarm"
	"github.com/moby/moby/client"
	"github.com/stretchr/testify/require"
)

// contents is what there is of a stack, by names that are the same for all stacks.
type contents struct {
	Services map[string]swarm.ServiceSpec `json:"services"`
	Networks map[string]network.Network   `json:"networks"`
	Configs  map[string]swarm.ConfigSpec  `json:"configs"`
	Secrets  map[string]swarm.SecretSpec  `json:"secrets"`
}

func ofStack(name string) client.Filters {
	return make(client.Filters).Add("label", "com.docker.stack.namespace="+name)
}

// contentsOf reads a stack, without what differs from one to the next: its name, IDs, times and allotted addresses.
func contentsOf(t *testing.T, name string) map[string]any {
	t.Helper()
	api := real.Manager().Client()
	services, err := api.ServiceList(t.Context(), client.ServiceListOptions{Filters: ofStack(name)})
	require.NoError(t, err)
	networks, err := api.NetworkList(t.Context(), client.NetworkListOptions{})
	require.NoError(t, err)
	configs, err := api.ConfigList(t.Context(), client.ConfigListOptions{Filters: ofStack(name)})
	require.NoError(t, err)
	secrets, err := api.SecretList(t.Context(), client.SecretListOptions{Filters: ofStack(name)})
	require.NoError(t, err)
	found := contents{Services: map[string]swarm.ServiceSpec{}, Networks: map[string]network.Network{},
		Configs: map[string]swarm.ConfigSpec{}, Secrets: map[string]swarm.SecretSpec{}}
	names := map[string]string{}
	for _, n := range networks.Items {
		names[n.ID] = n.Name
		if n.Labels["com.docker.stack.namespace"] == name {
			found.Networks[n.Name] = network.Network{Name: n.Name, Driver: n.Driver, Scope: n.Scope, Attachable: n.Attachable,
				Internal: n.Internal, Options: withoutAllotted(n.Options), Labels: n.Labels, IPAM: given(n.IPAM)}
		}
	}
	for _, service := range services.Items {
		spec := service.Spec
		for i := range spec.TaskTemplate.Networks {
			spec.TaskTemplate.Networks[i].Target = names[spec.TaskTemplate.Networks[i].Target]
		}
		for _, config := range spec.TaskTemplate.ContainerSpec.Configs {
			config.ConfigID = ""
		}
		for _, secret := range spec.TaskTemplate.ContainerSpec.Secrets {
			secret.SecretID = ""
		}
		found.Services[spec.Name] = spec
	}
	for _, config := range configs.Items {
		found.Configs[plain(config.Spec.Name)] = config.Spec
	}
	for _, secret := range secrets.Items {
		found.Secrets[plain(secret.Spec.Name)] = secret.Spec
	}
	return renamed(t, found, name)
}

var hashed = regexp.MustCompile(`_[0-9a-f]{12}$`)

// plain is a name without the hash of a content.
func plain(name string) string { return hashed.ReplaceAllString(name, "") }

func withoutAllotted(options map[string]string) map[string]string {
	delete(options, "com.docker.network.driver.overlay.vxlanid_list")
	return options
}

// given leaves out addresses that nobody asked for.
func given(ipam network.IPAM) network.IPAM {
	asked := netip.MustParsePrefix("10.79.0.0/16")
	if len(ipam.Config) == 0 || !asked.Contains(ipam.Config[0].Subnet.Addr()) {
		ipam.Config = nil
	}
	return ipam
}

// versionsOf gives the versions of a stack's services; each write changes one.
func versionsOf(t *testing.T, name string) map[string]uint64 {
	t.Helper()
	versions := map[string]uint64{}
	services, err := real.Manager().Client().ServiceList(t.Context(), client.ServiceListOptions{Filters: ofStack(name)})
	require.NoError(t, err)
	for _, service := range services.Items {
		versions[service.Spec.Name] = service.Version.Index
	}
	return versions
}

// renamed gives contents as JSON has them, with STACK for the stack's name.
func renamed(t *testing.T, found contents, name string) map[string]any {
	t.Helper()
	text, err := json.Marshal(found)
	require.NoError(t, err)
	var tree map[string]any
	require.NoError(t, json.Unmarshal([]byte(strings.ReplaceAll(string(text), name, "STACK")), &tree))
	return tree
}
