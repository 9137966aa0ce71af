package controller_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/squadronctl/squadron/controller"
	"github.com/squadronctl/squadron/fleet"
	"github.com/squadronctl/squadron/fleet/fleettest"
	"github.com/squadronctl/squadron/task"
)

// onBench runs f on a bench in a synctest bubble, and closes the bench.
func onBench(t *testing.T, cluster fleettest.Config, adjust func(*controller.Config), f func(t *testing.T, b *bench)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		var adjusts []func(*controller.Config)
		if adjust != nil {
			adjusts = append(adjusts, adjust)
		}
		b := newBench(t, cluster, adjusts...)
		defer b.close()
		f(t, b)
	})
}

// put has units on the cluster, as another client of it would have brought them there.
func (b *bench) put(desired string, names ...string) {
	b.t.Helper()
	for _, name := range names {
		require.NoError(b.t, b.cluster.Put(name, service("v1"), desired))
	}
}

// desired gives "name=desired state" of each unit on the cluster.
func (b *bench) desired() string {
	var parts []string
	for _, unit := range b.cluster.Units() {
		parts = append(parts, unit.Name+"="+unit.Desired)
	}
	return strings.Join(parts, " ")
}

// wrote is how many writes the cluster has been asked since the last ResetCounts.
func (b *bench) wrote() int {
	counts := b.cluster.Counts()
	return counts.Puts + counts.Deletes
}

// named is a request of a group that names its units.
func named(group string, units ...string) controller.Request {
	req := of(group)
	for _, unit := range units {
		req.Units = append(req.Units, controller.Unit{Name: unit, Content: service("v1")})
	}
	return req
}

// withSlices gives the request for some slices.
func withSlices(req controller.Request, ids ...string) controller.Request {
	req.SliceIDs = ids
	return req
}

// withContent gives the request with this content in each of its units.
func withContent(req controller.Request, content string) controller.Request {
	req.Units = append([]controller.Unit(nil), req.Units...)
	for i := range req.Units {
		req.Units[i].Content = content
	}
	return req
}

// instanceGroup is a request to submit a group without slices.
func instanceGroup(units ...string) controller.Request {
	req := named("db", units...)
	req.DesiredSlices = 1
	return req
}

// namesOf are the names of statuses, in their order.
func namesOf(statuses []fleet.UnitStatus) []string {
	names := []string{}
	for _, status := range statuses {
		names = append(names, status.Name)
	}
	return names
}

// changers are the operations on units that are there.
func changers(c controller.Controller) map[string]operation {
	return map[string]operation{"start": c.Start, "stop": c.Stop, "destroy": c.Destroy}
}

// onlyFleet hides all that a backend offers beyond the contract.
type onlyFleet struct{ fleet.Fleet }

// overNarrow makes the bench's controller see only the contract of its client.
func overNarrow(config *controller.Config) { config.Fleet = onlyFleet{config.Fleet} }

// waitSoon gives a config waits that end soon.
func waitSoon(config *controller.Config) { config.WaitTimeout = 20 * time.Second }

// memoryFleet is a backend of somebody's own, with the six methods of the contract and no more. What a unit was asked for
// comes true after lag.
type memoryFleet struct {
	lag time.Duration
	// before is called at the beginning of each method, outside of the lock; an error of its is the method's.
	before func(method, name string) error
	// list changes what a listing shows.
	list func(listing int, all []fleet.UnitStatus) []fleet.UnitStatus

	mutex    sync.Mutex
	units    map[string]*memoryUnit
	listings int
	gets     int
	writes   []string
}

type memoryUnit struct {
	hash    string
	desired string
	since   time.Time
	before  string // the state until lag has passed
}

func newMemoryFleet() *memoryFleet { return &memoryFleet{units: map[string]*memoryUnit{}} }

// notFound is the error of the contract, as a backend outside of package fleet comes by it.
func notFound() error {
	_, err := fleet.NewDummyFleet(fleet.DefaultDummyConfig()).GetStatus(context.Background(), "x.service")
	return err
}

func (m *memoryFleet) enter(method, name string) error {
	if m.before != nil {
		if err := m.before(method, name); err != nil {
			return err
		}
	}
	m.mutex.Lock()
	switch method {
	case "list":
		m.listings++
	case "get":
		m.gets++
	default:
		m.writes = append(m.writes, method+" "+name)
	}
	return nil
}

