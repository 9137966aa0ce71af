package swarm_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	api "github.com/moby/moby/api/types/swarm"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/squadronctl/squadron/internal/dockertest"
	"github.com/squadronctl/squadron/internal/stacktest"
	"github.com/squadronctl/squadron/prune"
	"github.com/squadronctl/squadron/reconcile"
	"github.com/squadronctl/squadron/stack"
)

// walk is a reconciler and a sweep on an engine that lacks one capability.
type walk struct {
	*bench
	lacks    string
	declared []reconcile.Declared
	*reconcile.Reconciler
}

func (w *walk) begin() {
	w.config.Own, w.config.OwnService, w.config.PollInterval = "own", "own_app", 2*time.Second
	w.restart()
	w.reconcile(without(w.engine, w.lacks))
}

func (w *walk) reconcile(backend stack.Backend) {
	w.Reconciler = reconcile.New(reconcile.Config{
		Backend: backend, Owner: "ops", Store: w.store, CorrectDrift: true,
		ForbiddenSecrets: map[string]struct{}{"controller-key": {}},
		Source:           func(context.Context) ([]reconcile.Declared, []error) { return slices.Clone(w.declared), nil },
	})
}

// declare makes these manifests by name all that is declared.
func (w *walk) declare(nameAndManifest ...string) {
	w.declared = nil
	for pair := range slices.Chunk(nameAndManifest, 2) {
		w.declared = append(w.declared, reconcile.Declared{Name: pair[0], Manifest: pair[1]})
	}
}

func (w *walk) pass() reconcile.Report {
	w.t.Helper()
	report, err := w.Pass(w.t.Context())
	require.NoError(w.t, err)
	return report
}

func (w *walk) of(report reconcile.Report, name string) reconcile.StackReport {
	w.t.Helper()
	i := slices.IndexFunc(report.Stacks, func(s reconcile.StackReport) bool { return s.Name == name })
	require.GreaterOrEqual(w.t, i, 0, "the report lacks %s", name)
	return report.Stacks[i]
}

func (w *walk) sweep() prune.Report {
	w.t.Helper()
	cfg := prune.Config{Backend: without(w.engine, w.lacks), Owner: "ops", Store: w.store, Complete: true}
	for _, d := range w.declared {
		cfg.Declared = append(cfg.Declared, prune.Declared{Name: d.Name, Manifest: d.Manifest})
	}
	report, err := prune.Sweep(w.t.Context(), cfg)
	require.NoError(w.t, err)
	return report
}

const (
	oneService = "services:\n  app: {image: a}\n"
	twoService = oneService + "  old: {image: b}\n"
	withSecret = "services:\n  app: {image: a, secrets: [s]}\nsecrets:\n  s: {external: true, name: controller-key}\n"
	withMount  = "services:\n  app:\n    image: a\n    volumes: [/srv/data/app:/d]\n"
	withConfig = "services:\n  app: {image: a, configs: [c]}\nconfigs:\n  c: {content: x}\n"
)

