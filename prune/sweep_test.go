package prune_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/squadronctl/squadron/internal/stackmark"
	"github.com/squadronctl/squadron/prune"
	"github.com/squadronctl/squadron/stack"
)

func TestStacksThatNobodyDeclaresGo(t *testing.T) {
	b := newBench(t)
	b.deploy("ops", "web", "service app")
	b.deploy("ops", "old", "service app\nconfig c")
	b.deploy("others", "theirs", "service app")
	b.cluster.Put("", "byhand", "byhand_app", nil)

	report := b.sweep(declared("web", "service app"))
	assert.Equal(t, []string{"removed stack old "}, texts(report.Items))
	assert.Equal(t, []string{" service byhand byhand_app", "ops service web web_app", "others service theirs theirs_app"}, b.cluster.Contents())
	stacks, err := b.store.Stacks(t.Context(), "ops")
	require.NoError(t, err)
	assert.Equal(t, []string{"web"}, stacks, "revisions go with their stack")
	assert.Empty(t, b.sweep(declared("web", "service app")).Items)

	b.sweep()
	assert.NotContains(t, b.cluster.Contents(), "ops service web web_app", "a complete list that is empty sweeps all that is the owner's")
}

// A removal that fails may have come half-way: what a reconciler keeps of the stack no longer holds then.
func TestTheMarkGoesBeforeTheStack(t *testing.T) {
	b := newBench(t)
	b.deploy("ops", "old", "service app")
	require.NoError(t, stackmark.Set(t.Context(), b.store, "ops", "old", "service app"))
	b.cluster.FailWrites(func(string) error { return errTest })
	assert.ErrorIs(t, b.sweep().Err(), errTest)
	mark, err := stackmark.Get(t.Context(), b.store, "ops", "old")
	require.NoError(t, err)
	assert.Empty(t, mark)
}

// What a reconciler keeps of a stack goes with it.
func TestTheMarkGoesWithTheStack(t *testing.T) {
	b := newBench(t)
	b.cluster.SetNodes(3) // so that the revisions stay
	b.deploy("ops", "old", "service app")
	require.NoError(t, stackmark.Set(t.Context(), b.store, "ops", "old", "service app"))
	b.sweep()
	mark, err := stackmark.Get(t.Context(), b.store, "ops", "old")
	require.NoError(t, err)
	assert.Empty(t, mark)

	b.deploy("ops", "old", "service app")
	b.store.Fail(func(op string) error {
		if op == "DropRevisions old" {
			return errTest
		}
		return nil
	})
	assert.ErrorIs(t, b.sweep().Err(), errTest)
}

func TestADryRunRemovesNoStack(t *testing.T) {
	for _, lacks := range []string{"", "OwnerLister"} {
		b := newBench(t)
		b.lacks = lacks
		b.deploy("ops", "old", "service app")
		cfg := b.config()
		cfg.DryRun = true
		report, err := prune.Sweep(t.Context(), cfg)
		require.NoError(t, err)
		assert.Equal(t, []string{"would-remove stack old "}, texts(report.Items))
		assert.Equal(t, []string{"ops service old old_app"}, b.cluster.Contents())
	}
}

func TestAListThatIsNotCompleteSweepsNoWholeStack(t *testing.T) {
	b := newBench(t)
	b.deploy("ops", "web", "service app\nservice old")
	b.deploy("ops", "unread", "service app")
	cfg := b.config(declared("web", "service app"))
	cfg.Complete = false
	report, err := prune.Sweep(t.Context(), cfg)
	require.NoError(t, err)
	assert.Equal(t, []string{"removed service web web_old"}, texts(report.Items))
	assert.Contains(t, b.cluster.Contents(), "ops service unread unread_app")
}

func TestInsideAStackOnlyWhatARevisionDeclaredGoes(t *testing.T) {
	b := newBench(t)
	first := "service app network=front\nservice old network=back\nnetwork front\nnetwork back\nconfig c1\nsecret s1\nexternal-network web_ingress"
	now := "service app network=front\nnetwork front\nconfig c2"
	b.deploy("ops", "web", first)
	b.deploy("ops", "web", now)
	b.cluster.Put("ops", "web", "web_byhand", nil)
	b.cluster.PutNetwork("ops", "web", "web_ingress")

	dry := b.config(declared("web", now))
	dry.DryRun = true
	report, err := prune.Sweep(t.Context(), dry)
	require.NoError(t, err)
	assert.Equal(t, []string{
		"unmanaged service web web_byhand", "would-remove service web web_old", "would-remove config web web_c1",
		"would-remove secret web web_s1", "would-remove network web web_back", "unmanaged network web web_ingress",
	}, texts(report.Items))
	written := len(b.cluster.Writes())

	report = b.sweep(declared("web", now))
	assert.Equal(t, []string{
		"unmanaged service web web_byhand", "removed service web web_old", "removed config web web_c1",
		"removed secret web web_s1", "removed network web web_back", "unmanaged network web web_ingress",
	}, texts(report.Items))
	assert.Equal(t, []string{"remove web_old", "remove web_c1", "remove web_s1", "remove web_back"}, b.cluster.Writes()[written:],
		"networks last; and a dry run writes nothing")
	assert.NoError(t, report.Err())
	assert.Equal(t, []string{"unmanaged service web web_byhand", "unmanaged network web web_ingress"},
		texts(b.sweep(declared("web", now)).Items), "what is unmanaged is reported each time, and never touched")
}