func (m *memoryFleet) Submit(_ context.Context, name, content string) error {
	if err := m.enter("submit", name); err != nil {
		return err
	}
	defer m.mutex.Unlock()
	hash, err := fleet.UnitHash(content)
	if err != nil {
		return err
	}
	m.units[name] = &memoryUnit{hash: hash, desired: "loaded", since: time.Now(), before: ""}
	return nil
}

func (m *memoryFleet) set(method, name, state string) error {
	if err := m.enter(method, name); err != nil {
		return err
	}
	defer m.mutex.Unlock()
	unit := m.units[name]
	if unit == nil {
		return notFound()
	}
	unit.before = m.state(unit)
	unit.desired, unit.since = state, time.Now()
	return nil
}

func (m *memoryFleet) Start(_ context.Context, name string) error {
	return m.set("start", name, "launched")
}
func (m *memoryFleet) Stop(_ context.Context, name string) error {
	return m.set("stop", name, "loaded")
}

func (m *memoryFleet) Destroy(_ context.Context, name string) error {
	if err := m.enter("destroy", name); err != nil {
		return err
	}
	defer m.mutex.Unlock()
	if m.units[name] == nil {
		return notFound()
	}
	delete(m.units, name)
	return nil
}

func (m *memoryFleet) state(unit *memoryUnit) string {
	if time.Since(unit.since) < m.lag {
		return unit.before
	}
	return unit.desired
}

func (m *memoryFleet) status(name string) fleet.UnitStatus {
	unit := m.units[name]
	status := fleet.UnitStatus{Name: name, Desired: unit.desired, Current: m.state(unit)}
	switch status.Current {
	case "launched":
		status.Machine = []fleet.MachineStatus{{ID: "m1", SystemdActive: "active", SystemdSub: "running", UnitHash: unit.hash}}
	case "loaded":
		status.Machine = []fleet.MachineStatus{{ID: "m1", SystemdActive: "inactive", SystemdSub: "dead", UnitHash: unit.hash}}
	default:
		status.Current = "inactive"
	}
	return status
}

func (m *memoryFleet) GetStatus(_ context.Context, name string) (fleet.UnitStatus, error) {
	if err := m.enter("get", name); err != nil {
		return fleet.UnitStatus{}, err
	}
	defer m.mutex.Unlock()
	if m.units[name] == nil {
		return fleet.UnitStatus{}, notFound()
	}
	return m.status(name), nil
}

func (m *memoryFleet) GetStatusWithMatcher(matcher func(string) bool) ([]fleet.UnitStatus, error) {
	if err := m.enter("list", ""); err != nil {
		return nil, err
	}
	defer m.mutex.Unlock()
	var all []fleet.UnitStatus
	for name := range m.units {
		all = append(all, m.status(name))
	}
	if m.list != nil {
		all = m.list(m.listings, all)
	}
	var found []fleet.UnitStatus
	for _, status := range all {
		if matcher(status.Name) {
			found = append(found, status)
		}
	}
	if len(found) == 0 {
		return nil, notFound()
	}
	return found, nil
}

// onBackend makes a controller on a backend of one's own, with a task service of its own.
func onBackend(t testing.TB, backend fleet.Fleet, adjust ...func(*controller.Config)) *bench {
	b := &bench{t: t, client: backend, tasks: task.NewTaskService(task.DefaultConfig())}
	b.controller = b.newController(adjust...)
	return b
}

// logLines keeps what is logged, line by line, with its level in front.
type logLines struct {
	mutex sync.Mutex
	lines []string
}

func (l *logLines) add(level, f string, v []any) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.lines = append(l.lines, level+" "+fmt.Sprintf(f, v...))
}

func (l *logLines) text() string {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return strings.Join(l.lines, "\n")
}

func (l *logLines) Debug(_ context.Context, f string, v ...any)    { l.add("DEBUG", f, v) }
func (l *logLines) Info(_ context.Context, f string, v ...any)     { l.add("INFO", f, v) }
func (l *logLines) Notice(_ context.Context, f string, v ...any)   { l.add("NOTICE", f, v) }
func (l *logLines) Warning(_ context.Context, f string, v ...any)  { l.add("WARNING", f, v) }
func (l *logLines) Error(_ context.Context, f string, v ...any)    { l.add("ERROR", f, v) }
func (l *logLines) Critical(_ context.Context, f string, v ...any) { l.add("CRITICAL", f, v) }
