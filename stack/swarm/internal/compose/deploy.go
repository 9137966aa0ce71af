package compose

import (
	"regexp"

	"github.com/moby/moby/api/types/swarm"
)

// deploy makes what stands under deploy. What is not said there stays empty, for the Swarm to choose.
func (m *maker) deploy(from *node, spec *swarm.ServiceSpec) {
	spec.Mode = m.mode(from)
	spec.UpdateConfig = m.update(from.get("update_config"), "pause", "continue", "rollback")
	spec.RollbackConfig = m.update(from.get("rollback_config"), "pause", "continue")
	task := &spec.TaskTemplate
	task.RestartPolicy = m.restart(from.get("restart_policy"))
	task.Placement = m.placement(from.get("placement"), spec.Mode)
	task.Resources = m.resources(from.get("resources"))
}

func (m *maker) mode(from *node) swarm.ServiceMode {
	replicas := from.get("replicas")
	if m.oneOf(from.get("mode"), "replicated", "global") == "global" {
		if !replicas.isNull() {
			m.found.add(from.lineOf("replicas"), "a global service has as many replicas as there are nodes")
		}
		return swarm.ServiceMode{Global: &swarm.GlobalService{}}
	}
	return swarm.ServiceMode{Replicated: &swarm.ReplicatedService{Replicas: m.number(replicas)}}
}

func (m *maker) update(from *node, actions ...string) *swarm.UpdateConfig {
	if from.isNull() {
		return nil
	}
	made := &swarm.UpdateConfig{
		Parallelism:   1,
		Delay:         m.span(from.child("delay")),
		FailureAction: swarm.FailureAction(m.oneOf(from.child("failure_action"), actions...)),
		Monitor:       m.span(from.child("monitor")),
		Order:         swarm.UpdateOrder(m.oneOf(from.child("order"), "stop-first", "start-first")),
	}
	if parallelism := m.number(from.child("parallelism")); parallelism != nil {
		made.Parallelism = *parallelism
	}
	if n := from.child("max_failure_ratio"); !n.isNull() {
		made.MaxFailureRatio = m.ratio(n)
	}
	return made
}

func (m *maker) ratio(n *node) float32 {
	var read float64
	switch v := n.scalar.(type) {
	case int:
		read = float64(v)
	case float64:
		read = v
	default:
		read = -1
	}
	if !(read >= 0 && read <= 1) {
		m.found.add(n.line, "%.80q is no number from 0 to 1", n.text())
		return 0
	}
	return float32(read)
}

func (m *maker) restart(from *node) *swarm.RestartPolicy {
	if from.isNull() {
		return nil
	}
	return &swarm.RestartPolicy{
		Condition:   swarm.RestartPolicyCondition(m.oneOf(from.child("condition"), "none", "on-failure", "any")),
		Delay:       m.duration(from.child("delay")),
		MaxAttempts: m.number(from.child("max_attempts")),
		Window:      m.duration(from.child("window")),
	}
}

var constraintForm = regexp.MustCompile(`^\s*[A-Za-z_][A-Za-z0-9_.-]+\s*(==|!=)\s*[^\s<>=!~][^<>=!~]*$`)

func (m *maker) placement(from *node, mode swarm.ServiceMode) *swarm.Placement {
	made := &swarm.Placement{MaxReplicas: m.amount(from.get("max_replicas_per_node"))}
	from.get("constraints").each(func(n *node) {
		if !constraintForm.MatchString(n.text()) {
			m.found.add(n.line, "%.80q is no constraint: write node.role == worker, or node.labels.zone != a", n.text())
		}
		made.Constraints = append(made.Constraints, n.text())
	})
	from.get("preferences").each(func(n *node) {
		spread := n.child("spread").text()
		if spread == "" {
			m.found.add(n.line, "a preference is a mapping with the key spread")
		}
		made.Preferences = append(made.Preferences, swarm.PlacementPreference{Spread: &swarm.SpreadOver{SpreadDescriptor: spread}})
	})
	if made.MaxReplicas > 0 && mode.Global != nil {
		m.found.add(from.lineOf("max_replicas_per_node"), "a global service has one replica per node")
	}
	return made
}

// The least that a Swarm gives, as it says when a service is written: too late, since by then networks have been made.
const (
	leastCPU    = 1e6
	leastMemory = 4 << 20
)

// least refuses an amount of CPU or memory that is none, and yet not enough.
func (m *maker) least(n *node, is, least int64, written string) int64 {
	if is > 0 && is < least {
		m.found.add(n.line, "%.80q is less than a Swarm gives, which is %s", n.text(), written)
	}
	return is
}

func (m *maker) cpus(n *node) int64   { return m.least(n, m.nanoCPUs(n), leastCPU, "0.001") }
func (m *maker) memory(n *node) int64 { return m.least(n, m.bytes(n), leastMemory, "4m") }

func (m *maker) resources(from *node) *swarm.ResourceRequirements {
	made := &swarm.ResourceRequirements{}
	if limits := from.get("limits"); !limits.isNull() {
		made.Limits = &swarm.Limit{
			NanoCPUs:    m.cpus(limits.child("cpus")),
			MemoryBytes: m.memory(limits.child("memory")),
			Pids:        int64(min(m.amount(limits.child("pids")), 1<<62)),
		}
	}
	if reserved := from.get("reservations"); !reserved.isNull() {
		made.Reservations = &swarm.Resources{
			NanoCPUs:    m.cpus(reserved.child("cpus")),
			MemoryBytes: m.memory(reserved.child("memory")),
		}
	}
	return made
}
