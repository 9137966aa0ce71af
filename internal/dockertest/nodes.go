package dockertest

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/moby/moby/api/types/swarm"
)

// addNode has a node in the Swarm. It may take tasks from now on.
func (s *Swarm) addNode(config Node) {
	n := &swarm.Node{ID: s.newID()}
	s.written(&n.Meta)
	n.Spec = swarm.NodeSpec{
		Annotations:  swarm.Annotations{Labels: maps.Clone(config.Labels)},
		Role:         swarm.NodeRoleWorker,
		Availability: swarm.NodeAvailabilityActive,
	}
	if n.Spec.Labels == nil {
		n.Spec.Labels = map[string]string{}
	}
	n.Description = swarm.NodeDescription{
		Hostname:  config.Hostname,
		Platform:  swarm.Platform{Architecture: "x86_64", OS: "linux"},
		Resources: swarm.Resources{NanoCPUs: 4e9, MemoryBytes: 8 << 30},
		Engine:    swarm.EngineDescription{EngineVersion: engineVersion},
	}
	n.Status = swarm.NodeStatus{State: swarm.NodeStateReady, Addr: fmt.Sprintf("192.0.2.%d", len(s.nodes)+1)}
	s.nodes[n.ID] = n
	if config.Manager {
		s.promote(n)
	}
}

// promote makes a node a manager; the first one leads.
func (s *Swarm) promote(n *swarm.Node) {
	leads := true
	for _, other := range s.nodes {
		leads = leads && other.ManagerStatus == nil
	}
	n.Spec.Role = swarm.NodeRoleManager
	n.ManagerStatus = &swarm.ManagerStatus{
		Leader: leads, Reachability: swarm.ReachabilityReachable, Addr: n.Status.Addr + ":2377",
	}
}

// sortedNodes gives the nodes in the order in which they came.
func (s *Swarm) sortedNodes() []*swarm.Node {
	return slices.SortedFunc(maps.Values(s.nodes), func(a, b *swarm.Node) int {
		if c := a.CreatedAt.Compare(b.CreatedAt); c != 0 {
			return c
		}
		return strings.Compare(a.Description.Hostname, b.Description.Hostname)
	})
}

func (s *Swarm) nodeNamed(hostname string) *swarm.Node {
	for _, n := range s.nodes {
		if n.Description.Hostname == hostname {
			return n
		}
	}
	return nil
}

// takes says whether a node takes new tasks.
func takes(n *swarm.Node) bool {
	return n.Status.State == swarm.NodeStateReady && n.Spec.Availability == swarm.NodeAvailabilityActive
}

// place finds the node for a task of a replicated service: of those that fit the one with the fewest tasks of the service,
// then with the fewest in all. Without one it says why.
func (s *Swarm) place(sv *service) (id, why string) {
	type load struct{ same, all int }
	loads := map[string]load{}
	for _, t := range s.tasks {
		if t.active() && t.node != "" {
			l := loads[t.node]
			l.all++
			if t.ServiceID == sv.ID {
				l.same++
			}
			loads[t.node] = l
		}
	}
	down, unmet, full := 0, 0, 0
	var best *swarm.Node
	for _, n := range s.sortedNodes() {
		limit := maxReplicas(sv)
		switch {
		case !takes(n):
			down++
		case !fits(n, constraints(sv)):
			unmet++
		case limit > 0 && loads[n.ID].same >= limit:
			full++
		case best == nil || loads[n.ID].same < loads[best.ID].same ||
			loads[n.ID].same == loads[best.ID].same && loads[n.ID].all < loads[best.ID].all:
			best = n
		}
	}
	if best != nil {
		return best.ID, ""
	}
	var causes []string
	for _, of := range []struct {
		count int
		text  string
	}{
		{down, "%s not available for new tasks"}, {unmet, "scheduling constraints not satisfied on %s"},
		{full, "max replicas per node limit exceed"},
	} {
		if of.count > 0 && strings.Contains(of.text, "%s") {
			causes = append(causes, fmt.Sprintf(of.text, nodesText(of.count)))
		} else if of.count > 0 {
			causes = append(causes, of.text)
		}
	}
	return "", "no suitable node (" + strings.Join(causes, "; ") + ")"
}

func nodesText(count int) string {
	if count == 1 {
		return "1 node"
	}
	return fmt.Sprintf("%d nodes", count)
}

func constraints(sv *service) []string {
	if sv.Spec.TaskTemplate.Placement == nil {
		return nil
	}
	return sv.Spec.TaskTemplate.Placement.Constraints
}

func maxReplicas(sv *service) int {
	if sv.Spec.TaskTemplate.Placement == nil {
		return 0
	}
	return int(sv.Spec.TaskTemplate.Placement.MaxReplicas)
}

// fits says whether a node meets all constraints.
func fits(n *swarm.Node, constraints []string) bool {
	for _, text := range constraints {
		key, want, equal, ok := parseConstraint(text)
		if !ok {
			return false
		}
		has := ""
		switch {
		case key == "node.id":
			has = n.ID
		case key == "node.hostname":
			has = n.Description.Hostname
		case key == "node.role":
			has = string(n.Spec.Role)
		case key == "node.platform.os":
			has = n.Description.Platform.OS
		case key == "node.platform.arch":
			has = n.Description.Platform.Architecture
		case strings.HasPrefix(key, "node.labels."):
			has = n.Spec.Labels[strings.TrimPrefix(key, "node.labels.")]
		case strings.HasPrefix(key, "engine.labels."):
			has = n.Description.Engine.Labels[strings.TrimPrefix(key, "engine.labels.")]
		}
		if strings.EqualFold(has, want) != equal {
			return false
		}
	}
	return true
}

func parseConstraint(text string) (key, value string, equal, ok bool) {
	equal = true
	key, value, ok = strings.Cut(text, "==")
	if !ok {
		equal = false
		key, value, ok = strings.Cut(text, "!=")
	}
	return strings.TrimSpace(key), strings.TrimSpace(value), equal, ok
}
