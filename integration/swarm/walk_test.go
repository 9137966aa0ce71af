package swarm

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/squadronctl/squadron/capability"
	"github.com/squadronctl/squadron/prune"
	"github.com/squadronctl/squadron/reconcile"
	"github.com/squadronctl/squadron/stack"
	engine "github.com/squadronctl/squadron/stack/swarm"
)

// without gives, by name, an engine that lacks one capability. Of a method that two embedded fields have neither is promoted, so
// each type has what the engine has, less the methods of the interface beside it, which is never called. What reads lacks LookOnce
// as well, which would give the whole engine back.
var without = map[string]func(e *engine.Engine) stack.Backend{
	"none": func(e *engine.Engine) stack.Backend { return e },
	"all":  func(e *engine.Engine) stack.Backend { return struct{ stack.Backend }{e} },
	"RegistryAuth": func(e *engine.Engine) stack.Backend {
		return struct {
			*engine.Engine
			capability.RegistryAuth
		}{Engine: e}
	},
	"ForbidSecrets": func(e *engine.Engine) stack.Backend {
		return struct {
			*engine.Engine
			capability.ForbidSecrets
		}{Engine: e}
	},
	"AllowedReferences": func(e *engine.Engine) stack.Backend {
		return struct {
			*engine.Engine
			capability.AllowedReferences
		}{Engine: e}
	},
	"SelfRelease": func(e *engine.Engine) stack.Backend {
		return struct {
			*engine.Engine
			capability.SelfRelease
		}{Engine: e}
	},
	"OutOfBand": func(e *engine.Engine) stack.Backend {
		return struct {
			*engine.Engine
			capability.OutOfBand
		}{Engine: e}
	},
	"StackServicesReader": func(e *engine.Engine) stack.Backend {
		return struct {
			*engine.Engine
			capability.StackServicesReader
			reconcile.OnceLooker
		}{Engine: e}
	},
	"StacksReader": func(e *engine.Engine) stack.Backend {
		return struct {
			*engine.Engine
			capability.StacksReader
			reconcile.OnceLooker
		}{Engine: e}
	},
	"LiveDrift": func(e *engine.Engine) stack.Backend {
		return struct {
			*engine.Engine
			capability.LiveDrift
			reconcile.OnceLooker
		}{Engine: e}
	},
	"NetworkNamer": func(e *engine.Engine) stack.Backend {
		return struct {
			*engine.Engine
			capability.NetworkNamer
			reconcile.OnceLooker
		}{Engine: e}
	},
	"DeclaredLister": func(e *engine.Engine) stack.Backend {
		return struct {
			*engine.Engine
			capability.DeclaredLister
		}{Engine: e}
	},
	"ResourceLister": func(e *engine.Engine) stack.Backend {
		return struct {
			*engine.Engine
			capability.ResourceLister
		}{Engine: e}
	},
	"ResourceRemover": func(e *engine.Engine) stack.Backend {
		return struct {
			*engine.Engine
			capability.ResourceRemover
		}{Engine: e}
	},
	"SwarmSizer": func(e *engine.Engine) stack.Backend {
		return struct {
			*engine.Engine
			capability.SwarmSizer
		}{Engine: e}
	},
	"OnceLooker": func(e *engine.Engine) stack.Backend {
		return struct {
			*engine.Engine
			reconcile.OnceLooker
		}{Engine: e}
	},
	"DriftReader": func(e *engine.Engine) stack.Backend {
		return struct {
			*engine.Engine
			reconcile.DriftReader
			reconcile.OnceLooker
		}{Engine: e}
	},
	"OwnerLister": func(e *engine.Engine) stack.Backend {
		return struct {
			*engine.Engine
			stack.OwnerLister
			reconcile.OnceLooker
		}{Engine: e}
	},
}

const walked = `
services:
  web: {image: "squadron.test/app:1", networks: [net], deploy: {replicas: 0, labels: {kind: web}}}
networks: {net: {}}
`

const walkedMore = `
services:
  web: {image: "squadron.test/app:1", networks: [net], configs: [more], deploy: {replicas: 0, labels: {kind: web}}}
  old: {image: "squadron.test/app:1", networks: [net], deploy: {replicas: 0}}
networks: {net: {}}
configs: {more: {content: more}}
`

// leftWithout is what a sweep leaves for want of a capability.
var leftWithout = map[string][]string{
	"all":             {"configs STACK_more", "services STACK_old"},
	"DeclaredLister":  {"configs STACK_more", "services STACK_old"}, // nothing proves whose they are
	"ResourceRemover": {"configs STACK_more", "services STACK_old"},
	"ResourceLister":  {"configs STACK_more"},
	"LiveDrift":       {"services STACK_old"}, // it gives the IDs
}

// A backend that lacks one capability loses what needs that one, and all else works.
func TestEachCapabilityTakesNoOtherAway(t *testing.T) {
	t.Parallel()
	for i, lacks := range slices.Sorted(maps.Keys(without)) {
		t.Run("without "+lacks, func(t *testing.T) {
			t.Parallel()
			name, other := fmt.Sprintf("walk%da", i), fmt.Sprintf("walk%db", i)
			h := newHand(t, fmt.Sprintf("walker-%d", i), name, other)
			backend := without[lacks](h.backend())
			h.reconciler = reconcile.New(reconcile.Config{
				Backend: backend, Owner: h.owner, Store: h.config.Store, CorrectDrift: true, DriftInterval: time.Nanosecond,
				Source: func(context.Context) ([]reconcile.Declared, []error) { return h.declared, nil },
			})
			h.declare(name, walkedMore)
			h.declare(other, walked)
			for _, of := range h.try().Stacks {
				require.Equal(t, reconcile.ActionDeployed, of.Action, of.Error)
			}
			change(t, name+"_web", func(spec *serviceSpec) { spec.Labels["kind"] = "changed" })
			require.NoError(t, h.try().Err())
			corrected := service(t, name+"_web").Spec.Labels["kind"] == "web"
			assert.Equal(t, lacks != "LiveDrift" && lacks != "all", corrected)

			h.declare(name, walked)
			h.declared = h.declared[:1]
			require.NoError(t, h.try().Err())
			config := prune.Config{Backend: backend, Owner: h.owner, Store: h.config.Store, Complete: true,
				Declared: []prune.Declared{{Name: name, Manifest: walked}}}
			swept, err := prune.Sweep(t.Context(), config)
			require.NoError(t, err)
			require.NoError(t, swept.Err())
			assert.Empty(t, namesOf(t, other), "a whole stack goes whatever is lacking")
			assert.ElementsMatch(t, append(leftWithout[lacks], "networks STACK_net", "services STACK_web"), namesOf(t, name))
		})
	}
}
