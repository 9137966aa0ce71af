package dockertest

import (
	"net/http"

	"github.com/moby/moby/api/types/swarm"
	"github.com/moby/moby/api/types/system"
)

const (
	engineVersion = "20.10.24"
	minAPIVersion = "1.12"
	opPing        = "Ping"
)

func (s *Swarm) systemRoutes() []route {
	return []route{
		{"GET /_ping", opPing, "", func(call) (int, any, error) { return http.StatusOK, "OK", nil }},
		{"GET /version", "ServerVersion", "", func(call) (int, any, error) { return http.StatusOK, versionInfo(), nil }},
		{"GET /info", "Info", "", func(call) (int, any, error) { return http.StatusOK, s.info(), nil }},
		{"GET /nodes", "NodeList", "", s.listNodes},
		{"GET /nodes/{id}", "NodeInspect", "node", s.inspectNode},
	}
}

func versionInfo() system.VersionResponse {
	return system.VersionResponse{
		Version: engineVersion, APIVersion: APIVersion, MinAPIVersion: minAPIVersion, Os: "linux", Arch: "amd64",
	}
}

// info is what the first manager says.
func (s *Swarm) info() system.Info {
	info := system.Info{ServerVersion: engineVersion, OSType: "linux", Architecture: "x86_64"}
	info.Swarm = swarm.Info{
		LocalNodeState: swarm.LocalNodeStateActive, ControlAvailable: true, Nodes: len(s.nodes),
		Cluster: &swarm.ClusterInfo{ID: longID("cluster")[:25]},
	}
	for _, node := range s.sortedNodes() {
		if node.ManagerStatus == nil {
			continue
		}
		info.Swarm.Managers++
		if info.Swarm.NodeID == "" {
			info.Swarm.NodeID, info.Swarm.NodeAddr, info.Name = node.ID, node.Status.Addr, node.Description.Hostname
		}
		info.Swarm.RemoteManagers = append(info.Swarm.RemoteManagers,
			swarm.Peer{NodeID: node.ID, Addr: node.ManagerStatus.Addr})
	}
	return info
}

// listNodes knows the filters id, name, label, node.label, role and membership.
func (s *Swarm) listNodes(c call) (int, any, error) {
	f, err := c.filters("id", "name", "label", "node.label", "role", "membership")
	if err != nil {
		return 0, nil, err
	}
	for _, role := range f["role"] {
		if role != string(swarm.NodeRoleManager) && role != string(swarm.NodeRoleWorker) {
			return 0, nil, statusf(http.StatusInternalServerError, "Invalid role filter: '%s'", role)
		}
	}
	nodes := []swarm.Node{}
	for _, id := range sortedIDs(s.nodes) {
		n := s.nodes[id]
		if f.prefix("id", id) && f.prefix("name", n.Description.Hostname) && f.exactly("role", string(n.Spec.Role)) &&
			f.labels("label", n.Description.Engine.Labels) && f.labels("node.label", n.Spec.Labels) &&
			f.exactly("membership", "accepted") {
			nodes = append(nodes, *n)
		}
	}
	return http.StatusOK, nodes, nil
}

func (s *Swarm) inspectNode(c call) (int, any, error) {
	id, err := s.findNode(c.PathValue("id"))
	if err != nil {
		return 0, nil, err
	}
	return http.StatusOK, s.nodes[id], nil
}

func (s *Swarm) findNode(key string) (string, error) {
	id, err := find(s.nodes, func(n *swarm.Node) string { return n.Description.Hostname }, key)
	if err != nil {
		return "", lookupError(err, "node", key)
	}
	return id, nil
}
