package swarm

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"testing"
	"time"

	"github.com/moby/moby/client"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/squadronctl/squadron/prune"
	"github.com/squadronctl/squadron/reconcile"
	"github.com/squadronctl/squadron/stack"
	"github.com/squadronctl/squadron/stack/revision"
	engine "github.com/squadronctl/squadron/stack/swarm"
)

// machineChecks is how many cases there are where nobody says -rapid.checks. The unit tests have many more, in memory.
const machineChecks = "15"

// Two owners declare, deploy and sweep, while somebody changes the swarm by hand, requests and answers are lost, writes lose a
// race, and the owners' programs end at any moment. Nothing is removed or changed that is not the owner's; and once changes
// stop, passes and sweeps converge, after which they write nothing.
func TestRandomLives(t *testing.T) {
	t.Parallel()
	if checks := flag.Lookup("rapid.checks"); checks.Value.String() == checks.DefValue {
		require.NoError(t, checks.Value.Set(machineChecks))
	}
	transport := overSocket(t, real.Manager().Socket())
	defer clearMachine(t)
	rapid.Check(t, func(rt *rapid.T) {
		clearMachine(rt)
		m := &machine{wire: &wire{next: transport}}
		api, err := client.New(client.WithHTTPClient(httpClient(m.wire)))
		require.NoError(rt, err)
		defer api.Close()
		for i, name := range []string{"machine-ops", "machine-dev"} {
			o := &machineOwner{name: name, api: api, store: &revision.Memory{}, declared: map[string]string{}, ever: map[string]map[string]bool{}}
			if o.correct = rapid.Bool().Draw(rt, "corrects drift"); i == 0 {
				o.own = "mself"
			}
			o.start(rt)
			m.owners = append(m.owners, o)
		}
		rt.Repeat(map[string]func(*rapid.T){
			"declare": m.declare, "undeclare": m.undeclare, "pass": m.pass, "sweep": m.sweep, "crash": m.crash,
			"by hand": m.byHand, "fail": m.fail, "race": m.race, "heal": m.heal,
		})
		m.converge(rt)
	})
}

type machine struct {
	wire   *wire
	owners []*machineOwner
}

// machineOwner is one owner, and what it ever declared.
type machineOwner struct {
	name, own string
	correct   bool
	api       *client.Client
	store     stack.RevisionStore
	declared  map[string]string
	ever      map[string]map[string]bool // names on the cluster, by stack
	engine    *engine.Engine
	*reconcile.Reconciler
}

var (
	machineStacks   = []string{"ma", "mb", "mself"}
	machineServices = []string{"app", "cache", "old"}
)

// start begins a program that knows nothing but what is in its store.
func (o *machineOwner) start(t require.TestingT) {
	var err error
	o.engine, err = engine.New(engine.Config{
		Client: o.api, Store: o.store, Own: o.own, PollInterval: pause, WaitTimeout: settle})
	require.NoError(t, err)
	o.Reconciler = reconcile.New(reconcile.Config{
		Backend: o.engine, Owner: o.name, Store: o.store, CorrectDrift: o.correct, DriftInterval: time.Nanosecond,
		Retry: reconcile.Retry{Min: time.Nanosecond, Max: time.Nanosecond},
		Source: func(context.Context) ([]reconcile.Declared, []error) {
			var all []reconcile.Declared
			for name, manifest := range o.declared {
				all = append(all, reconcile.Declared{Name: name, Manifest: manifest, Wave: int(name[1] & 1)})
			}
			return all, nil
		},
	})
}

func (m *machine) owner(rt *rapid.T) *machineOwner {
	return rapid.SampledFrom(m.owners).Draw(rt, "owner")
}

func (m *machine) declare(rt *rapid.T) {
	name := rapid.SampledFrom(machineStacks).Draw(rt, "stack")
	services := rapid.SliceOfNDistinct(rapid.SampledFrom(machineServices), 1, 3, rapid.ID[string]).Draw(rt, "services")
	text, also := "services:\n", ""
	for i, service := range services {
		text += fmt.Sprintf("  %s:\n    image: squadron.test/app:%d\n    deploy: {replicas: 0}\n", service, rapid.IntRange(1, 3).Draw(rt, "image"))
		if i > 0 {
			continue
		}
		if rapid.Bool().Draw(rt, "network") {
			text, also = text+"    networks: [net]\n", also+"networks:\n  net: {}\n"
		}
		if content := rapid.IntRange(0, 2).Draw(rt, "config"); content > 0 {
			text, also = text+"    configs: [conf]\n", also+fmt.Sprintf("configs:\n  conf: {content: c%d}\n", content)
		}
		if content := rapid.IntRange(0, 2).Draw(rt, "secret"); content > 0 {
			text, also = text+"    secrets: [key]\n", also+fmt.Sprintf("secrets:\n  key: {content: s%d}\n", content)
		}
	}
	m.owner(rt).declared[name] = text + also
}

func (m *machine) undeclare(rt *rapid.T) {
	delete(m.owner(rt).declared, rapid.SampledFrom(machineStacks).Draw(rt, "stack"))
}

