package units_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/squadronctl/squadron/fleet"
	"github.com/squadronctl/squadron/fleet/fleettest"
	"github.com/squadronctl/squadron/stack"
	"github.com/squadronctl/squadron/stack/revision"
	"github.com/squadronctl/squadron/stack/units"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// bench is an engine on a simulated cluster, reached by the real client without a network.
type bench struct {
	t       testing.TB
	cluster *fleettest.Cluster
	faults  *fleettest.Faults
	client  fleet.Fleet
	store   *revision.Memory
	engine  *units.Engine
}

// onBench runs f on a bench in a synctest bubble, and closes it.
func onBench(t *testing.T, cluster fleettest.Config, f func(t *testing.T, b *bench)) {
	t.Helper()
	onBenchOf(t, cluster, "", f)
}

// onBenchOf is a bench whose program runs in a stack itself.
func onBenchOf(t *testing.T, cluster fleettest.Config, own string, f func(t *testing.T, b *bench)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		b := &bench{t: t, cluster: fleettest.NewCluster(cluster), store: &revision.Memory{}}
		b.faults = fleettest.NewFaults(b.cluster)
		client, err := fleet.NewFleet(fleettest.ClientConfig(b.faults))
		require.NoError(t, err)
		b.client = client
		b.engine, err = units.New(units.Config{Fleet: client, Store: b.store, Own: own})
		require.NoError(t, err)
		defer func() { require.NoError(t, b.engine.Close()) }()
		f(t, b)
	})
}

func (b *bench) deploy(owner, name, manifest string) error {
	return deployWith(b.t.Context(), b.engine, owner, name, manifest)
}

func deployWith(ctx context.Context, backend stack.Backend, owner, name, manifest string) error {
	return backend.DeployStack(ctx, stack.DeployRequest{Name: name, Manifest: manifest, Owner: owner})
}

func (b *bench) mustDeploy(owner, name, manifest string) {
	b.t.Helper()
	require.NoError(b.t, b.deploy(owner, name, manifest))
}

// wrote is how many writes the cluster has been asked since the last call.
func (b *bench) wrote() int {
	counts := b.cluster.Counts()
	b.cluster.ResetCounts()
	return counts.Puts + counts.Deletes
}

// running counts the units of each version, and checks that all of them are launched and run.
func (b *bench) running(prefix string) map[string]int {
	b.t.Helper()
	counts := map[string]int{}
	for _, unit := range b.cluster.Units() {
		if !strings.HasPrefix(unit.Name, prefix) {
			continue
		}
		assert.Equal(b.t, "launched", unit.Desired, unit.Name)
		for _, on := range unit.On {
			assert.Equal(b.t, "active", on.Active, unit.Name)
			assert.Equal(b.t, unit.Hash, on.Hash, unit.Name)
		}
		counts[version(unit.Content)]++
	}
	return counts
}

// version is what service was given.
func version(content string) string {
	for line := range strings.Lines(content) {
		if value, found := strings.CutPrefix(line, "Description="); found {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

func (b *bench) names(prefix string) []string {
	names := []string{}
	for _, unit := range b.cluster.Units() {
		if strings.HasPrefix(unit.Name, prefix) {
			names = append(names, unit.Name)
		}
	}
	return names
}

// put has a unit on the cluster, as somebody else would have brought it there.
func (b *bench) put(name, content string) {
	b.t.Helper()
	require.NoError(b.t, b.cluster.Put(name, content, "launched"))
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

// snapshot is all that the cluster was asked to have.
func (b *bench) snapshot() map[string]string {
	all := map[string]string{}
	for _, unit := range b.cluster.Units() {
		all[unit.Name] = unit.Desired + "\n" + unit.Content
	}
	return all
}

func service(version string) string {
	return "[Unit]\nDescription=" + version + "\n\n[Service]\nExecStart=/bin/serve " + version + "\n"
}

// file is one file of a manifest.
func file(name, content string) string { return "-- " + name + " --\n" + content }

// webManifest is a group of one service.
func webManifest(header, version string) string {
	return header + file("web-app@.service", service(version))
}

func stampedAs(group, owner, version string) string {
	return service(version) + "\n[X-Squadron]\nGroup=" + group + "\nOwner=" + owner + "\n"
}

// newEngine makes another engine on the same cluster, as another process would.
func (b *bench) newEngine(store stack.RevisionStore) *units.Engine {
	b.t.Helper()
	engine, err := units.New(units.Config{Fleet: b.client, Store: store})
	require.NoError(b.t, err)
	return engine
}

// waitUntil looks again and again, in the time of the bubble.
func waitUntil(is func() bool) {
	for !is() {
		time.Sleep(time.Millisecond)
	}
}
