package swarm_test

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/squadronctl/squadron/internal/dockertest"
	"github.com/squadronctl/squadron/internal/stacktest"
	"github.com/squadronctl/squadron/prune"
	"github.com/squadronctl/squadron/reconcile"
	"github.com/squadronctl/squadron/stack"
	"github.com/squadronctl/squadron/stack/swarm"
)

// machineChecks is how many cases there are where nobody says -rapid.checks: each is a whole Swarm.
const machineChecks = "10"

// TestMachine lets two owners declare, deploy and sweep on one Swarm, while somebody changes it by hand, reads and writes fail or
// lose a race, and the owners' processes end at any moment. Whatever happens, nothing is removed or changed that is not the
// owner's; and once changes stop, passes and sweeps converge, after which they write nothing.
func TestMachine(t *testing.T) {
	if checks := flag.Lookup("rapid.checks"); checks.Value.String() == checks.DefValue {
		require.NoError(t, checks.Value.Set(machineChecks))
	}
	rapid.Check(t, func(rt *rapid.T) {
		inBubble(t, func() {
			m := newMachine(rt)
			rt.Repeat(map[string]func(*rapid.T){
				"declare": m.declare, "undeclare": m.undeclare, "pass": m.pass, "plan": m.plan, "sweep": m.sweep, "crash": m.crash,
				"restart": m.restart, "by hand": m.byHand, "reads fail": m.failReads, "writes fail": m.failWrites, "races": m.race,
				"heal": m.heal, "time passes": m.timePasses,
			})
			m.converge(rt)
		})
	})
}

// inBubble runs one case in a bubble. rapid ends a case that failed by a panic, which has to leave the bubble as a value.
func inBubble(t *testing.T, run func()) {
	var failed any
	synctest.Test(t, func(*testing.T) {
		defer func() { failed = recover() }()
		run()
	})
	if failed != nil {
		panic(failed)
	}
}

type machine struct {
	swarm  *dockertest.Swarm
	owners []*machineOwner
}

// machineOwner is one owner, and what it ever declared.
type machineOwner struct {
	name, own string
	correct   bool
	store     *stacktest.Store
	declared  map[string]string
	ever      map[string]map[string]bool // names on the cluster by stack
	engine    *swarm.Engine
	*reconcile.Reconciler
}

var (
	machineStacks   = []string{"a", "b", "self"}
	machineServices = []string{"app", "cache", "old"}
)

func newMachine(rt *rapid.T) *machine {
	m := &machine{swarm: dockertest.New(dockertest.Config{})}
	for i, name := range []string{"ops", "dev"} {
		o := &machineOwner{
			name: name, store: stacktest.NewStore(), declared: map[string]string{}, ever: map[string]map[string]bool{},
			correct: rapid.Bool().Draw(rt, "corrects drift"),
		}
		if i == 0 {
			o.own = "self"
		}
		m.owners = append(m.owners, o)
		m.start(rt, o)
	}
	return m
}

func (m *machine) start(rt *rapid.T, o *machineOwner) {
	client, err := m.swarm.Client()
	require.NoError(rt, err)
	o.engine, err = swarm.New(swarm.Config{
		Client: client, Store: o.store, Own: o.own, PollInterval: 2 * time.Second, WaitTimeout: time.Minute,
	})
	require.NoError(rt, err)
	o.Reconciler = reconcile.New(reconcile.Config{
		Backend: o.engine, Owner: o.name, Store: o.store, CorrectDrift: o.correct,
		Source: func(context.Context) ([]reconcile.Declared, []error) {
			var all []reconcile.Declared
			for name, manifest := range o.declared {
				all = append(all, reconcile.Declared{Name: name, Manifest: manifest, Wave: int(name[0] & 1)})
			}
			return all, nil
		},
	})
}

func (m *machine) owner(rt *rapid.T) *machineOwner {
	return rapid.SampledFrom(m.owners).Draw(rt, "owner")
}