// features are what a reconciler and a sweep can do by a capability each. Each function says whether they do.
var features = map[string]func(w *walk) bool{
	"RegistryAuth": func(w *walk) bool {
		w.declare("pulls", "services:\n  app: {image: registry.example/app}\n")
		w.declared[0].Credentials = credentials{"registry.example": {Username: "app"}}
		w.pass()
		return w.swarm.RegistryAuth("pulls_app") != ""
	},
	"ForbidSecrets": func(w *walk) bool {
		_, err := w.swarm.CreateSecret("controller-key", []byte("x"), nil)
		require.NoError(w.t, err)
		w.declare("thief", withSecret)
		w.declared[0].Allow.Secrets = []string{"controller-key"}
		return w.of(w.pass(), "thief").Action == reconcile.ActionFailed || w.lacks == "AllowedReferences"
	},
	"AllowedReferences": func(w *walk) bool {
		w.declare("mounts", withMount)
		w.declared[0].Allow.HostPaths = []string{"/srv/data"}
		return w.of(w.pass(), "mounts").Settled()
	},
	"SelfRelease": func(w *walk) bool {
		w.declare("own", oneService)
		return w.of(w.pass(), "own").Settled()
	},
	"OutOfBand": func(w *walk) bool {
		w.declare("raced", oneService)
		w.pass()
		w.declare("raced", strings.Replace(oneService, "image: a", "image: b", 1))
		w.swarm.OnWrite(func(string) {
			w.swarm.OnWrite(nil)
			require.NoError(w.t, w.swarm.Label("raced_app", "note", "x"))
		})
		return len(w.of(w.pass(), "raced").OutOfBand) == 1
	},
	"StacksReader": func(w *walk) bool {
		w.declare("a", oneService, "b", oneService, "c", oneService)
		w.pass()
		w.pass()
		return w.requests(func() { w.pass() })["GET /tasks"] == 1
	},
	"LiveDrift": func(w *walk) bool {
		w.declare("drifts", oneService)
		w.pass()
		require.NoError(w.t, w.swarm.Scale("drifts_app", 3))
		plan, err := w.Plan(w.t.Context())
		require.NoError(w.t, err)
		return len(w.of(plan, "drifts").Changes) == 1
	},
	"NetworkNamer": func(w *walk) bool {
		w.declare("attached", oneService)
		w.pass()
		id, err := w.swarm.CreateNetwork("theirs", nil)
		require.NoError(w.t, err)
		require.NoError(w.t, w.swarm.EditService("attached_app", func(spec *api.ServiceSpec) {
			spec.TaskTemplate.Networks[0].Target = id
		}))
		plan, err := w.Plan(w.t.Context())
		require.NoError(w.t, err)
		changes := w.of(plan, "attached").Changes
		return w.lacks == "LiveDrift" || len(changes) == 1 && changes[0].Old == "attached_default" && changes[0].New == "theirs"
	},
	"DriftReader": func(w *walk) bool {
		if w.lacks != "DriftReader" && w.lacks != "" {
			return true // it matters only to an engine that is no OnceLooker either
		}
		var backend stack.Backend = struct {
			lacking
			reconcile.OnceLooker
		}{lacking: lacking{w.engine, w.lacks}}
		if w.lacks != "" {
			backend = struct {
				lacking
				reconcile.OnceLooker
				noDriftReader
			}{lacking: lacking{w.engine, w.lacks}}
		}
		w.reconcile(backend)
		w.declare("a", oneService, "b", oneService, "c", oneService, "d", oneService)
		w.pass()
		time.Sleep(time.Hour)
		return w.requests(func() { w.pass() })["GET /services"] == 3 // states, owners, fields
	},
	"OnceLooker": func(w *walk) bool {
		w.declare("a", oneService)
		w.pass()
		time.Sleep(time.Hour)
		return w.requests(func() { w.pass() })["GET /services"] == 1
	},
	"DeployChecker": func(w *walk) bool {
		w.declare("mounts", withMount)
		plan, err := w.Plan(w.t.Context())
		require.NoError(w.t, err)
		return w.of(plan, "mounts").Action == reconcile.ActionRefuse
	},
	"OwnerLister": func(w *walk) bool { // finds what the store does not know
		require.NoError(w.t, w.deploy("ops", "lost", oneService))
		require.NoError(w.t, w.store.DropRevisions(w.t.Context(), "ops", "lost"))
		return len(w.sweep().Of(prune.Removed)) == 1
	},
	"DeclaredLister": func(w *walk) bool { // proves what an older revision declared
		require.NoError(w.t, w.deploy("ops", "web", twoService))
		w.declare("web", oneService)
		report := w.sweep()
		return len(report.Of(prune.Removed))+len(report.Of(prune.WouldRemove)) == 1
	},
	"ResourceLister": func(w *walk) bool {
		require.NoError(w.t, w.deploy("ops", "web", withConfig))
		require.NoError(w.t, w.deploy("ops", "web", oneService))
		w.declare("web", oneService)
		report := w.sweep()
		return w.lacks == "DeclaredLister" || len(report.Of(prune.Removed))+len(report.Of(prune.WouldRemove)) == 1
	},
	"ResourceRemover": func(w *walk) bool {
		require.NoError(w.t, w.deploy("ops", "web", withConfig))
		require.NoError(w.t, w.deploy("ops", "web", oneService))
		w.declare("web", oneService)
		w.sweep()
		return w.lacks == "DeclaredLister" || w.lacks == "ResourceLister" || len(w.swarm.Names(dockertest.KindConfig, "web")) == 0
	},
	"SwarmSizer": func(w *walk) bool { // proves that nothing is left
		require.NoError(w.t, w.deploy("ops", "old", oneService))
		w.sweep()
		stacks, err := w.store.Stacks(w.t.Context(), "ops")
		require.NoError(w.t, err)
		return len(stacks) == 0
	},
}

// With an engine that lacks one capability, all that does not need that one still works.
func TestEachCapabilityTakesNoOtherAway(t *testing.T) {
	for _, lacks := range append(stacktest.Capabilities(), "") {
		t.Run("without "+lacks, func(t *testing.T) {
			for name, works := range features {
				onBench(t, dockertest.Config{}, func(t *testing.T, b *bench) {
					w := &walk{bench: b, lacks: lacks}
					w.begin()
					assert.Equal(t, name != lacks, works(w), "%s, without %s", name, lacks)
				})
			}
		})
	}
}

// Nothing but stack.Backend is enough to have stacks deployed and swept whole.
func TestABackendWithoutAnyCapability(t *testing.T) {
	onBench(t, dockertest.Config{}, func(t *testing.T, b *bench) {
		w := &walk{bench: b, lacks: "everything"}
		w.begin()
		w.declare("web", oneService, "api", twoService)
		require.True(t, w.pass().Settled())
		w.declare("web", strings.Replace(oneService, "image: a", "image: c", 1))
		require.True(t, w.pass().Settled())
		assert.Equal(t, map[string]int{"c:latest": 1}, w.swarm.Running("web_app"))
		w.sweep()
		assert.Equal(t, []string{"ops network web web_default", "ops service web web_app"}, w.contents())
	})
}