func TestWhatIsExternalNowStays(t *testing.T) {
	b := newBench(t)
	b.deploy("ops", "web", "service app\nnetwork front")
	assert.Empty(t, b.sweep(declared("web", "service app\nexternal-network web_front")).Items)
}

func TestWhatIsInUseIsLeftForTheNextSweep(t *testing.T) {
	b := newBench(t)
	b.deploy("ops", "web", "service app\nnetwork back")
	b.cluster.Put("ops", "web", "web_byhand", map[string]string{"network": "web_back"})
	report := b.sweep(declared("web", "service app"))
	require.Equal(t, []string{"left network web web_back"}, texts(report.Of(prune.Left)))
	assert.Contains(t, report.Of(prune.Left)[0].Error, "in use")
	assert.NoError(t, report.Err(), "that is no failure")
	b.cluster.Delete("web", "web_byhand")
	assert.Equal(t, []string{"removed network web web_back"}, texts(b.sweep(declared("web", "service app")).Items))
}

// A network may be used from another stack, which is swept later.
func TestNetworksGoAfterTheServicesOfAllStacks(t *testing.T) {
	b := newBench(t)
	b.deploy("ops", "a", "service app\nnetwork shared")
	b.deploy("ops", "b", "service app\nservice old")
	b.cluster.Set("b", "b_old", "network", "a_shared")
	report := b.sweep(declared("a", "service app"), declared("b", "service app"))
	assert.Equal(t, []string{"removed network a a_shared", "removed service b b_old"}, texts(report.Items))
}

func TestKeepLeavesAStackAlone(t *testing.T) {
	b := newBench(t)
	b.deploy("ops", "web", "service app\nservice old")
	d := declared("web", "service app")
	d.Keep = true
	assert.Empty(t, b.sweep(d).Items)
	assert.Len(t, b.cluster.Contents(), 2)
}

func TestAListingThatFailedSweepsNothing(t *testing.T) {
	for _, lacks := range []string{"", "OwnerLister"} {
		b := newBench(t)
		b.lacks = lacks
		b.deploy("ops", "web", "service app\nservice old")
		b.deploy("ops", "gone", "service app")
		there := b.cluster.Contents()
		fail := func(op string) error {
			if op == "OwnedStacks" || op == "Stacks" {
				return errTest
			}
			return nil
		}
		b.cluster.FailReads(fail)
		b.store.Fail(fail)
		report, err := prune.Sweep(t.Context(), b.config(declared("web", "service app")))
		require.ErrorIs(t, err, errTest)
		assert.Equal(t, "sweep: list the stacks of ops: out of order", err.Error())
		assert.Empty(t, report.Items)
		assert.Equal(t, there, b.cluster.Contents())
	}
}

// Whichever read fails, nothing of that stack is removed, and the other is swept all the same.
func TestAReadThatFailedSweepsNothingOfItsStack(t *testing.T) {
	for _, op := range []string{
		"LiveServices web", "LiveNetworks web", "LiveConfigs web", "LiveSecrets web", "Revisions web", "ReadStackServices web",
	} {
		b := newBench(t)
		b.lacks = "StacksReader"
		fail := func(asked string) error {
			if asked == op {
				return errTest
			}
			return nil
		}
		for _, name := range []string{"web", "db"} {
			b.deploy("ops", name, "service app\nservice old\nnetwork n\nconfig c\nsecret s")
		}
		b.cluster.FailReads(fail)
		b.store.Fail(fail)
		report := b.sweep(declared("web", "service app"), declared("db", "service app"))
		require.ErrorIs(t, report.Err(), errTest, op)
		assert.Equal(t, []string{"failed stack web "}, texts(report.Of(prune.Failed)), op)
		assert.Len(t, report.Of(prune.Removed), 4, op)
		assert.Equal(t, []string{
			"ops config web web_c", "ops network web web_n", "ops secret web web_s", "ops service db db_app", "ops service web web_app",
			"ops service web web_old",
		}, b.cluster.Contents(), op)
	}
}

func TestStatesThatCouldNotBeReadSweepNothingInside(t *testing.T) {
	b := newBench(t)
	b.deploy("ops", "web", "service app\nservice old")
	b.deploy("ops", "db", "service app\nservice old")
	b.cluster.FailReads(func(op string) error {
		if op == "ReadStacks" {
			return errTest
		}
		return nil
	})
	_, err := prune.Sweep(t.Context(), b.config(declared("web", "service app"), declared("db", "service app")))
	require.ErrorIs(t, err, errTest)
	assert.Len(t, b.cluster.Contents(), 4)
}

