package swarm

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/moby/moby/api/types/swarm"
	"github.com/moby/moby/client"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/squadronctl/squadron/reconcile"
	"github.com/squadronctl/squadron/stack"
	"github.com/squadronctl/squadron/stack/revision"
	engine "github.com/squadronctl/squadron/stack/swarm"
)

// settle is how long a service may take to do what a test waits for, on a machine with other things to do.
const settle = 3 * time.Minute

// pause is between two looks of a test that waits.
const pause = 200 * time.Millisecond

// hand is one who deploys stacks: an owner with a revision store, an engine and a reconciler of his own. What he is to have
// other than the default is set before the first call.
type hand struct {
	t          *testing.T
	owner      string
	config     engine.Config
	allow      stack.Allow
	declared   []reconcile.Declared
	engine     *engine.Engine
	reconciler *reconcile.Reconciler
}

// newHand makes one. The stacks named are removed when the test ends.
func newHand(t *testing.T, owner string, stacks ...string) *hand {
	t.Helper()
	h := &hand{t: t, owner: owner, config: engine.Config{
		Client: real.Manager().Client(), Store: &revision.Memory{}, WaitTimeout: settle, PollInterval: pause,
	}}
	t.Cleanup(func() {
		for _, name := range stacks {
			assert.NoError(t, h.backend().RemoveStack(context.Background(), name))
		}
	})
	return h
}

// again gives one that knows nothing but what is in the other's revision store, as after a restart.
func (h *hand) again() *hand {
	return &hand{t: h.t, owner: h.owner, config: h.config, allow: h.allow, declared: h.declared}
}

func (h *hand) backend() *engine.Engine {
	if h.engine == nil {
		made, err := engine.New(h.config)
		require.NoError(h.t, err)
		h.engine = made
	}
	return h.engine
}

// deploy deploys a stack without a reconciler.
func (h *hand) deploy(name, manifest string) {
	h.t.Helper()
	require.NoError(h.t, h.tryDeploy(name, manifest))
}

func (h *hand) tryDeploy(name, manifest string) error {
	backend := h.backend().WithAllowedReferences(h.allow)
	return backend.DeployStack(h.t.Context(), stack.DeployRequest{Name: name, Manifest: manifest, Owner: h.owner})
}

// declare sets the manifest of a stack.
func (h *hand) declare(name, manifest string) {
	declared := reconcile.Declared{Name: name, Manifest: manifest, Allow: h.allow}
	for i := range h.declared {
		if h.declared[i].Name == name {
			h.declared[i] = declared
			return
		}
	}
	h.declared = append(h.declared, declared)
}

// try makes a pass over all that is declared.
func (h *hand) try() reconcile.Report {
	h.t.Helper()
	report, err := h.reconcile().Pass(h.t.Context())
	require.NoError(h.t, err)
	return report
}

func (h *hand) reconcile() *reconcile.Reconciler {
	if h.reconciler == nil {
		h.reconciler = reconcile.New(reconcile.Config{
			Backend: h.backend(), Owner: h.owner, Store: h.config.Store, CorrectDrift: true,
			Source:        func(context.Context) ([]reconcile.Declared, []error) { return h.declared, nil },
			DriftInterval: time.Nanosecond, // each pass looks
			Retry:         reconcile.Retry{Min: time.Nanosecond, Max: time.Nanosecond},
		})
	}
	return h.reconciler
}

// pass makes a pass after which nothing is left to do.
func (h *hand) pass() reconcile.Report {
	h.t.Helper()
	report := h.try()
	require.NoError(h.t, report.Err())
	for _, s := range report.Stacks {
		require.True(h.t, s.Settled(), "%s: %s %s %s %v %+v", s.Name, s.Sync, s.Health, s.Reason, s.Changes, s.Services)
	}
	assert.Empty(h.t, report.Lacks)
	return report
}

// holdsStill makes a pass that has nothing to do: all fields are as declared.
func (h *hand) holdsStill() {
	h.t.Helper()
	for _, s := range h.pass().Stacks {
		assert.Equal(h.t, reconcile.ActionNone, s.Action, "%s: %s", s.Name, s.Reason)
		assert.Empty(h.t, s.Changes)
		assert.Empty(h.t, s.Undeclared)
	}
}

// service gives a service by its name on the cluster.
func service(t *testing.T, name string) swarm.Service {
	t.Helper()
	found, err := real.Manager().Client().ServiceInspect(t.Context(), name, client.ServiceInspectOptions{})
	require.NoError(t, err)
	return found.Service
}

// change changes a service by hand.
func change(t *testing.T, name string, how func(*swarm.ServiceSpec)) {
	t.Helper()
	for range 20 { // the swarm itself writes to services, too
		found := service(t, name)
		how(&found.Spec)
		_, err := real.Manager().Client().ServiceUpdate(t.Context(), found.ID, client.ServiceUpdateOptions{
			Version: found.Version, Spec: found.Spec})
		if err == nil {
			return
		}
		require.ErrorContains(t, err, "update out of sequence")
	}
	require.Fail(t, "each update was out of sequence")
}

// answer gives what the app answers that has published a port on the manager.
func answer(t *testing.T, port, query string) string {
	t.Helper()
	var text []byte
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		var err error
		text, err = real.Manager().Command(t.Context(), program, "get", "http://127.0.0.1:"+port+"/"+query).CombinedOutput()
		require.NoError(c, err, "%s", text)
	}, settle, pause)
	return string(text)
}

// lines puts a manifest together of lines.
func lines(text ...string) string { return strings.Join(text, "\n") + "\n" }

// replaced is a manifest with other texts in it, given by pairs.
func replaced(manifest string, pairs ...string) string {
	return strings.NewReplacer(pairs...).Replace(manifest)
}

// newNetwork makes an overlay that is nobody's, until the test has ended, and gives its name.
func newNetwork(t *testing.T, name string) string {
	t.Helper()
	api := real.Manager().Client()
	made, err := api.NetworkCreate(t.Context(), name, client.NetworkCreateOptions{Driver: "overlay", Attachable: true})
	require.NoError(t, err)
	t.Cleanup(func() {
		_, err := api.NetworkRemove(context.Background(), made.ID, client.NetworkRemoveOptions{})
		assert.NoError(t, err)
	})
	return name
}

type serviceSpec = swarm.ServiceSpec
