package compose

import (
	"net/netip"
	"slices"
	"strings"

	"github.com/moby/moby/api/types/swarm"
)

// used are the things that services use, by key: what none uses is not declared.
type used struct {
	networks         map[string]*Network
	configs, secrets map[string]*Object
	volumes          map[string]*volume
}

func (u *used) addTo(made *Stack) {
	for _, n := range u.networks {
		made.Networks = append(made.Networks, *n)
	}
	for _, o := range u.configs {
		made.Configs = append(made.Configs, *o)
	}
	for _, o := range u.secrets {
		made.Secrets = append(made.Secrets, *o)
	}
	for _, v := range u.volumes {
		made.Volumes = append(made.Volumes, v.Volume)
	}
}

const (
	defaultNetwork = "default"
	overlay        = "overlay"
)

// attachments attaches a service to its networks, or to the default one where it names none.
func (m *maker) attachments(f field, of *Service) []swarm.NetworkAttachmentConfig {
	var made []swarm.NetworkAttachmentConfig
	attach := func(key string, line int, aliases []string) {
		n := m.network(key, line)
		if n == nil {
			return
		}
		if n.External {
			of.References = append(of.References, Reference{KindNetwork, n.Name, line})
		}
		if !predefined(n.Name) {
			aliases = append(slices.Clone(aliases), f.key)
		}
		if slices.ContainsFunc(made, func(a swarm.NetworkAttachmentConfig) bool { return a.Target == n.Name }) {
			m.found.add(line, "the network %s is given a second time", n.Name)
		}
		made = append(made, swarm.NetworkAttachmentConfig{Target: n.Name, Aliases: aliases})
	}
	networks := f.value.child("networks")
	if networks != nil {
		for _, n := range networks.fields {
			attach(n.key, n.line, texts(n.value.child("aliases")))
		}
		for _, n := range networks.items {
			attach(n.text(), n.line, nil)
		}
	}
	if networks == nil || len(networks.fields)+len(networks.items) == 0 {
		attach(defaultNetwork, f.line, nil)
	}
	slices.SortStableFunc(made, func(a, b swarm.NetworkAttachmentConfig) int { return strings.Compare(a.Target, b.Target) })
	return made
}

// predefined says whether a network is one of a node, which knows no aliases.
func predefined(name string) bool {
	return name == "host" || name == "bridge" || name == "none" || name == "default"
}

// enginesNetworks are those that Docker makes for a Swarm.
var enginesNetworks = []string{"ingress", "docker_gwbridge"}

// network gives a network by its key; nil is a fault that has been noted.
func (m *maker) network(key string, line int) *Network {
	if known := m.used.networks[key]; known != nil {
		return known
	}
	all := m.root.child("networks")
	from := all.child(key)
	if all == nil || !has(all, key) {
		if key != defaultNetwork {
			m.found.add(line, "the network %.80q is not declared", key)
			return nil
		}
		from = &node{line: line}
		all = from
	}
	made := &Network{Key: key, Line: all.lineOf(key)}
	made.Name, made.External = m.nameOf(key, from)
	if !made.External {
		made.Options = m.networkOptions(from)
		if predefined(made.Name) || slices.Contains(enginesNetworks, made.Name) {
			m.found.add(made.Line, "the network %s is there on each node, and is external", made.Name)
		}
	}
	if m.used.networks == nil {
		m.used.networks = map[string]*Network{}
	}
	m.used.networks[key] = made
	return made
}

func has(n *node, key string) bool {
	return slices.ContainsFunc(n.fields, func(f field) bool { return f.key == key })
}

// nameOf is the name on the cluster of what the manifest calls key, and whether it is of another making.
func (m *maker) nameOf(key string, from *node) (string, bool) {
	name, external := from.child("name"), from.child("external")
	switch {
	case external != nil && external.kind == mapping:
		if !name.isNull() {
			m.found.add(name.line, "the name is given by external as well")
		}
		m.refuseBeside(from)
		if old := external.child("name"); !old.isNull() {
			return old.text(), true
		}
		return key, true
	case external != nil && external.scalar == true:
		m.refuseBeside(from)
		if !name.isNull() {
			return name.text(), true
		}
		return key, true
	case !name.isNull():
		return name.text(), false
	default:
		return m.scoped(key), false
	}
}

// refuseBeside refuses what can't be said of something that is made elsewhere.
func (m *maker) refuseBeside(from *node) {
	for _, f := range from.fields {
		if f.key != "external" && f.key != "name" {
			m.found.add(f.line, "%s can't be given to what is external", f.key)
		}
	}
}

// overlayOptions are what a manifest can say of an overlay. The number of its VXLAN is not among them: that chooses whose traffic it
// is on the wire, and is the Swarm's.
var overlayOptions = []string{"encrypted", "com.docker.network.driver.mtu"}

func (m *maker) networkOptions(from *node) NetworkOptions {
	made := NetworkOptions{
		Driver:     from.child("driver").text(),
		Attachable: from.child("attachable").text() == "true",
		Internal:   from.child("internal").text() == "true",
		Labels:     m.stamped(from.child("labels")),
	}
	if made.Driver == "" {
		made.Driver = overlay
	}
	if made.Driver != overlay {
		m.found.add(from.lineOf("driver"), "a network of a stack has the driver overlay: one of the driver %.80q has to be made "+
			"by hand, and be external", made.Driver)
	}
	if options := from.child("driver_opts"); !options.isNull() {
		made.Options = m.labels(options)
		for _, f := range options.fields {
			if !slices.Contains(overlayOptions, f.key) {
				m.found.add(f.line, "%.80q is no option of a network of a stack: there are %s", f.key, strings.Join(overlayOptions, " and "))
			}
		}
	}
	ipam := from.child("ipam")
	if ipam.isNull() || ipam.get("driver").isNull() && ipam.get("config").isNull() {
		return made
	}
	made.IPAM = &NetworkIPAM{Driver: ipam.child("driver").text()}
	ipam.child("config").each(func(n *node) {
		made.IPAM.Subnets = append(made.IPAM.Subnets, m.subnet(n))
	})
	return made
}

func (m *maker) subnet(n *node) Subnet {
	made := Subnet{Subnet: n.child("subnet").text(), IPRange: n.child("ip_range").text(), Gateway: n.child("gateway").text()}
	whole, err := netip.ParsePrefix(made.Subnet)
	if err != nil {
		m.found.add(n.lineOf("subnet"), "the subnet %.80q is none: write 10.1.0.0/16", made.Subnet)
		return made
	}
	if made.IPRange != "" {
		if part, err := netip.ParsePrefix(made.IPRange); err != nil || !whole.Overlaps(part) || part.Bits() < whole.Bits() {
			m.found.add(n.lineOf("ip_range"), "the range %.80q is none within the subnet", made.IPRange)
		}
	}
	if made.Gateway != "" {
		if address, err := netip.ParseAddr(made.Gateway); err != nil || !whole.Contains(address) {
			m.found.add(n.lineOf("gateway"), "the gateway %.80q is no address within the subnet", made.Gateway)
		}
	}
	return made
}
