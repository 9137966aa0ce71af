package reconcile_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/squadronctl/squadron/internal/stacktest"
	"github.com/squadronctl/squadron/prune"
	"github.com/squadronctl/squadron/reconcile"
	"github.com/squadronctl/squadron/stack"
)

// TestMachine lets two owners declare, deploy and sweep on one cluster, while somebody changes it by hand, reads and
// writes fail, and the owners' processes end at any moment. Whatever happens, nothing is removed or changed that is not
// the owner's; and once changes stop, passes and sweeps converge, after which they write nothing.
func TestMachine(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		inBubble(t, func() {
			m := newMachine(rt)
			rt.Repeat(map[string]func(*rapid.T){
				"declare": m.declare, "undeclare": m.undeclare, "pass": m.pass, "plan": m.plan, "sweep": m.sweep, "crash": m.crash,
				"restart": m.restart, "by hand": m.byHand, "reads fail": m.failReads, "writes fail": m.failWrites, "heal": m.heal,
				"time passes": m.timePasses,
			})
			m.converge(rt)
		})
	})
}

// inBubble runs one case in a bubble. rapid ends a case that failed by a panic, which has to leave the bubble as a
// value.
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
	cluster *stacktest.Cluster
	owners  []*machineOwner
}

// machineOwner is one owner, and what it ever declared.
type machineOwner struct {
	name, own, lacks string
	correct          bool
	store            *stacktest.Store
	declared         map[string]string
	ever             map[string]map[string]bool // scoped names by stack
	*reconcile.Reconciler
}

var (
	machineStacks   = []string{"a", "b", "self"}
	machineServices = []string{"app", "cache", "old"}
)

func newMachine(rt *rapid.T) *machine {
	m := &machine{cluster: stacktest.NewCluster()}
	for i, name := range []string{"ops", "dev"} {
		o := &machineOwner{
			name: name, store: stacktest.NewStore(), declared: map[string]string{}, ever: map[string]map[string]bool{},
			correct: rapid.Bool().Draw(rt, "corrects drift"),
			lacks: rapid.SampledFrom([]string{
				"", "", "StacksReader", "StackServicesReader", "DriftReader", "NetworkNamer", "SwarmSizer", "OutOfBand",
			}).Draw(rt, "lacks"),
		}
		if i == 0 {
			o.own = "self"
		}
		m.owners = append(m.owners, o)
		m.start(o)
	}
	return m
}

func (m *machine) start(o *machineOwner) {
	o.Reconciler = reconcile.New(reconcile.Config{
		Backend: m.engine(o), Owner: o.name, Store: o.store, CorrectDrift: o.correct,
		Source: func(context.Context) ([]reconcile.Declared, []error) {
			var all []reconcile.Declared
			for name, manifest := range o.declared {
				all = append(all, reconcile.Declared{Name: name, Manifest: manifest, Wave: int(name[0] & 1)})
			}
			return all, nil
		},
	})
}

func (m *machine) engine(o *machineOwner) stack.Backend {
	return stacktest.Without(stacktest.NewEngine(m.cluster, o.store, o.own), o.lacks)
}

func (m *machine) owner(rt *rapid.T) *machineOwner {
	return rapid.SampledFrom(m.owners).Draw(rt, "owner")
}

func (m *machine) declare(rt *rapid.T) {
	o := m.owner(rt)
	name := rapid.SampledFrom(machineStacks).Draw(rt, "stack")
	var lines []string
	services := rapid.SliceOfNDistinct(rapid.SampledFrom(machineServices), 1, 3, rapid.ID[string]).Draw(rt, "services")
	for _, service := range services {
		lines = append(lines, fmt.Sprintf("service %s image=%d", service, rapid.IntRange(1, 3).Draw(rt, "image")))
	}
	for _, resource := range []string{"network net", "config conf", "secret key"} {
		if rapid.Bool().Draw(rt, resource) {
			lines = append(lines, resource)
		}
	}
	o.declared[name] = strings.Join(lines, "\n")
}

// noted adds what is declared now to what ever was: only what a pass has seen can be removed later.
func (o *machineOwner) noted() {
	for name, manifest := range o.declared {
		if o.ever[name] == nil {
			o.ever[name] = map[string]bool{}
		}
		for _, line := range strings.Split(manifest, "\n") {
			o.ever[name][stacktest.Scoped(name, strings.Fields(line)[1])] = true
		}
	}
}

func (o *machineOwner) declares(name, scoped string) bool {
	for _, line := range strings.Split(o.declared[name], "\n") {
		if words := strings.Fields(line); len(words) > 1 && stacktest.Scoped(name, words[1]) == scoped {
			return true
		}
	}
	return false
}

func (m *machine) undeclare(rt *rapid.T) {
	delete(m.owner(rt).declared, rapid.SampledFrom(machineStacks).Draw(rt, "stack"))
}

// watched runs what an owner does, and holds what became of the cluster against what it may do.
func (m *machine) watched(rt *rapid.T, o *machineOwner, do func()) {
	before, fields := m.cluster.Contents(), m.fields()
	do()
	after := m.cluster.Contents()
	for _, thing := range before {
		words := strings.Split(thing, " ") // owner, kind, stack, name
		if words[0] != o.name {
			require.Contains(rt, after, thing, "%s removed another's", o.name)
			require.Equal(rt, fields[thing], m.fields()[thing], "%s changed another's", o.name)
			continue
		}
		if _, declared := o.declared[words[2]]; declared && !slices.Contains(after, thing) {
			require.True(rt, o.ever[words[2]][words[3]], "%s removed what it never declared: %s", o.name, thing)
			require.False(rt, o.declares(words[2], words[3]), "%s removed what it declares: %s", o.name, thing)
		}
	}
}

