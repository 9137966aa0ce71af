package swarm

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/moby/moby/api/types/swarm"
	"github.com/moby/moby/client"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// wire is the way to the API, on which requests and answers can be lost.
type wire struct {
	next   http.RoundTripper
	writes atomic.Int64 // how many came through

	mutex sync.Mutex
	fate  func(method, path string) fate // nil: all arrive
}

// fate is what becomes of a request.
type fate int

const (
	arrives fate = iota
	lost
	answerLost // though it has arrived
)

var errLost = errors.New("lost on the way")

func (w *wire) set(how func(method, path string) fate) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	w.fate = how
}

func (w *wire) RoundTrip(request *http.Request) (*http.Response, error) {
	if request.Method == http.MethodHead || strings.HasSuffix(request.URL.Path, "/_ping") {
		return w.next.RoundTrip(request)
	}
	what := w.fateOf(request)
	if what == lost {
		return nil, errLost
	}
	if request.Method != http.MethodGet {
		w.writes.Add(1)
	}
	response, err := w.next.RoundTrip(request)
	if err == nil && what == answerLost {
		response.Body.Close()
		return nil, errLost
	}
	return response, err
}

func (w *wire) fateOf(request *http.Request) fate {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	if w.fate == nil {
		return arrives
	}
	return w.fate(request.Method, request.URL.Path)
}

func httpClient(transport http.RoundTripper) *http.Client { return &http.Client{Transport: transport} }

// fail lets requests of one kind fail from now on.
func (m *machine) fail(rt *rapid.T) {
	kind := rapid.SampledFrom([]string{
		"GET /services", "GET /tasks", "GET /networks", "GET /configs", "GET /secrets", "POST /services/create", "POST /networks/create",
		"POST /configs/create", "DELETE /services", "DELETE /networks", "DELETE /configs", "DELETE /secrets",
	}).Draw(rt, "kind")
	how := rapid.SampledFrom([]fate{lost, answerLost}).Draw(rt, "how")
	method, part, _ := strings.Cut(kind, " ")
	m.wire.set(func(of, path string) fate {
		if of == method && strings.Contains(path, part) {
			return how
		}
		return arrives
	})
}

// race has somebody write to a service right before an owner does.
func (m *machine) race(*rapid.T) {
	m.wire.set(func(method, path string) fate {
		if id, update := strings.CutSuffix(path, "/update"); method == http.MethodPost && update {
			_ = edit(id[strings.LastIndex(id, "/")+1:], func(spec *serviceSpec) { spec.Labels["note"] += "x" })
		}
		return arrives
	})
}

// edit changes a service by hand, if it is there.
func edit(name string, how func(*serviceSpec)) error {
	api, ctx := real.Manager().Client(), context.Background()
	found, err := api.ServiceInspect(ctx, name, client.ServiceInspectOptions{})
	if err != nil {
		return err
	}
	how(&found.Service.Spec)
	_, err = api.ServiceUpdate(ctx, found.Service.ID, client.ServiceUpdateOptions{Version: found.Service.Version, Spec: found.Service.Spec})
	return err
}

func (m *machine) byHand(rt *rapid.T) {
	name := rapid.SampledFrom(machineStacks).Draw(rt, "stack")
	service := name + "_" + rapid.SampledFrom(append([]string{"byhand"}, machineServices...)).Draw(rt, "service")
	labels := map[string]string{"com.docker.stack.namespace": name}
	// What is not there, or in use, stays as it is.
	switch rapid.IntRange(0, 5).Draw(rt, "what") {
	case 0:
		_ = edit(service, func(spec *serviceSpec) { spec.TaskTemplate.ContainerSpec.Image = "squadron.test/app:byhand" })
	case 1:
		removeThings(rt, func(thing machineThing) bool { return thing.name == service })
	case 2:
		removeThings(rt, func(thing machineThing) bool { return thing.stack == name })
	case 3:
		none := uint64(0)
		_, _ = real.Manager().Client().ServiceCreate(context.Background(), client.ServiceCreateOptions{Spec: serviceSpec{
			Annotations:  swarm.Annotations{Name: service, Labels: labels},
			TaskTemplate: swarm.TaskSpec{ContainerSpec: &swarm.ContainerSpec{Image: app1}},
			Mode:         swarm.ServiceMode{Replicated: &swarm.ReplicatedService{Replicas: &none}},
		}})
	case 4:
		_, _ = real.Manager().Client().NetworkCreate(context.Background(), name+"_bridge",
			client.NetworkCreateOptions{Driver: "overlay", Labels: labels})
	case 5:
		_ = edit(service, func(spec *serviceSpec) { delete(spec.Labels, "squadron.owner") })
	}
}

// machineThing is something that there is of the machine's stacks.
type machineThing struct {
	kind, id, name, stack, owner string
	spec                         string // of a service
}

func machineContents(t require.TestingT) map[string]machineThing {
	api, ctx := real.Manager().Client(), context.Background()
	all := map[string]machineThing{}
	add := func(kind, id, name string, labels map[string]string, spec string) {
		if stack := labels["com.docker.stack.namespace"]; slices.Contains(machineStacks, stack) {
			all[id] = machineThing{kind, id, name, stack, labels["squadron.owner"], spec}
		}
	}
	services, err := api.ServiceList(ctx, client.ServiceListOptions{})
	require.NoError(t, err)
	for _, service := range services.Items {
		text, err := json.Marshal(service.Spec)
		require.NoError(t, err)
		add("service", service.ID, service.Spec.Name, service.Spec.Labels, string(text))
	}
	networks, err := api.NetworkList(ctx, client.NetworkListOptions{})
	require.NoError(t, err)
	for _, network := range networks.Items {
		add("network", network.ID, network.Name, network.Labels, "")
	}
	configs, err := api.ConfigList(ctx, client.ConfigListOptions{})
	require.NoError(t, err)
	for _, config := range configs.Items {
		add("config", config.ID, config.Spec.Name, config.Spec.Labels, "")
	}
	secrets, err := api.SecretList(ctx, client.SecretListOptions{})
	require.NoError(t, err)
	for _, secret := range secrets.Items {
		add("secret", secret.ID, secret.Spec.Name, secret.Spec.Labels, "")
	}
	return all
}

// removeThings removes by hand what matches, services first. What is in use stays.
func removeThings(t require.TestingT, match func(machineThing) bool) {
	api, ctx := real.Manager().Client(), context.Background()
	things := machineContents(t)
	for _, kind := range []string{"service", "network", "config", "secret"} {
		for id, thing := range things {
			if thing.kind != kind || !match(thing) {
				continue
			}
			switch kind {
			case "service":
				_, _ = api.ServiceRemove(ctx, id, client.ServiceRemoveOptions{})
			case "network":
				_, _ = api.NetworkRemove(ctx, id, client.NetworkRemoveOptions{})
			case "config":
				_, _ = api.ConfigRemove(ctx, id, client.ConfigRemoveOptions{})
			case "secret":
				_, _ = api.SecretRemove(ctx, id, client.SecretRemoveOptions{})
			}
		}
	}
}

func clearMachine(t require.TestingT) {
	removeThings(t, func(machineThing) bool { return true })
	require.Empty(t, machineContents(t))
}
