package compose

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/compose-spec/compose-go/v2/types"
	"github.com/moby/moby/api/types/network"
	"github.com/moby/moby/api/types/swarm"
)

// endpoint makes the ports, and how the service is found.
func (m *maker) endpoint(from *node, spec *swarm.ServiceSpec) {
	mode := from.get("deploy", "endpoint_mode")
	made := &swarm.EndpointSpec{Mode: swarm.ResolutionMode(m.oneOf(mode, "vip", "dnsrr"))}
	seen := map[swarm.PortConfig]bool{}
	from.child("ports").each(func(n *node) {
		for _, port := range m.portsOf(n) {
			if made.Mode == swarm.ResolutionModeDNSRR && port.PublishMode == swarm.PortConfigPublishModeIngress {
				m.found.add(n.line, "a service with endpoint_mode dnsrr publishes its ports in mode host alone")
			}
			taken := swarm.PortConfig{Protocol: port.Protocol, PublishedPort: port.PublishedPort}
			if taken.PublishedPort == 0 {
				taken.TargetPort = port.TargetPort
			}
			if seen[taken] {
				m.found.add(n.line, "the port %d/%s is published already", max(port.PublishedPort, taken.TargetPort), port.Protocol)
			}
			seen[taken] = true
			made.Ports = append(made.Ports, port)
		}
	})
	slices.SortStableFunc(made.Ports, func(a, b swarm.PortConfig) int { return int(a.PublishedPort) - int(b.PublishedPort) })
	spec.EndpointSpec = made
}

// maxPorts is how many ports a manifest may publish, since a short text can stand for many.
const maxPorts = 20_000

var portRange = regexp.MustCompile(`(\d{1,9})-(\d{1,9})`)

// longRange says whether a text has a range of more ports than there may be, so that nobody writes them out.
func longRange(text string) bool {
	return slices.ContainsFunc(portRange.FindAllStringSubmatch(text, -1), func(ends []string) bool {
		first, _ := strconv.Atoi(ends[1])
		last, _ := strconv.Atoi(ends[2])
		return last-first >= maxPorts
	})
}

// portsOf reads one item of the list, which may be a range.
func (m *maker) portsOf(n *node) []swarm.PortConfig {
	if m.ports > maxPorts {
		return nil
	}
	var read []types.ServicePortConfig
	long := longRange(n.text())
	switch {
	case long: // refused below
	case n.kind == mapping:
		target, err := strconv.ParseUint(n.child("target").text(), 10, 16)
		if err != nil {
			m.found.add(n.lineOf("target"), "a port's target is a number from 1 to 65535")
			return nil
		}
		read = []types.ServicePortConfig{{Target: uint32(target), Published: n.child("published").text(),
			Protocol: n.child("protocol").text(), Mode: n.child("mode").text()}}
	default:
		var err error
		if read, err = types.ParsePortConfig(n.text()); err != nil {
			m.found.add(n.line, "the port %.80q: %w", n.text(), err)
			return nil
		}
	}
	if m.ports += len(read); long || m.ports > maxPorts {
		m.ports = maxPorts + 1
		m.found.add(n.line, "the manifest has more than %d ports", maxPorts)
		return nil
	}
	var made []swarm.PortConfig
	for _, port := range read {
		if one, ok := m.port(n, port); ok {
			made = append(made, one)
		}
	}
	return made
}

func (m *maker) port(n *node, from types.ServicePortConfig) (swarm.PortConfig, bool) {
	made := swarm.PortConfig{
		Protocol: network.IPProtocol(strings.ToLower(from.Protocol)), TargetPort: from.Target,
		PublishMode: swarm.PortConfigPublishMode(from.Mode),
	}
	if made.Protocol == "" {
		made.Protocol = network.TCP
	}
	if made.PublishMode == "" {
		made.PublishMode = swarm.PortConfigPublishModeIngress
	}
	published, err := uint64(0), error(nil)
	if from.Published != "" {
		published, err = strconv.ParseUint(from.Published, 10, 16)
	}
	made.PublishedPort = uint32(published)
	switch {
	case from.HostIP != "":
		m.found.add(n.line, "the address %.80s of a port: %s", from.HostIP, refused["services.*.ports.*.host_ip"])
	case from.Target == 0 || from.Target > 65535:
		m.found.add(n.line, "a port's target is a number from 1 to 65535")
	case err != nil:
		m.found.add(n.line, "a port is published as one number up to 65535, and not as %.80q", from.Published)
	case made.Protocol != network.TCP && made.Protocol != network.UDP && made.Protocol != network.SCTP:
		m.found.add(n.line, "the protocol %.80q of a port is none of tcp, udp and sctp", made.Protocol)
	case made.PublishMode != swarm.PortConfigPublishModeIngress && made.PublishMode != swarm.PortConfigPublishModeHost:
		m.found.add(n.line, "the mode %.80q of a port is none of ingress and host", made.PublishMode)
	default:
		return made, true
	}
	return made, false
}
