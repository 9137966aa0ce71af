package reconcile_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/squadronctl/squadron/fleet"
	"github.com/squadronctl/squadron/fleet/fleettest"
	"github.com/squadronctl/squadron/internal/stacktest"
	"github.com/squadronctl/squadron/reconcile"
	"github.com/squadronctl/squadron/stack"
	"github.com/squadronctl/squadron/stack/revision"
	"github.com/squadronctl/squadron/stack/units"
)

// agree holds what a plan says against what a pass then does, on a cluster that nobody else changes.
func agree(t require.TestingT, planned, done reconcile.Report, unasked bool) {
	require.Equal(t, planned.Faults, done.Faults)
	require.Len(t, done.Stacks, len(planned.Stacks))
	for i, p := range planned.Stacks {
		d, what := done.Stacks[i], fmt.Sprintf("planned %+v\ndone %+v", planned.Stacks[i], done.Stacks[i])
		switch {
		case p.Action == reconcile.ActionDeploy && unasked && stack.IsForbiddenReference(d.Err): // nobody could be asked
		case p.Action == reconcile.ActionDeploy:
			require.Equal(t, reconcile.ActionDeployed, d.Action, what)
			require.NoError(t, p.Err, what)
			require.Equal(t, p.Reason, d.Reason, what)
		case p.Action == reconcile.ActionRefuse:
			require.Equal(t, reconcile.ActionFailed, d.Action, what)
			if unasked { // what was seen may not be what it is refused for
				continue
			}
			require.Equal(t, stack.IsForeignStack(d.Err), stack.IsForeignStack(p.Err), what)
			require.Equal(t, stack.IsForbiddenReference(d.Err), stack.IsForbiddenReference(p.Err), what)
			require.Equal(t, p.Reason, d.Reason, what)
		default:
			require.Contains(t, []reconcile.Action{reconcile.ActionNone, reconcile.ActionOwn}, p.Action, what)
			require.Equal(t, p.Action, d.Action, what)
			require.Equal(t, p.Sync, d.Sync, what)
			require.Equal(t, p.Health, d.Health, what)
			require.Equal(t, p.Reason, d.Reason, what)
			require.Equal(t, p.Err == nil, d.Err == nil, what)
		}
	}
}

// TestAPassDoesWhatAPlanSays lays out clusters and declared stacks at random, for a backend that lacks anything.
func TestAPassDoesWhatAPlanSays(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		inBubble(t, func() {
			b := newBench(t)
			manifests := rapid.SampledFrom([]string{
				"service app image=1", "service app image=2\nservice cache", "service app image=1\nmount /srv/data/app",
				"service app image=1\nuse-secret key", "nonsense x", "network front\nservice app network=front",
			})
			names := []string{"a", "b", "own"}
			declare := func(label string) {
				b.declare()
				for _, name := range names {
					if !rapid.Bool().Draw(rt, label+" "+name) {
						continue
					}
					d := reconcile.Declared{Name: name, Manifest: manifests.Draw(rt, "manifest")}
					if rapid.Bool().Draw(rt, "allowed") {
						d.Allow = stack.Allow{HostPaths: []string{"/srv"}, Secrets: []string{"key"}}
					}
					b.declared = append(b.declared, d)
				}
			}
			declare("before")
			_, err := b.Pass(context.Background())
			require.NoError(rt, err)
			for _, name := range names {
				service := stacktest.Scoped(name, rapid.SampledFrom([]string{"app", "cache", "other"}).Draw(rt, "service"))
				switch rapid.IntRange(0, 4).Draw(rt, "by hand") {
				case 0:
					b.cluster.Set(name, service, "image", "by hand")
				case 1:
					b.cluster.Delete(name, service)
				case 2:
					b.cluster.DeleteStack(name)
					b.cluster.Put(rapid.SampledFrom([]string{"", "others"}).Draw(rt, "owner"), name, service, map[string]string{})
				case 3:
					b.cluster.SetStatus(name, service, stack.StatusFailed)
				}
			}
			declare("after")
			b.own = rapid.SampledFrom([]string{"", "own"}).Draw(rt, "own")
			b.cfg.Own = b.own
			b.cfg.CorrectDrift = rapid.Bool().Draw(rt, "correct")
			lacks := rapid.SampledFrom(append(stacktest.Capabilities(), "")).Draw(rt, "lacks")
			b.restart(lacks)
			planned, err := b.Plan(context.Background())
			require.NoError(rt, err)
			b.restart(lacks)
			done, err := b.Pass(context.Background())
			require.NoError(rt, err)
			agree(rt, planned, done, lacks == "DeployChecker")
		})
	})
}

