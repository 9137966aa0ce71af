package dockertest

import (
	"fmt"
	"net/http"

	"github.com/moby/moby/api/types/network"
	"github.com/moby/moby/api/types/swarm"
)

// What somebody else does. None of it is counted, and no fault meets it. Things are named by name or ID.

// EditService changes a service's spec, as "docker service update" does: at its version of now, so that any write that goes
// out from an earlier read is stale.
func (s *Swarm) EditService(name string, edit func(*swarm.ServiceSpec)) error {
	defer s.lock()()
	sv, err := s.findService(name)
	if err != nil {
		return err
	}
	spec := clone(sv.Spec)
	edit(&spec)
	if spec, err = s.stored(spec, sv.ID); err != nil {
		return err
	}
	if err := changeable(sv, spec); err != nil {
		return err
	}
	s.change(sv, spec, false)
	return nil
}

// Scale sets the replicas of a replicated service.
func (s *Swarm) Scale(name string, replicas uint64) error {
	return s.EditService(name, func(spec *swarm.ServiceSpec) {
		spec.Mode.Replicated = &swarm.ReplicatedService{Replicas: &replicas}
	})
}

// Label sets a label of a service.
func (s *Swarm) Label(name, key, value string) error {
	return s.EditService(name, func(spec *swarm.ServiceSpec) { spec.Labels[key] = value })
}

// SetUpdateStatus sets how far a service's update is said to be. An update under way ends: its tasks stay as they are.
func (s *Swarm) SetUpdateStatus(name string, state swarm.UpdateState, message string) error {
	defer s.lock()()
	sv, err := s.findService(name)
	if err != nil {
		return err
	}
	s.pause(sv, state, message)
	return nil
}

// RollBack has Swarm roll a service back to its previous spec, as after a failed update.
func (s *Swarm) RollBack(name, message string) error {
	defer s.lock()()
	sv, err := s.findService(name)
	if err != nil {
		return err
	}
	if sv.PreviousSpec == nil {
		return fmt.Errorf("service %s has no previous spec", name)
	}
	s.rollBack(sv, message)
	return nil
}

// FailTask ends the running task of a service's slot (from 1) with an exit code, as a container that dies.
func (s *Swarm) FailTask(name string, slot, code int) error {
	defer s.lock()()
	sv, err := s.findService(name)
	if err != nil {
		return err
	}
	for _, t := range s.tasksOf(sv.ID) {
		if t.Slot == slot && t.active() && t.Status.State == swarm.TaskStateRunning {
			s.exit(t, code)
			return nil
		}
	}
	return fmt.Errorf("service %s has no running task in slot %d", name, slot)
}

// CreateService makes a service, and gives its ID.
func (s *Swarm) CreateService(spec swarm.ServiceSpec) (string, error) {
	defer s.lock()()
	sv, err := s.makeService(spec)
	if err != nil {
		return "", err
	}
	return sv.ID, nil
}

// CreateNetwork makes an overlay network, and gives its ID.
func (s *Swarm) CreateNetwork(name string, labels map[string]string) (string, error) {
	defer s.lock()()
	return s.makeNetwork(network.CreateRequest{Name: name, Driver: "overlay", Labels: clone(labels)})
}

// CreateConfig makes a config, and gives its ID.
func (s *Swarm) CreateConfig(name string, data []byte, labels map[string]string) (string, error) {
	defer s.lock()()
	return s.makeObject(kindConfig, s.configs, objectSpec(name, data, labels))
}

// CreateSecret makes a secret, and gives its ID.
func (s *Swarm) CreateSecret(name string, data []byte, labels map[string]string) (string, error) {
	defer s.lock()()
	return s.makeObject(kindSecret, s.secrets, objectSpec(name, data, labels))
}

func objectSpec(name string, data []byte, labels map[string]string) swarm.ConfigSpec {
	return swarm.ConfigSpec{Annotations: swarm.Annotations{Name: name, Labels: labels}, Data: data}
}

// Remove removes a thing of a kind, with the errors of the API where it is in use.
func (s *Swarm) Remove(kind Kind, name string) error {
	defer s.lock()()
	switch kind {
	case KindService:
		sv, err := s.findService(name)
		if err == nil {
			s.dropService(sv)
		}
		return err
	case KindNetwork:
		id, err := s.findNetwork(name, "")
		if err != nil {
			return err
		}
		return s.dropNetwork(id)
	case KindConfig:
		return s.removeObject(kindConfig, s.configs, name)
	case KindSecret:
		return s.removeObject(kindSecret, s.secrets, name)
	}
	return statusf(http.StatusNotFound, "no such kind: %s", kind)
}

func (s *Swarm) removeObject(kind string, all map[string]*object, name string) error {
	id, err := findObject(all, kind, name)
	if err != nil {
		return err
	}
	return s.dropObject(kind, all, id)
}

// AddNode has another node in the Swarm.
func (s *Swarm) AddNode(node Node) error {
	defer s.lock()()
	if s.nodeNamed(node.Hostname) != nil {
		return fmt.Errorf("node %s is there already", node.Hostname)
	}
	s.addNode(node)
	s.settle()
	return nil
}

// NodeDown loses a node. Its tasks are said to be in the state that they last had, and others take their places.
func (s *Swarm) NodeDown(hostname string) error {
	return s.editNode(hostname, func(n *swarm.Node) {
		n.Status.State, n.Status.Message = swarm.NodeStateDown, "heartbeat failure"
	})
}

// NodeUp has a node back. What ran there and has been replaced stops.
func (s *Swarm) NodeUp(hostname string) error {
	return s.editNode(hostname, func(n *swarm.Node) {
		n.Status.State, n.Status.Message = swarm.NodeStateReady, ""
		for _, id := range sortedIDs(s.tasks) {
			if t := s.tasks[id]; t.node == n.ID && !t.active() {
				s.after(s.stopTime(t), func() { s.stopped(t) })
			}
		}
	})
}

// LabelNode sets a label of a node. Tasks of global services that no longer fit there stop; others go on.
func (s *Swarm) LabelNode(hostname, key, value string) error {
	return s.editNode(hostname, func(n *swarm.Node) { n.Spec.Labels[key] = value })
}

func (s *Swarm) editNode(hostname string, edit func(*swarm.Node)) error {
	defer s.lock()()
	n := s.nodeNamed(hostname)
	if n == nil {
		return fmt.Errorf("node %s is not there", hostname)
	}
	edit(n)
	s.written(&n.Meta)
	s.settle()
	return nil
}
