package prune_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/squadronctl/squadron/internal/stacktest"
	"github.com/squadronctl/squadron/prune"
	"github.com/squadronctl/squadron/stack"
)

var errTest = errors.New("out of order")

// bench is a cluster on which an owner deploys and sweeps.
type bench struct {
	t       *testing.T
	cluster *stacktest.Cluster
	store   *stacktest.Store
	own     string
	lacks   string
}

func newBench(t *testing.T) *bench {
	return &bench{t: t, cluster: stacktest.NewCluster(), store: stacktest.NewStore()}
}

func (b *bench) deploy(owner, name, manifest string) {
	b.t.Helper()
	engine := stacktest.NewEngine(b.cluster, b.store, "")
	require.NoError(b.t, engine.DeployStack(b.t.Context(), stack.DeployRequest{Name: name, Manifest: manifest, Owner: owner}))
}

func (b *bench) config(declared ...prune.Declared) prune.Config {
	return prune.Config{
		Backend: stacktest.Without(stacktest.NewEngine(b.cluster, b.store, b.own), b.lacks),
		Owner:   "ops", Store: b.store, Declared: declared, Complete: true,
	}
}

func (b *bench) sweep(declared ...prune.Declared) prune.Report {
	b.t.Helper()
	report, err := prune.Sweep(b.t.Context(), b.config(declared...))
	require.NoError(b.t, err)
	return report
}

// texts are items as "removed service web web_old".
func texts(items []prune.Item) []string {
	var all []string
	for _, item := range items {
		all = append(all, fmt.Sprintf("%s %s %s %s", item.Outcome, item.Kind, item.Stack, item.Name))
	}
	return all
}

func declared(name, manifest string) prune.Declared {
	return prune.Declared{Name: name, Manifest: manifest}
}