// names gives the names on the cluster of what a stack declares.
func (o *machineOwner) names(t require.TestingT, name string) map[string]bool {
	declared, err := o.engine.DeclaredResources(context.Background(), o.declared[name], name)
	require.NoError(t, err)
	names := map[string]bool{}
	for service := range declared.Services {
		names[service] = true
	}
	for _, of := range []map[string]stack.Resource{declared.Networks, declared.Configs, declared.Secrets} {
		for resource := range of {
			names[resource] = true
		}
	}
	return names
}

// noted adds what is declared now to what ever was: only what a pass has seen can be removed later.
func (o *machineOwner) noted(t require.TestingT) {
	for name := range o.declared {
		if o.ever[name] == nil {
			o.ever[name] = map[string]bool{}
		}
		maps.Copy(o.ever[name], o.names(t, name))
	}
}

// watched runs what an owner does, and holds what became of the swarm against what the owner may do.
func (o *machineOwner) watched(t require.TestingT, do func()) {
	before := machineContents(t)
	do()
	after := machineContents(t)
	for id, thing := range before {
		now, there := after[id]
		known := o.ever[thing.stack][thing.name]
		_, declared := o.declared[thing.stack]
		switch {
		case thing.owner != o.name && !(thing.owner == "" && known): // what lost its label may be taken over
			require.True(t, there, "%s removed another's: %v", o.name, thing)
			require.Equal(t, thing.spec, now.spec, "%s changed another's", o.name)
		case !there && declared:
			require.True(t, known, "%s removed what it never declared: %v", o.name, thing)
			require.False(t, o.names(t, thing.stack)[thing.name], "%s removed what it declares: %v", o.name, thing)
		}
	}
}

func (m *machine) pass(rt *rapid.T) {
	o := m.owner(rt)
	o.noted(rt)
	o.watched(rt, func() {
		_, err := o.Pass(context.Background())
		require.NoError(rt, err)
	})
}

func (m *machine) sweep(rt *rapid.T) {
	o := m.owner(rt)
	complete := rapid.Bool().Draw(rt, "complete")
	o.watched(rt, func() { _, _ = o.sweepAll(complete) })
}

func (o *machineOwner) sweepAll(complete bool) (prune.Report, error) {
	config := prune.Config{Backend: o.engine, Owner: o.name, Store: o.store, Complete: complete}
	for name, manifest := range o.declared {
		config.Declared = append(config.Declared, prune.Declared{Name: name, Manifest: manifest})
	}
	return prune.Sweep(context.Background(), config)
}

// crash ends the owner's program at some write of a pass: nothing comes through from there on, and all memory is lost.
func (m *machine) crash(rt *rapid.T) {
	o := m.owner(rt)
	left := rapid.IntRange(0, 6).Draw(rt, "writes")
	done := rapid.Bool().Draw(rt, "done")
	m.wire.set(func(method, _ string) fate {
		if method == "GET" && left >= 0 {
			return arrives
		}
		left--
		switch {
		case left == -1 && done:
			return answerLost
		case left < 0:
			return lost
		}
		return arrives
	})
	o.noted(rt)
	o.watched(rt, func() { _, _ = o.Pass(context.Background()) })
	m.wire.set(nil)
	o.start(rt)
}

func (m *machine) heal(*rapid.T) { m.wire.set(nil) }

// converge lets all changes stop: faults end, and of those who claim one name all but one withdraw.
func (m *machine) converge(rt *rapid.T) {
	m.wire.set(nil)
	m.settleClaims(rt)
	for range 3 {
		for _, o := range m.owners {
			o.noted(rt)
			o.watched(rt, func() {
				_, err := o.Pass(context.Background())
				require.NoError(rt, err)
				_, err = o.sweepAll(true)
				require.NoError(rt, err)
			})
		}
	}
	for _, o := range m.owners {
		m.requireConverged(rt, o)
	}
}

func (m *machine) settleClaims(t require.TestingT) {
	removeThings(t, func(thing machineThing) bool { return thing.owner == "" })
	claimed := map[string]string{}
	for _, thing := range machineContents(t) {
		claimed[thing.stack] = thing.owner
	}
	for _, o := range m.owners {
		for name := range o.declared {
			if by, ok := claimed[name]; ok && by != o.name {
				delete(o.declared, name)
				continue
			}
			claimed[name] = o.name
		}
	}
}

func (m *machine) requireConverged(t require.TestingT, o *machineOwner) {
	m.wire.writes.Store(0)
	report, err := o.Pass(context.Background())
	require.NoError(t, err)
	require.NoError(t, report.Err())
	for _, s := range report.Stacks {
		drifted := !o.correct && s.Reason == reconcile.ReasonDrift && s.Action == reconcile.ActionNone && s.Health == reconcile.Healthy
		require.True(t, s.Settled() || drifted, "%s: %+v", o.name, s)
		require.Empty(t, s.Missing)
	}
	swept, err := o.sweepAll(true)
	require.NoError(t, err)
	require.NoError(t, swept.Err())
	require.Len(t, swept.Of(prune.Unmanaged), len(swept.Items), "%+v", swept.Items)
	require.Zero(t, m.wire.writes.Load(), "a pass and a sweep with nothing to do write nothing")
	for _, thing := range machineContents(t) {
		_, declared := o.declared[thing.stack]
		require.True(t, thing.owner != o.name || declared || thing.stack == o.own, "%v is still there", thing)
	}
}
