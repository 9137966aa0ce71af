package dockertest

import (
	"fmt"
	"maps"
	"net/http"
	"net/netip"
	"slices"

	"github.com/moby/moby/api/types/network"
	"github.com/moby/moby/api/types/swarm"
)

const (
	scopeSwarm = "swarm"
	scopeLocal = "local"
	// predefinedLabel marks the networks that stand for those of each node. They have no place in lists, and are found by their
	// IDs only; a service that names "host" or "bridge" is attached to them.
	predefinedLabel = "com.docker.swarm.predefined"
	vxlanOption     = "com.docker.network.driver.overlay.vxlanid_list"
)

func (s *Swarm) networkRoutes() []route {
	return []route{
		{"GET /networks", "NetworkList", "", s.listNetworks},
		{"GET /networks/{id}", "NetworkInspect", "network", s.inspectNetwork},
		{"POST /networks/create", "NetworkCreate", "network", s.createNetwork},
		{"DELETE /networks/{id}", "NetworkRemove", "network", s.removeNetwork},
	}
}

func (s *Swarm) addPredefinedNetworks() {
	for _, of := range []struct{ name, driver string }{
		{"none", "null"}, {"host", "host"}, {"bridge", "bridge"}, {"docker_gwbridge", "bridge"},
	} {
		s.putNetwork(network.Network{
			Name: of.name, ID: longID("network " + of.name), Driver: of.driver, Scope: scopeLocal,
			Options: map[string]string{}, Labels: map[string]string{},
		})
	}
	for _, name := range []string{"host", "bridge"} {
		s.putNetwork(network.Network{
			Name: name, ID: s.newID(), Driver: name, Scope: scopeSwarm, Labels: map[string]string{predefinedLabel: "true"},
		})
	}
	ingress := network.Network{Name: "ingress", ID: s.newID(), Driver: "overlay", Scope: scopeSwarm, Ingress: true}
	s.allocate(&ingress)
	s.putNetwork(ingress)
	s.ingress = ingress.ID
}

func (s *Swarm) putNetwork(n network.Network) {
	n.Created = s.now.UTC()
	if n.IPAM.Driver == "" && n.Labels[predefinedLabel] == "" {
		n.IPAM.Driver = "default"
	}
	if n.IPAM.Config == nil {
		n.IPAM.Config = []network.IPAMConfig{}
	}
	s.networks[n.ID] = &network.Inspect{Network: n}
}

// allocate gives an overlay network what its creator left open.
func (s *Swarm) allocate(n *network.Network) {
	if n.Driver != "overlay" {
		return
	}
	used := 0
	for _, other := range s.networks {
		if other.Driver == "overlay" {
			used++
		}
	}
	n.Options = maps.Clone(n.Options)
	if n.Options == nil {
		n.Options = map[string]string{}
	}
	n.Options[vxlanOption] = fmt.Sprint(4096 + used)
	n.IPAM.Config = slices.Clone(n.IPAM.Config)
	if len(n.IPAM.Config) == 0 {
		subnet := netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 0, byte(used), 0}), 24)
		n.IPAM.Config = []network.IPAMConfig{{Subnet: subnet}}
	}
	for i, of := range n.IPAM.Config {
		if !of.Gateway.IsValid() {
			n.IPAM.Config[i].Gateway = of.Subnet.Masked().Addr().Next()
		}
	}
}

func hidden(n *network.Inspect) bool { return n.Labels[predefinedLabel] != "" }

// listNetworks knows the filters id, name (a part of it), label, driver and scope.
func (s *Swarm) listNetworks(c call) (int, any, error) {
	f, err := c.filters("id", "name", "label", "driver", "scope")
	if err != nil {
		return 0, nil, err
	}
	networks := []network.Summary{}
	there := s.shownNetworks()
	for _, id := range sortedIDs(there) {
		n := there[id]
		if !hidden(n) && f.prefix("id", id) && f.contains("name", n.Name) && f.labels("label", n.Labels) &&
			f.exactly("driver", n.Driver) && f.exactly("scope", n.Scope) {
			networks = append(networks, network.Summary{Network: n.Network})
		}
	}
	return http.StatusOK, networks, nil
}

func (s *Swarm) inspectNetwork(c call) (int, any, error) {
	key, scope := c.PathValue("id"), c.URL.Query().Get("scope")
	there := s.shownNetworks()
	if n := there[key]; n != nil && (scope == "" || n.Scope == scope) {
		return http.StatusOK, n, nil
	}
	named := 0
	for _, n := range there {
		if n.Name == key && !hidden(n) {
			named++
		}
	}
	if named > 1 {
		return 0, nil, statusf(http.StatusBadRequest, "%d matches found based on name: network %s is ambiguous", named, key)
	}
	id, err := s.findNetwork(key, scope)
	if err == nil {
		return http.StatusOK, s.networks[id], nil
	}
	for _, n := range s.leaving {
		if n.Name == key {
			return http.StatusOK, n, nil
		}
	}
	return 0, nil, err
}

// shownNetworks are the networks of the Swarm, and those that it has no more and the node that answers still has: as long as
// containers on it use them. They can't be used, nor removed again, and another of the same name can be made.
func (s *Swarm) shownNetworks() map[string]*network.Inspect {
	here := s.sortedNodes()
	here = slices.DeleteFunc(here, func(n *swarm.Node) bool { return n.ManagerStatus == nil })
	maps.DeleteFunc(s.leaving, func(id string, _ *network.Inspect) bool { return !s.uses(here[0].ID, id) })
	there := maps.Clone(s.networks)
	maps.Copy(there, s.leaving)
	return there
}