// The same of the engine of units, for each way in which a group can be there.
func TestAPassOverUnitsDoesWhatAPlanSays(t *testing.T) {
	const stamp = "\n[X-Squadron]\nGroup=web\nOwner=others\nRevision=1\n"
	by := func(name, content string) func(t *testing.T, c *fleettest.Cluster) {
		return func(t *testing.T, c *fleettest.Cluster) {
			require.NoError(t, c.Put(name, "[Service]\nExecStart=/bin/other\n"+content, "launched"))
		}
	}
	there := map[string]struct {
		ours   string
		byHand func(t *testing.T, c *fleettest.Cluster)
	}{
		"nothing":                         {"", nil},
		"ours":                            {webManifest, nil},
		"ours, of another manifest":       {webWithoutCache, nil},
		"another's":                       {"", by("web-app@1.service", stamp)},
		"nobody's":                        {"", by("web-app@1.service", "")},
		"a group without stamp":           {"", by("web-db.service", "")},
		"ours, and a group without stamp": {webManifest, by("web-db.service", "")},
		"ours, and another's":             {webManifest, by("web-db.service", stamp)},
		"ours, and a slice of nobody":     {webManifest, by("web-app@zzz.service", "")},
		"ours, with one gone": {webManifest, func(t *testing.T, c *fleettest.Cluster) {
			require.True(t, c.Remove(c.Units()[0].Name))
		}},
		"what it depends on": {"", by("db.service", "")},
	}
	const depends = "-- web-app@.service --\n[Unit]\nAfter=db.service\n[Service]\nExecStart=/bin/serve\n"
	manifests := []string{
		webManifest, depends, "slices: 2\n", "slices: 1\n-- web-app.service --\n[Service]\nExecStart=/bin/serve\n",
		"-- web-app@.service --\n[Service]\nExecStart=/bin/serve\nEnvironmentFile=/etc/web\n",
	}
	refused := 0
	for name, group := range there {
		for i, manifest := range manifests {
			for _, with := range []struct {
				own     string
				correct bool
			}{{"", false}, {"", true}, {"web", true}} {
				t.Run(fmt.Sprintf("%s %d %s %v", name, i, with.own, with.correct), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						cluster := fleettest.NewCluster(fleettest.Config{Timing: fleettest.Fast()})
						client, err := fleet.NewFleet(fleettest.ClientConfig(cluster))
						require.NoError(t, err)
						store := &revision.Memory{}
						reconciler := func(manifest, own string) *reconcile.Reconciler {
							engine, err := units.New(units.Config{Fleet: client, Store: store, Own: own})
							require.NoError(t, err)
							t.Cleanup(func() { assert.NoError(t, engine.Close()) })
							return reconcile.New(reconcile.Config{
								Backend: engine, Owner: "ops", Store: store, Own: own, CorrectDrift: with.correct,
								Source: reconcile.Fixed(reconcile.Declared{Name: "web", Manifest: manifest}),
							})
						}
						if group.ours != "" {
							report, err := reconciler(group.ours, "").Pass(t.Context())
							require.NoError(t, err)
							require.NoError(t, report.Err())
						}
						if group.byHand != nil {
							group.byHand(t, cluster)
						}
						before := cluster.Units()
						planned, err := reconciler(manifest, with.own).Plan(t.Context())
						require.NoError(t, err)
						require.Equal(t, before, cluster.Units(), "a plan writes nothing")
						done, err := reconciler(manifest, with.own).Pass(t.Context())
						require.NoError(t, err)
						agree(t, planned, done, false)
						if planned.Stacks[0].Action == reconcile.ActionRefuse {
							refused++
							require.Equal(t, before, cluster.Units(), "what is refused changes nothing")
						}
					})
				})
			}
		}
	}
	assert.Greater(t, refused, 50)
}