func (m *machine) fields() map[string]map[string]string {
	all := map[string]map[string]string{}
	for _, thing := range m.cluster.Contents() {
		words := strings.Split(thing, " ")
		all[thing] = maps.Clone(m.cluster.Fields(words[2], words[3]))
	}
	return all
}

func (m *machine) pass(rt *rapid.T) {
	o := m.owner(rt)
	o.noted()
	m.watched(rt, o, func() {
		_, err := o.Pass(context.Background())
		require.NoError(rt, err)
	})
}

func (m *machine) plan(rt *rapid.T) {
	o := m.owner(rt)
	written := len(m.cluster.Writes())
	_, err := o.Plan(context.Background())
	require.NoError(rt, err)
	require.Len(rt, m.cluster.Writes(), written)
}

func (m *machine) sweep(rt *rapid.T) {
	o := m.owner(rt)
	m.watched(rt, o, func() { _, _ = m.sweepOf(o, rapid.Bool().Draw(rt, "complete")) })
}

func (m *machine) sweepOf(o *machineOwner, complete bool) (prune.Report, error) {
	cfg := prune.Config{Backend: m.engine(o), Owner: o.name, Store: o.store, Complete: complete}
	for name, manifest := range o.declared {
		cfg.Declared = append(cfg.Declared, prune.Declared{Name: name, Manifest: manifest})
	}
	return prune.Sweep(context.Background(), cfg)
}

// crash ends the owner's process at some write of a pass: nothing is written from there on, and all memory is lost.
func (m *machine) crash(rt *rapid.T) {
	o := m.owner(rt)
	left := rapid.IntRange(0, 6).Draw(rt, "writes")
	m.cluster.FailWrites(func(string) error {
		left--
		if left < 0 {
			return errTest
		}
		return nil
	})
	o.noted()
	m.watched(rt, o, func() { _, _ = o.Pass(context.Background()) })
	m.cluster.FailWrites(nil)
	m.start(o)
}

func (m *machine) restart(rt *rapid.T) { m.start(m.owner(rt)) }

func (m *machine) byHand(rt *rapid.T) {
	name := rapid.SampledFrom(machineStacks).Draw(rt, "stack")
	service := stacktest.Scoped(name, rapid.SampledFrom(append([]string{"byhand"}, machineServices...)).Draw(rt, "service"))
	switch rapid.IntRange(0, 5).Draw(rt, "what") {
	case 0:
		m.cluster.Set(name, service, "image", rapid.SampledFrom([]string{"1", "2", "by hand"}).Draw(rt, "image"))
	case 1:
		m.cluster.Delete(name, service)
	case 2:
		m.cluster.DeleteStack(name)
	case 3:
		m.cluster.Put("", name, service, map[string]string{"image": "by hand"})
	case 4:
		m.cluster.PutNetwork("", name, stacktest.Scoped(name, "bridge"))
	case 5:
		m.cluster.SetStatus(name, service, rapid.SampledFrom([]string{stack.StatusFailed, stack.StatusStarting}).Draw(rt, "status"))
	}
}

func (m *machine) failReads(rt *rapid.T) {
	fail := failing(rapid.SampledFrom([]string{
		"", "Read", "ReadStacks", "LookOnce", "OwnedStacks", "Live", "LiveServices a", "LiveNetworks", "Revisions", "AddRevision", "Stacks", "DropRevisions",
	}).Draw(rt, "operation"))
	m.cluster.FailReads(fail)
	for _, o := range m.owners {
		o.store.Fail(fail)
	}
}

func (m *machine) failWrites(rt *rapid.T) {
	m.cluster.FailWrites(failing(rapid.SampledFrom([]string{"create", "update a", "remove", "remove a_old"}).Draw(rt, "operation")))
}

func failing(prefix string) func(string) error {
	return func(op string) error {
		if strings.HasPrefix(op, prefix) {
			return errTest
		}
		return nil
	}
}

func (m *machine) heal(*rapid.T) {
	m.cluster.FailReads(nil)
	m.cluster.FailWrites(nil)
	for _, o := range m.owners {
		o.store.Fail(nil)
	}
}

func (m *machine) timePasses(rt *rapid.T) {
	time.Sleep(time.Duration(rapid.IntRange(1, 600).Draw(rt, "seconds")) * time.Second)
}

// converge lets all changes stop: faults end, services recover, and of those who claim one name all but one withdraw.
func (m *machine) converge(rt *rapid.T) {
	m.heal(rt)
	m.settleClaims()
	for range 4 {
		time.Sleep(6 * time.Minute) // past every Retry and DriftInterval
		for _, o := range m.owners {
			o.noted()
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
	claimed := map[string]string{}
	for _, thing := range m.cluster.Contents() {
		words := strings.Split(thing, " ")
		if words[0] == "" {
			m.cluster.DeleteStack(words[2])
			continue
		}
		claimed[words[2]] = words[0]
		m.cluster.SetStatus(words[2], words[3], stack.StatusRunning)
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
	written := len(m.cluster.Writes())
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
	require.Len(rt, m.cluster.Writes(), written, "a pass and a sweep with nothing to do write nothing")
	for _, thing := range m.cluster.Contents() {
		words := strings.Split(thing, " ")
		_, declared := o.declared[words[2]]
		require.True(rt, words[0] != o.name || declared || words[2] == o.own, "%s is still there", thing)
	}
}
