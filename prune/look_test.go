package prune_test

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/squadronctl/squadron/internal/stacktest"
	"github.com/squadronctl/squadron/logging"
	"github.com/squadronctl/squadron/prune"
	"github.com/squadronctl/squadron/stack"
)

func TestOneLookFindsThatThereIsNothingToSweep(t *testing.T) {
	b := newBench(t)
	b.lacks = "ResourceLister"
	var all []prune.Declared
	for _, name := range strings.Fields("a b c d e f g h") {
		b.deploy("ops", name, "service app")
		all = append(all, declared(name, "service app"))
	}
	for lacks, looks := range map[string]int{
		"ResourceLister": 1,
		"OnceLooker":     2 + 3*len(all), // whose stacks they are, what is in them, and a stack's resources
	} {
		b.lacks = lacks
		before := b.cluster.Looks()
		assert.Empty(t, b.sweep(all...).Items)
		assert.Equal(t, looks, b.cluster.Looks()-before, lacks)
	}
}

// Removing whole stacks may take long, so what is in the others is looked at after it, and that look may fail, too.
func TestWhatIsInDeclaredStacksIsLookedAtAfterARemoval(t *testing.T) {
	b := newBench(t)
	b.deploy("ops", "gone", "service app")
	b.deploy("ops", "web", "service app\nservice old")
	looks := 0
	b.cluster.FailReads(func(op string) error {
		if op == "LookOnce" {
			looks++
		}
		return nil
	})
	b.cluster.FailWrites(func(op string) error {
		if op == "remove gone" {
			assert.Equal(t, 1, looks, "one tells which to remove")
		}
		return nil
	})
	report := b.sweep(declared("web", "service app"))
	assert.Equal(t, []string{"removed stack gone ", "removed service web web_old"}, texts(report.Items))
	assert.Equal(t, 2, looks)
}

// taking has another owner take a stack's name as soon as another stack is removed.
type taking struct {
	logging.Logger
	cluster *stacktest.Cluster
	name    string
}

func (l taking) Info(context.Context, string, ...any) {
	l.cluster.DeleteStack(l.name)
	l.cluster.Put("others", l.name, l.name+"_app", nil)
}

// A stack that has become somebody else's while another was being removed stays, declared or not.
func TestANameThatIsTakenDuringTheSweepStays(t *testing.T) {
	for _, lacks := range []string{"", "OnceLooker"} {
		for _, name := range []string{"b", "web"} {
			b := newBench(t)
			b.lacks = lacks
			b.deploy("ops", "a", "service app")
			b.deploy("ops", name, "service app")
			b.deploy("ops", name, "service other")
			cfg := b.config(declared("web", "service other"))
			cfg.Logger = taking{Logger: logging.OrSilent(nil), cluster: b.cluster, name: name}
			report, err := prune.Sweep(t.Context(), cfg)
			require.NoError(t, err)
			assert.Equal(t, []string{"removed stack a "}, texts(report.Items))
			assert.Equal(t, []string{"others service " + name + " " + name + "_app"}, b.cluster.Contents())
		}
	}
}

// Where the look fails nothing is removed; where the one after a removal does, nothing more.
func TestALookThatFailedSweepsNothing(t *testing.T) {
	for at, want := range map[int][]string{1: nil, 2: {"removed stack gone "}} {
		b := newBench(t)
		b.deploy("ops", "gone", "service app")
		b.deploy("ops", "web", "service app\nservice old")
		looks := 0
		b.cluster.FailReads(func(op string) error {
			if op == "LookOnce" {
				if looks++; looks == at {
					return errTest
				}
			}
			return nil
		})
		report, err := prune.Sweep(t.Context(), b.config(declared("web", "service app")))
		require.ErrorIs(t, err, errTest)
		assert.Equal(t, "sweep: look at the cluster: out of order", err.Error())
		assert.Equal(t, want, texts(report.Items))
		assert.Contains(t, b.cluster.Contents(), "ops service web web_old")
	}
}

// forgetful gives a backend for one look that does not say whose a stack is.
type forgetful struct{ *stacktest.Engine }

func (f forgetful) LookOnce(context.Context) (stack.Backend, error) {
	return struct{ stack.Backend }{f.Engine}, nil
}

func TestNamesInTheStoreDoNotPassForStamps(t *testing.T) {
	b := newBench(t)
	b.deploy("ops", "web", "service app")
	b.cluster.DeleteStack("web")
	b.deploy("others", "web", "service app")
	cfg := b.config()
	cfg.Backend = forgetful{stacktest.NewEngine(b.cluster, b.store, "")}
	report, err := prune.Sweep(t.Context(), cfg)
	require.NoError(t, err)
	assert.Empty(t, report.Items)
	assert.Equal(t, []string{"others service web web_app"}, b.cluster.Contents())
}
