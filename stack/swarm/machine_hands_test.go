package swarm_test

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	api "github.com/moby/moby/api/types/swarm"
	"pgregory.net/rapid"

	"github.com/squadronctl/squadron/internal/dockertest"
)

var errTest = errors.New("out of order")

func (m *machine) byHand(rt *rapid.T) {
	name := rapid.SampledFrom(machineStacks).Draw(rt, "stack")
	service := name + "_" + rapid.SampledFrom(append([]string{"byhand"}, machineServices...)).Draw(rt, "service")
	// What is not there, or in use, stays as it is.
	switch rapid.IntRange(0, 7).Draw(rt, "what") {
	case 0:
		_ = m.swarm.EditService(service, func(spec *api.ServiceSpec) { spec.TaskTemplate.ContainerSpec.Image = "it:byhand" })
	case 1:
		_ = m.swarm.Remove(dockertest.KindService, service)
	case 2:
		m.removeAll(func(thing dockertest.Thing) bool { return thing.Stack == name })
	case 3:
		_, _ = m.swarm.CreateService(foreign(name, service))
	case 4:
		_, _ = m.swarm.CreateNetwork(name+"_bridge", map[string]string{namespace: name})
	case 5:
		_ = m.swarm.Scale(service, uint64(rapid.IntRange(0, 3).Draw(rt, "replicas")))
	case 6:
		_ = m.swarm.EditService(service, func(spec *api.ServiceSpec) { delete(spec.Labels, "squadron.owner") })
	case 7:
		_ = m.swarm.FailTask(service, 1, 1)
	}
}

// removeAll removes by hand what matches, services first.
func (m *machine) removeAll(match func(dockertest.Thing) bool) {
	things := m.swarm.Snapshot()
	slices.SortStableFunc(things, func(a, b dockertest.Thing) int {
		return strings.Compare(strings.Replace(string(b.Kind), "service", "z", 1), strings.Replace(string(a.Kind), "service", "z", 1))
	})
	for _, thing := range things {
		if match(thing) {
			_ = m.swarm.Remove(thing.Kind, thing.Name)
		}
	}
}

func (m *machine) failReads(rt *rapid.T) {
	operation := rapid.SampledFrom([]string{
		"", "ServiceList", "TaskList", "NodeList", "NetworkList", "ConfigList", "SecretList", "ServiceInspect", "NetworkInspect",
		"Revisions", "AddRevision", "Stacks", "DropRevisions",
	}).Draw(rt, "operation")
	m.swarm.FailReads(failingWith(rt, operation))
	for _, o := range m.owners {
		o.store.Fail(failingWith(rt, operation))
	}
}

func (m *machine) failWrites(rt *rapid.T) {
	m.swarm.FailWrites(failingWith(rt, rapid.SampledFrom([]string{
		"", "ServiceCreate", "ServiceUpdate a", "ServiceRemove", "NetworkRemove", "ConfigCreate", "SecretRemove",
	}).Draw(rt, "operation")))
}

func failingWith(rt *rapid.T, prefix string) func(string) error {
	fault := rapid.SampledFrom([]error{
		errTest, &dockertest.StatusError{Status: http.StatusInternalServerError, Message: "out of order"},
	}).Draw(rt, "fault")
	return func(op string) error {
		if strings.HasPrefix(op, prefix) {
			return fault
		}
		return nil
	}
}

// race has somebody write to a service right before an owner does, again and again.
func (m *machine) race(rt *rapid.T) {
	every, writes := rapid.IntRange(1, 3).Draw(rt, "every"), 0
	m.swarm.OnWrite(func(op string) {
		if service, update := strings.CutPrefix(op, "ServiceUpdate "); update {
			if writes++; writes%every == 0 {
				_ = m.swarm.Label(service, "note", fmt.Sprint(writes))
			}
		}
	})
}
