package swarm_test

import (
	"context"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/squadronctl/squadron/internal/dockertest"
	"github.com/squadronctl/squadron/stack"
	"github.com/squadronctl/squadron/stack/revision"
	"github.com/squadronctl/squadron/stack/swarm"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// bench is an engine on a simulated Swarm, reached by the real client without a network.
type bench struct {
	t      testing.TB
	swarm  *dockertest.Swarm
	store  *revision.Memory
	files  map[string]string
	vars   map[string]string
	config swarm.Config
	engine *swarm.Engine
}

// onBench runs f on a bench in a synctest bubble.
func onBench(t *testing.T, of dockertest.Config, f func(t *testing.T, b *bench)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		b := &bench{t: t, swarm: dockertest.New(of), store: &revision.Memory{}, files: map[string]string{}, vars: map[string]string{}}
		client, err := b.swarm.Client()
		require.NoError(t, err)
		b.config = swarm.Config{Client: client, Store: b.store, ReadFile: b.readFile, Lookup: b.lookup}
		b.restart()
		f(t, b)
	})
}

func (b *bench) readFile(_, path string) ([]byte, error) {
	text, there := b.files[path]
	if !there {
		return nil, errNoFile
	}
	return []byte(text), nil
}

func (b *bench) lookup(name string) (string, bool) {
	value, set := b.vars[name]
	return value, set
}

// restart makes another engine of the same Config, as another process would.
func (b *bench) restart() {
	b.t.Helper()
	engine, err := swarm.New(b.config)
	require.NoError(b.t, err)
	b.engine = engine
}

func deployWith(ctx context.Context, backend stack.Backend, owner, name, manifest string) error {
	return backend.DeployStack(ctx, stack.DeployRequest{Name: name, Manifest: manifest, Owner: owner})
}

func (b *bench) deploy(owner, name, manifest string) error {
	return deployWith(b.t.Context(), b.engine, owner, name, manifest)
}

func (b *bench) mustDeploy(owner, name, manifest string) {
	b.t.Helper()
	require.NoError(b.t, b.deploy(owner, name, manifest))
}

// wrote gives what has been written since the last call.
func (b *bench) wrote() []string {
	writes := b.swarm.Writes()
	b.swarm.ResetRequests()
	return writes
}

// quiet has a deployment write nothing.
func (b *bench) quiet(owner, name, manifest string) {
	b.t.Helper()
	b.wrote()
	b.mustDeploy(owner, name, manifest)
	require.Empty(b.t, b.wrote(), "a repeat writes nothing")
}

// contents is all that there is: "owner kind stack name".
func (b *bench) contents() []string {
	all := []string{}
	for _, thing := range b.swarm.Snapshot() {
		all = append(all, strings.Join([]string{thing.Owner, string(thing.Kind), thing.Stack, thing.Name}, " "))
	}
	return all
}

// differences compares what a manifest declares with what is there, field by field, as a reconciler does.
func (b *bench) differences(name, manifest string) []string {
	b.t.Helper()
	desired, err := b.engine.DesiredServices(b.t.Context(), manifest, name)
	require.NoError(b.t, err)
	live, err := b.engine.LiveServices(b.t.Context(), name)
	require.NoError(b.t, err)
	networks, err := b.engine.LiveNetworkNames(b.t.Context())
	require.NoError(b.t, err)
	named := func(value string) string {
		if name, known := networks[value]; known {
			return name
		}
		return value
	}
	lines := []string{}
	for service, want := range desired.Services {
		fields := maps.Clone(want.Fields)
		maps.Copy(fields, live[service].Fields)
		for field := range fields {
			if a, b := want.Fields[field], live[service].Fields[field]; a != b {
				lines = append(lines, service+" "+field+": "+named(a)+" -> "+named(b))
			}
		}
	}
	slices.Sort(lines)
	return lines
}

func (b *bench) manifests(owner, name string) []string {
	b.t.Helper()
	revisions, err := b.store.Revisions(b.t.Context(), owner, name)
	require.NoError(b.t, err)
	texts := []string{}
	for _, r := range revisions {
		texts = append(texts, r.Manifest)
	}
	return texts
}

// unwritten runs f, which must not change anything, and gives its error.
func (b *bench) unwritten(f func() error) error {
	b.t.Helper()
	before := b.swarm.Snapshot()
	b.wrote()
	err := f()
	require.Empty(b.t, b.wrote())
	assert.Equal(b.t, before, b.swarm.Snapshot())
	return err
}

const web = `
services:
  app:
    image: shop/web:1
    deploy:
      replicas: 2
`

// webOf is web with another image or number of replicas.
func webOf(image, replicas string) string {
	return strings.NewReplacer("shop/web:1", image, "replicas: 2", "replicas: "+replicas).Replace(web)
}
