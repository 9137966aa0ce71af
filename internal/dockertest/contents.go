package dockertest

import (
	"cmp"
	"maps"
	"slices"

	"github.com/moby/moby/api/types/network"
	"github.com/moby/moby/api/types/swarm"
)

// Kind is a kind of things.
type Kind string

// The kinds of things.
const (
	KindService Kind = "service"
	KindNetwork Kind = "network"
	KindConfig  Kind = "config"
	KindSecret  Kind = "secret"
)

// Thing is a service, network, config or secret as Snapshot gives it.
type Thing struct {
	Kind    Kind
	Name    string
	ID      string
	Version uint64 // 0 for networks
	// Stack, Owner and Revision are what the labels say; empty without.
	Stack, Owner, Revision string
	Labels                 map[string]string
}

func thing(kind Kind, name, id string, version uint64, labels map[string]string) Thing {
	return Thing{
		Kind: kind, Name: name, ID: id, Version: version, Labels: maps.Clone(labels),
		Stack: labels[NamespaceLabel], Owner: labels[OwnerLabel], Revision: labels[RevisionLabel],
	}
}

// Snapshot gives all that there is, by kind and name, without the networks that every Swarm has.
func (s *Swarm) Snapshot() []Thing {
	defer s.lock()()
	things := []Thing{}
	for id, sv := range s.services {
		things = append(things, thing(KindService, sv.Spec.Name, id, sv.Version.Index, sv.Spec.Labels))
	}
	for id, n := range s.networks {
		if !s.predefined(n) {
			things = append(things, thing(KindNetwork, n.Name, id, 0, n.Labels))
		}
	}
	for id, o := range s.configs {
		things = append(things, thing(KindConfig, o.Spec.Name, id, o.Version.Index, o.Spec.Labels))
	}
	for id, o := range s.secrets {
		things = append(things, thing(KindSecret, o.Spec.Name, id, o.Version.Index, o.Spec.Labels))
	}
	slices.SortFunc(things, func(a, b Thing) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name))
	})
	return things
}

func (s *Swarm) predefined(n *network.Inspect) bool {
	return hidden(n) || n.Ingress || slices.Contains([]string{"none", "host", "bridge", "docker_gwbridge"}, n.Name)
}

// Names gives the names of the things of a kind that carry a stack's namespace; of all of that kind for an empty stack.
func (s *Swarm) Names(kind Kind, stack string) []string {
	names := []string{}
	for _, t := range s.Snapshot() {
		if t.Kind == kind && (stack == "" || t.Stack == stack) {
			names = append(names, t.Name)
		}
	}
	return names
}

// Service gives a service as the API shows it, by name or ID.
func (s *Swarm) Service(name string) (swarm.Service, bool) {
	defer s.lock()()
	sv, err := s.findService(name)
	if err != nil {
		return swarm.Service{}, false
	}
	return clone(sv.Service), true
}

// Tasks gives the tasks of a service as the API shows them, the oldest first.
func (s *Swarm) Tasks(name string) []swarm.Task {
	defer s.lock()()
	sv, err := s.findService(name)
	if err != nil {
		return nil
	}
	var tasks []swarm.Task
	for _, t := range s.tasksOf(sv.ID) {
		tasks = append(tasks, clone(t.Task))
	}
	return tasks
}

// Running counts the tasks of a service that are wanted and run, by image.
func (s *Swarm) Running(name string) map[string]int {
	counts := map[string]int{}
	for _, t := range s.Tasks(name) {
		if t.DesiredState == swarm.TaskStateRunning && t.Status.State == swarm.TaskStateRunning {
			counts[t.Spec.ContainerSpec.Image]++
		}
	}
	return counts
}

// Data gives the content of a config or secret, by name or ID.
func (s *Swarm) Data(kind Kind, name string) ([]byte, bool) {
	defer s.lock()()
	all := s.configs
	if kind == KindSecret {
		all = s.secrets
	}
	id, err := findObject(all, string(kind), name)
	if err != nil {
		return nil, false
	}
	return slices.Clone(all[id].Spec.Data), true
}

// RegistryAuth gives the credential with which a service of that name was last written, as its header had it; empty for none.
func (s *Swarm) RegistryAuth(name string) string {
	defer s.lock()()
	return s.auth[name]
}

// Nodes gives the nodes as the API shows them, in the order in which they came.
func (s *Swarm) Nodes() []swarm.Node {
	defer s.lock()()
	var nodes []swarm.Node
	for _, n := range s.sortedNodes() {
		nodes = append(nodes, clone(*n))
	}
	return nodes
}
