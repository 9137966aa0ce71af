package reconcile_test

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/squadronctl/squadron/internal/stacktest"
	"github.com/squadronctl/squadron/reconcile"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// bench is a cluster, a store, and what is declared. Reconcilers come and go.
type bench struct {
	t        testing.TB
	cluster  *stacktest.Cluster
	store    *stacktest.Store
	declared []reconcile.Declared
	faults   []error
	own      string
	recorded []reconcile.Report
	cfg      reconcile.Config
	*reconcile.Reconciler
}

// onBench runs a test in a bubble, so that time passes at once.
func onBench(t *testing.T, test func(t *testing.T, b *bench)) {
	synctest.Test(t, func(t *testing.T) { test(t, newBench(t)) })
}

func newBench(t testing.TB) *bench {
	b := &bench{t: t, cluster: stacktest.NewCluster(), store: stacktest.NewStore()}
	b.cfg = reconcile.Config{
		Owner: "ops", Store: b.store,
		Source: func(context.Context) ([]reconcile.Declared, []error) { return slices.Clone(b.declared), b.faults },
		Record: func(_ context.Context, report reconcile.Report) error {
			b.recorded = append(b.recorded, report)
			return nil
		},
	}
	b.restart("")
	return b
}

// restart makes a Reconciler that remembers nothing, over an engine that lacks one capability.
func (b *bench) restart(lacks string) {
	b.cfg.Backend = stacktest.Without(stacktest.NewEngine(b.cluster, b.store, b.own), lacks)
	b.Reconciler = reconcile.New(b.cfg)
}

// declare makes these manifests by name all that is declared, in wave 0.
func (b *bench) declare(nameAndManifest ...string) {
	b.declared = nil
	for pair := range slices.Chunk(nameAndManifest, 2) {
		b.declared = append(b.declared, reconcile.Declared{Name: pair[0], Manifest: pair[1], File: pair[0] + ".stack"})
	}
}

func (b *bench) pass() reconcile.Report {
	b.t.Helper()
	report, err := b.Pass(b.t.Context())
	require.NoError(b.t, err)
	return report
}

// quiet is a pass that must find nothing to do.
func (b *bench) quiet() reconcile.Report {
	b.t.Helper()
	before := len(b.cluster.Writes())
	report := b.pass()
	require.NoError(b.t, report.Err())
	require.True(b.t, report.Settled(), "%+v", report)
	require.Len(b.t, b.cluster.Writes(), before, "a quiet pass writes nothing")
	return report
}

func (b *bench) of(report reconcile.Report, name string) reconcile.StackReport {
	b.t.Helper()
	i := slices.IndexFunc(report.Stacks, func(s reconcile.StackReport) bool { return s.Name == name })
	require.GreaterOrEqual(b.t, i, 0, "the report lacks %s", name)
	return report.Stacks[i]
}

// looks counts how often the cluster is read meanwhile.
func (b *bench) looks(of func()) int {
	before := b.cluster.Looks()
	of()
	return b.cluster.Looks() - before
}