func TestAManifestThatCannotBeReadSweepsNothing(t *testing.T) {
	b := newBench(t)
	b.deploy("ops", "web", "service app\nservice old")
	report := b.sweep(declared("web", "nonsense x"))
	var fault *stack.ManifestError
	require.ErrorAs(t, report.Err(), &fault)
	assert.Len(t, b.cluster.Contents(), 2)

	require.NoError(t, b.store.AddRevision(t.Context(), "ops", "web", "nonsense x"))
	report = b.sweep(declared("web", "service app"))
	require.ErrorAs(t, report.Err(), &fault, "nobody knows what that revision declared")
	assert.ErrorContains(t, report.Err(), "web: revision 2: read the manifest of web: ")
	assert.Len(t, b.cluster.Contents(), 2)
}

func TestTheOwnStackIsSkippedSilently(t *testing.T) {
	b := newBench(t)
	b.deploy("ops", "self", "service app\nservice old")
	b.own = "self"
	assert.Empty(t, b.sweep().Items)
	assert.Empty(t, b.sweep(declared("self", "service app")).Items)
	assert.Len(t, b.cluster.Contents(), 2)
}

func TestAFailureStopsNoOther(t *testing.T) {
	b := newBench(t)
	for _, name := range []string{"a", "b", "c"} {
		b.deploy("ops", name, "service app")
	}
	b.deploy("ops", "web", "service app\nservice old")
	b.cluster.FailWrites(func(op string) error {
		switch op {
		case "remove a", "remove web_old":
			return errTest
		case "remove b":
			panic("a fault of the engine")
		}
		return nil
	})
	report := b.sweep(declared("web", "service app"))
	assert.Equal(t, []string{"failed stack a ", "failed stack b ", "removed stack c ", "failed service web web_old"}, texts(report.Items))
	assert.ErrorIs(t, report.Err(), errTest)
	assert.ErrorContains(t, report.Err(), "b: remove b: panic: a fault of the engine")
	b.cluster.FailWrites(nil)
	assert.Len(t, b.sweep(declared("web", "service app")).Of(prune.Removed), 3)
}

func TestTwoOwnersDoNotTouchEachOthers(t *testing.T) {
	b := newBench(t)
	b.deploy("others", "shared", "service app\nservice old")
	b.deploy("others", "web", "service app\nservice old")
	b.deploy("ops", "db", "service app")
	// This owner once had stacks of these names.
	require.NoError(t, b.store.AddRevision(t.Context(), "ops", "shared", "service app\nservice old"))
	require.NoError(t, b.store.AddRevision(t.Context(), "ops", "web", "service app\nservice old"))
	report := b.sweep(declared("web", "service app"), declared("db", "service app"))
	assert.Empty(t, report.Items)
	assert.Empty(t, b.cluster.Writes()[5:])
}

func TestSweepEndsWithItsContext(t *testing.T) {
	b := newBench(t)
	b.deploy("ops", "a", "service app")
	b.deploy("ops", "b", "service app")
	ctx, cancel := context.WithCancel(t.Context())
	b.cluster.FailWrites(func(string) error { cancel(); return nil })
	report, err := prune.Sweep(ctx, b.config())
	require.ErrorIs(t, err, context.Canceled)
	assert.Equal(t, []string{"removed stack a "}, texts(report.Items))
	assert.Equal(t, []string{"ops service b b_app"}, b.cluster.Contents())
	stacks, err := b.store.Stacks(t.Context(), "ops")
	require.NoError(t, err)
	assert.Equal(t, []string{"b"}, stacks, "what was removed is forgotten all the same")
}

func TestConfigThatCannotWork(t *testing.T) {
	b := newBench(t)
	for _, broken := range []func(*prune.Config){
		func(c *prune.Config) { c.Backend = nil }, func(c *prune.Config) { c.Owner = "" }, func(c *prune.Config) { c.Store = nil },
		func(c *prune.Config) { c.Declared = []prune.Declared{{}} },
		func(c *prune.Config) { c.Declared = []prune.Declared{{Name: "a"}, {Name: "a"}} },
	} {
		cfg := b.config()
		broken(&cfg)
		_, err := prune.Sweep(t.Context(), cfg)
		assert.True(t, prune.IsInvalidArgument(err), "%v", err)
	}
}

func TestReportAsJSON(t *testing.T) {
	b := newBench(t)
	b.deploy("ops", "old", "service app")
	b.cluster.FailWrites(func(string) error { return errTest })
	text, err := json.Marshal(b.sweep())
	require.NoError(t, err)
	assert.JSONEq(t, `{"items":[{"stack":"old","kind":"stack","outcome":"failed","error":"remove old: out of order"}]}`, string(text))
}