// uses says whether a container on a node is attached to a network.
func (s *Swarm) uses(nodeID, networkID string) bool {
	for _, t := range s.tasks {
		if t.node == nodeID && t.Status.ContainerStatus != nil && !t.ended() &&
			slices.ContainsFunc(t.Spec.Networks, func(of swarm.NetworkAttachmentConfig) bool { return of.Target == networkID }) {
			return true
		}
	}
	return false
}

// findNetwork looks a network up in one scope, or in all where it is empty.
func (s *Swarm) findNetwork(key, scope string) (string, error) {
	if n := s.networks[key]; n != nil && (scope == "" || n.Scope == scope) {
		return key, nil
	}
	within := maps.Clone(s.networks)
	maps.DeleteFunc(within, func(_ string, n *network.Inspect) bool {
		return scope != "" && n.Scope != scope || scope == "" && hidden(n)
	})
	id, err := find(within, func(n *network.Inspect) string { return n.Name }, key)
	if err != nil {
		return "", lookupError(err, "network", key)
	}
	return id, nil
}

func (s *Swarm) createNetwork(c call) (int, any, error) {
	var req network.CreateRequest
	if err := c.decode(&req); err != nil {
		return 0, nil, err
	}
	id, err := s.makeNetwork(req)
	if err != nil {
		return 0, nil, err
	}
	return http.StatusCreated, network.CreateResponse{ID: id}, nil
}

func (s *Swarm) makeNetwork(req network.CreateRequest) (string, error) {
	if req.Name == "" {
		return "", statusf(http.StatusInternalServerError, "invalid name: ")
	}
	for _, other := range s.networks {
		if other.Name == req.Name && !hidden(other) {
			return "", statusf(http.StatusConflict, "network with name %s already exists", req.Name)
		}
	}
	n := network.Network{
		Name: req.Name, ID: s.newID(), Driver: req.Driver, Scope: req.Scope, Internal: req.Internal, Attachable: req.Attachable,
		EnableIPv6: req.EnableIPv6 != nil && *req.EnableIPv6, Options: req.Options, Labels: req.Labels,
	}
	switch req.Driver {
	case "overlay":
		n.Scope = scopeSwarm
	case "bridge", "macvlan", "ipvlan", "":
		if n.Scope == "" {
			n.Scope, n.ID = scopeLocal, longID("network "+req.Name)
		}
	default:
		return "", statusf(http.StatusNotFound, "plugin %q not found", req.Driver)
	}
	if req.Driver == "" && n.Scope == scopeSwarm {
		return "", refused("driver name: if driver is specified name is required")
	}
	if req.IPAM != nil {
		n.IPAM = *req.IPAM
	}
	s.allocate(&n)
	s.index++ // a network has a version, but the API does not tell it
	s.putNetwork(n)
	return n.ID, nil
}

func (s *Swarm) removeNetwork(c call) (int, any, error) {
	key := c.PathValue("id")
	id, err := s.findNetwork(key, "")
	if err != nil {
		there := s.shownNetworks()
		for left, n := range s.leaving {
			if there[left] != nil && (left == key || n.Name == key) {
				return 0, nil, statusf(http.StatusInternalServerError, "network %s not found", left)
			}
		}
		return 0, nil, err
	}
	if err := s.dropNetwork(id); err != nil {
		return 0, nil, err
	}
	return http.StatusNoContent, nil, nil
}

func (s *Swarm) dropNetwork(id string) error {
	n := s.networks[id]
	if n.Scope == scopeLocal && n.ID == longID("network "+n.Name) && slices.Contains([]string{"none", "host", "bridge"}, n.Name) {
		return statusf(http.StatusForbidden, "%s is a pre-defined network and cannot be removed", n.Name)
	}
	if hidden(n) {
		return statusf(http.StatusNotFound, "network %s not found", id)
	}
	for _, user := range sortedIDs(s.services) {
		if attached(s.services[user], id) {
			return statusf(http.StatusBadRequest,
				"rpc error: code = FailedPrecondition desc = network %s is in use by service %s", id, user)
		}
	}
	delete(s.networks, id)
	s.leaving[id] = n
	return nil
}

func attached(sv *service, networkID string) bool {
	return slices.ContainsFunc(sv.Spec.TaskTemplate.Networks, func(of swarm.NetworkAttachmentConfig) bool {
		return of.Target == networkID
	})
}

// resolveNetwork gives the ID of a network that a service names.
func (s *Swarm) resolveNetwork(target string) (string, error) {
	id, err := s.findNetwork(target, "")
	if err != nil { // dockerd has no status of its own for this one
		return "", statusf(http.StatusInternalServerError, "network %s not found", target)
	}
	n := s.networks[id]
	switch {
	case n.Scope == scopeSwarm && n.Ingress:
		return "", refused("Service cannot be explicitly attached to the ingress network %q", n.Name)
	case n.Scope == scopeSwarm:
		return id, nil
	case !slices.Contains([]string{"none", "host", "bridge"}, n.Name):
		return "", statusf(http.StatusForbidden, "The network %s cannot be used with services. Only networks scoped to the swarm "+
			"can be used, such as those created with the overlay driver.", n.Name)
	}
	if id, err = s.findNetwork(n.Name, scopeSwarm); err != nil {
		return "", statusf(http.StatusNotFound, "could not find the corresponding predefined swarm network: network %s not found",
			n.Name)
	}
	return id, nil
}
