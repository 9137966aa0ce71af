package dockertest_test

import (
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/moby/moby/api/types/swarm"
	"github.com/moby/moby/client"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/squadronctl/squadron/internal/dockertest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// bench is a Swarm and a client of it.
type bench struct {
	*client.Client
	t     *testing.T
	swarm *dockertest.Swarm
}

// onBench runs f in a synctest bubble.
func onBench(t *testing.T, config dockertest.Config, f func(t *testing.T, b *bench)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := dockertest.New(config)
		c, err := s.Client()
		require.NoError(t, err)
		f(t, &bench{Client: c, t: t, swarm: s})
	})
}

// failing has images that end in :bad fail, and those that end in :none be missing.
func failing(image string) dockertest.Outcome {
	switch image[len(image)-4:] {
	case ":bad":
		return dockertest.Fails
	case "none":
		return dockertest.Rejected
	}
	return dockertest.Runs
}

func spec(name, image string, replicas uint64) swarm.ServiceSpec {
	return swarm.ServiceSpec{
		Annotations: swarm.Annotations{Name: name, Labels: map[string]string{"role": name}},
		TaskTemplate: swarm.TaskSpec{
			ContainerSpec: &swarm.ContainerSpec{Image: image},
			RestartPolicy: &swarm.RestartPolicy{Condition: swarm.RestartPolicyConditionAny, Delay: ptr(time.Second)},
		},
		Mode: swarm.ServiceMode{Replicated: &swarm.ReplicatedService{Replicas: &replicas}},
	}
}

func ptr[T any](value T) *T { return &value }

func (b *bench) create(spec swarm.ServiceSpec) string {
	b.t.Helper()
	made, err := b.ServiceCreate(b.t.Context(), client.ServiceCreateOptions{Spec: spec})
	require.NoError(b.t, err)
	return made.ID
}

func (b *bench) inspect(name string) swarm.Service {
	b.t.Helper()
	result, err := b.ServiceInspect(b.t.Context(), name, client.ServiceInspectOptions{})
	require.NoError(b.t, err)
	return result.Service
}

// write updates a service from what it is now.
func (b *bench) write(name string, edit func(*swarm.ServiceSpec)) error {
	b.t.Helper()
	now := b.inspect(name)
	edit(&now.Spec)
	_, err := b.ServiceUpdate(b.t.Context(), now.ID, client.ServiceUpdateOptions{Version: now.Version, Spec: now.Spec})
	return err
}

func (b *bench) update(name string, edit func(*swarm.ServiceSpec)) {
	b.t.Helper()
	require.NoError(b.t, b.write(name, edit))
}

func image(to string) func(*swarm.ServiceSpec) {
	return func(spec *swarm.ServiceSpec) { spec.TaskTemplate.ContainerSpec.Image = to }
}

func filter(term string, values ...string) client.Filters {
	return make(client.Filters).Add(term, values...)
}

func statusOf(code int, message string) error {
	return &dockertest.StatusError{Status: code, Message: message}
}

const internal = http.StatusInternalServerError
