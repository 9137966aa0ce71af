package prune_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/squadronctl/squadron/internal/stacktest"
	"github.com/squadronctl/squadron/prune"
)

// features are what a sweep can do by a capability each. Each function says whether it does.
var features = map[string]func(t *testing.T, b *bench) bool{
	"OwnerLister": func(t *testing.T, b *bench) bool { // finds what the store does not know
		b.deploy("ops", "lost", "service app")
		require.NoError(t, b.store.DropRevisions(t.Context(), "ops", "lost"))
		return len(b.sweep().Of(prune.Removed)) == 1
	},
	"DeclaredLister": func(_ *testing.T, b *bench) bool { // proves what an older revision declared
		b.deploy("ops", "web", "service app\nservice old")
		return slices.Contains(found(b, declared("web", "service app")), "service web web_old")
	},
	"LiveDrift": func(_ *testing.T, b *bench) bool { // gives the IDs of services
		b.deploy("ops", "web", "service app\nservice old")
		report := b.sweep(declared("web", "service app"))
		if b.lacks == "DeclaredLister" || b.lacks == "ResourceRemover" {
			return true // shown by their own features
		}
		if len(report.Of(prune.WouldRemove)) == 1 { // reported all the same
			return false
		}
		return len(report.Of(prune.Removed)) == 1
	},
	"StacksReader": func(_ *testing.T, b *bench) bool {
		if b.lacks == "DeclaredLister" {
			return true // there is nothing to be read for
		}
		var all []prune.Declared
		apart := 0
		for _, name := range []string{"a", "b", "c"} {
			b.deploy("ops", name, "service app")
			all = append(all, declared(name, "service app"))
		}
		b.cluster.FailReads(func(op string) error {
			if len(op) > 5 && op[:5] == "ReadS" && op != "ReadStacks" {
				apart++
			}
			return nil
		})
		b.sweep(all...)
		return apart == 0
	},
	"OnceLooker": func(_ *testing.T, b *bench) bool {
		looks := 0
		b.cluster.FailReads(func(op string) error {
			if op == "LookOnce" {
				looks++
			}
			return nil
		})
		b.sweep()
		return looks == 1 || b.lacks == "OwnerLister" // what proves by the store alone is read anew
	},
	"ResourceLister": func(_ *testing.T, b *bench) bool {
		b.deploy("ops", "web", "service app\nconfig old")
		return b.lacks == "DeclaredLister" || slices.Contains(found(b, declared("web", "service app")), "config web web_old")
	},
	"ResourceRemover": func(_ *testing.T, b *bench) bool {
		b.deploy("ops", "web", "service app\nconfig old\nservice old")
		b.sweep(declared("web", "service app"))
		report := b.sweep(declared("web", "service app"))
		return len(b.cluster.Writes()) > 3 || b.lacks != "ResourceRemover" && len(report.Items) == 0
	},
	"SwarmSizer": func(t *testing.T, b *bench) bool { // proves that nothing is left
		b.deploy("ops", "old", "service app")
		b.sweep()
		stacks, err := b.store.Stacks(t.Context(), "ops")
		require.NoError(t, err)
		return len(stacks) == 0
	},
}

// found is what a sweep removes, or would if it could: "service web web_old".
func found(b *bench, all ...prune.Declared) []string {
	var texts []string
	report := b.sweep(all...)
	for _, item := range append(report.Of(prune.Removed), report.Of(prune.WouldRemove)...) {
		texts = append(texts, string(item.Kind)+" "+item.Stack+" "+item.Name)
	}
	return texts
}

func TestEachCapabilityTakesNoOtherAway(t *testing.T) {
	for _, lacks := range append(stacktest.Capabilities(), "") {
		t.Run("without "+lacks, func(t *testing.T) {
			for name, works := range features {
				b := newBench(t)
				b.lacks = lacks
				assert.Equal(t, name != lacks, works(t, b), "%s, without %s", name, lacks)
			}
			b := newBench(t)
			b.lacks = lacks
			var want []string
			if features[lacks] != nil || lacks == "StackServicesReader" { // what only a deployment uses is not missed here
				want = []string{lacks}
			}
			assert.Equal(t, want, b.sweep().Lacks)
		})
	}
}

// Nothing but stack.Backend is enough to have whole stacks swept.
func TestABackendWithoutAnyCapability(t *testing.T) {
	b := newBench(t)
	b.lacks = stacktest.Everything
	b.deploy("ops", "web", "service app\nservice old")
	b.deploy("ops", "gone", "service app")
	report := b.sweep(declared("web", "service app"))
	assert.Equal(t, []string{"removed stack gone "}, texts(report.Items))
	assert.Equal(t, []string{"ops service web web_app", "ops service web web_old"}, b.cluster.Contents())
	assert.Equal(t, []string{
		"DeclaredLister", "LiveDrift", "OwnerLister", "ResourceLister", "ResourceRemover", "StackServicesReader", "StacksReader",
	}, report.Lacks)
}

// On several nodes, or when nobody can say how many, a listing does not prove that nothing is left.
func TestRevisionsStayWhereAListingProvesNothing(t *testing.T) {
	b := newBench(t)
	b.cluster.SetNodes(3)
	b.deploy("ops", "old", "service app")
	report := b.sweep()
	assert.Len(t, report.Of(prune.Removed), 1)
	assert.Equal(t, 3, report.Nodes)
	stacks, err := b.store.Stacks(t.Context(), "ops")
	require.NoError(t, err)
	assert.Equal(t, []string{"old"}, stacks)
	b.lacks = "OwnerLister"
	assert.Empty(t, b.sweep().Items, "a stack that is gone is not removed again, though the store knows its name")
}

// Without stamps the store says that a name was this owner's; what no revision knows shows that it no longer is.
func TestWithoutStampsAStackOfUnknownServicesIsUnmanaged(t *testing.T) {
	b := newBench(t)
	b.lacks = "OwnerLister"
	b.deploy("ops", "old", "service app")
	b.cluster.DeleteStack("old")
	b.cluster.Put("others", "old", "old_other", nil)
	assert.Equal(t, []string{"unmanaged stack old "}, texts(b.sweep().Items))
	assert.Equal(t, []string{"others service old old_other"}, b.cluster.Contents())

	b.store.Fail(func(op string) error {
		if op == "Revisions old" {
			return errTest
		}
		return nil
	})
	assert.ErrorIs(t, b.sweep().Err(), errTest)
}