func (m *machine) declare(rt *rapid.T) {
	o := m.owner(rt)
	name := rapid.SampledFrom(machineStacks).Draw(rt, "stack")
	services := rapid.SliceOfNDistinct(rapid.SampledFrom(machineServices), 1, 3, rapid.ID[string]).Draw(rt, "services")
	text, also := "services:\n", ""
	for i, service := range services {
		text += fmt.Sprintf("  %s:\n    image: it:%d\n    deploy: {replicas: %d}\n", service,
			rapid.IntRange(1, 3).Draw(rt, "image"), rapid.IntRange(0, 2).Draw(rt, "replicas"))
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
	o.declared[name] = text + also
}

func (m *machine) undeclare(rt *rapid.T) {
	delete(m.owner(rt).declared, rapid.SampledFrom(machineStacks).Draw(rt, "stack"))
}

// names gives the names on the cluster of what a stack declares.
func (o *machineOwner) names(rt *rapid.T, name string) map[string]bool {
	declared, err := o.engine.DeclaredResources(context.Background(), o.declared[name], name)
	require.NoError(rt, err)
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
func (o *machineOwner) noted(rt *rapid.T) {
	for name := range o.declared {
		if o.ever[name] == nil {
			o.ever[name] = map[string]bool{}
		}
		maps.Copy(o.ever[name], o.names(rt, name))
	}
}

// contents gives what there is, by ID, with the specs of services.
func (m *machine) contents() map[string]machineThing {
	all := map[string]machineThing{}
	for _, thing := range m.swarm.Snapshot() {
		found := machineThing{Thing: thing}
		if thing.Kind == dockertest.KindService {
			service, _ := m.swarm.Service(thing.Name)
			text, _ := json.Marshal(service.Spec)
			found.spec = string(text)
		}
		all[thing.ID] = found
	}
	return all
}

type machineThing struct {
	dockertest.Thing
	spec string
}

// watched runs what an owner does, and holds what became of the Swarm against what it may do.
func (m *machine) watched(rt *rapid.T, o *machineOwner, do func()) {
	before := m.contents()
	do()
	after := m.contents()
	for id, thing := range before {
		now, there := after[id]
		known := o.ever[thing.Stack][thing.Name]
		switch {
		case thing.Owner != o.name && !(thing.Owner == "" && known): // what lost its label may be taken over
			require.True(rt, there, "%s removed another's: %v", o.name, thing)
			require.Equal(rt, thing.spec, now.spec, "%s changed another's", o.name)
		case there:
		default:
			if _, declared := o.declared[thing.Stack]; declared {
				require.True(rt, known, "%s removed what it never declared: %v", o.name, thing)
				require.False(rt, o.names(rt, thing.Stack)[thing.Name], "%s removed what it declares: %v", o.name, thing)
			}
		}
	}
}

func (m *machine) pass(rt *rapid.T) {
	o := m.owner(rt)
	o.noted(rt)
	m.watched(rt, o, func() {
		_, err := o.Pass(context.Background())
		require.NoError(rt, err)
	})
}

func (m *machine) plan(rt *rapid.T) {
	o := m.owner(rt)
	written := len(m.swarm.Writes())
	_, err := o.Plan(context.Background())
	require.NoError(rt, err)
	require.Len(rt, m.swarm.Writes(), written)
}

func (m *machine) sweep(rt *rapid.T) {
	o := m.owner(rt)
	m.watched(rt, o, func() { _, _ = m.sweepOf(o, rapid.Bool().Draw(rt, "complete")) })
}

func (m *machine) sweepOf(o *machineOwner, complete bool) (prune.Report, error) {
	cfg := prune.Config{Backend: o.engine, Owner: o.name, Store: o.store, Complete: complete}
	for name, manifest := range o.declared {
		cfg.Declared = append(cfg.Declared, prune.Declared{Name: name, Manifest: manifest})
	}
	return prune.Sweep(context.Background(), cfg)
}

// crash ends the owner's process at some write of a pass: nothing is written from there on, and all memory is lost.
func (m *machine) crash(rt *rapid.T) {
	o := m.owner(rt)
	left := rapid.IntRange(0, 6).Draw(rt, "writes")
	m.swarm.FailWrites(func(string) error {
		left--
		switch {
		case left == -1 && rapid.Bool().Draw(rt, "done"):
			return dockertest.ErrLost
		case left < 0:
			return errTest
		}
		return nil
	})
	o.noted(rt)
	m.watched(rt, o, func() { _, _ = o.Pass(context.Background()) })
	m.swarm.FailWrites(nil)
	m.start(rt, o)
}

func (m *machine) restart(rt *rapid.T) { m.start(rt, m.owner(rt)) }

func (m *machine) heal(*rapid.T) {
	m.swarm.FailReads(nil)
	m.swarm.FailWrites(nil)
	m.swarm.OnWrite(nil)
	for _, o := range m.owners {
		o.store.Fail(nil)
	}
}

func (m *machine) timePasses(rt *rapid.T) {
	time.Sleep(time.Duration(rapid.IntRange(1, 600).Draw(rt, "seconds")) * time.Second)
}

// converge lets all changes stop: faults end, and of those who claim one name all but one withdraw.
func (m *machine) converge(rt *rapid.T) {
	m.heal(rt)
	m.settleClaims()
	for range 4 {
		time.Sleep(6 * time.Minute) // past every Retry and DriftInterval
		for _, o := range m.owners {
			o.noted(rt)
			m.watched(rt, o, func() {
				_, err := o.Pass(context.Background())
				require.NoError(rt, err)
				_, err = m.sweepOf(o, true)
				require.NoError(rt, err)
			})
		}
	}
	for _, o := range m.owners {
		m.requireConverged(rt, o)
	}
}

func (m *machine) settleClaims() {
	m.removeAll(func(thing dockertest.Thing) bool { return thing.Owner == "" })
	claimed := map[string]string{}
	for _, thing := range m.swarm.Snapshot() {
		claimed[thing.Stack] = thing.Owner
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

func (m *machine) requireConverged(rt *rapid.T, o *machineOwner) {
	written := m.swarm.Writes()
	report, err := o.Pass(context.Background())
	require.NoError(rt, err)
	require.NoError(rt, report.Err())
	for _, s := range report.Stacks {
		drifted := !o.correct && s.Reason == reconcile.ReasonDrift && s.Action == reconcile.ActionNone && s.Health == reconcile.Healthy
		require.True(rt, s.Settled() || drifted, "%s: %+v", o.name, s)
		require.Empty(rt, s.Missing)
	}
	swept, err := m.sweepOf(o, true)
	require.NoError(rt, err)
	require.NoError(rt, swept.Err())
	require.Len(rt, swept.Of(prune.Unmanaged), len(swept.Items), "%+v", swept.Items)
	require.Equal(rt, written, m.swarm.Writes(), "a pass and a sweep with nothing to do write nothing")
	for _, thing := range m.swarm.Snapshot() {
		_, declared := o.declared[thing.Stack]
		require.True(rt, thing.Owner != o.name || declared || thing.Stack == o.own, "%v is still there", thing)
	}
}
