package dockertest

import (
	"fmt"
	"maps"
	"net/http"
	"net/netip"

	"github.com/moby/moby/api/types/registry"
	"github.com/moby/moby/api/types/swarm"
)

// service is a service and how far its update is.
type service struct {
	swarm.Service
	rollout  *rollout      // nil: none under way
	restarts map[slot]int  // since the spec was written
	given    map[slot]bool // slots whose task ended for good
	writes   int           // of the spec
}

// slot is the place of a task in its service: a number, or of a global service a node.
type slot struct {
	number int
	node   string
}

func (s *Swarm) serviceRoutes() []route {
	return []route{
		{"GET /services", "ServiceList", "", s.listServices},
		{"GET /services/{id}", "ServiceInspect", "service", s.inspectService},
		{"POST /services/create", "ServiceCreate", "service", s.createService},
		{"POST /services/{id}/update", "ServiceUpdate", "service", s.updateService},
		{"DELETE /services/{id}", "ServiceRemove", "service", s.removeService},
	}
}

// listServices knows the filters id and name (beginnings), label and mode.
func (s *Swarm) listServices(c call) (int, any, error) {
	f, err := c.filters("id", "name", "label", "mode")
	if err != nil {
		return 0, nil, err
	}
	services := []swarm.Service{}
	for _, id := range sortedIDs(s.services) {
		sv := s.services[id]
		if !f.prefix("id", id) || !f.prefix("name", sv.Spec.Name) || !f.labels("label", sv.Spec.Labels) ||
			!f.exactly("mode", mode(sv)) {
			continue
		}
		shown := sv.Service
		if c.URL.Query().Get("status") != "" {
			shown.ServiceStatus = s.status(sv)
		}
		services = append(services, shown)
	}
	return http.StatusOK, services, nil
}

func mode(sv *service) string {
	if sv.Spec.Mode.Global != nil {
		return "global"
	}
	return "replicated"
}

// status counts tasks. One that was lost with its node is running as long as nobody knows better.
func (s *Swarm) status(sv *service) *swarm.ServiceStatus {
	status := &swarm.ServiceStatus{}
	if sv.Spec.Mode.Replicated != nil {
		status.DesiredTasks = *sv.Spec.Mode.Replicated.Replicas
	}
	for _, t := range s.tasksOf(sv.ID) {
		if t.Status.State == swarm.TaskStateRunning {
			status.RunningTasks++
		}
		if sv.Spec.Mode.Global != nil && t.DesiredState == swarm.TaskStateRunning {
			status.DesiredTasks++
		}
	}
	return status
}

func (s *Swarm) findService(key string) (*service, error) {
	id, err := find(s.services, func(sv *service) string { return sv.Spec.Name }, key)
	if err != nil {
		return nil, lookupError(err, "service", key)
	}
	return s.services[id], nil
}

func (s *Swarm) inspectService(c call) (int, any, error) {
	sv, err := s.findService(c.PathValue("id"))
	if err != nil {
		return 0, nil, err
	}
	if c.URL.Query().Get("insertDefaults") == "" {
		return http.StatusOK, sv.Service, nil
	}
	return 0, nil, statusf(http.StatusNotImplemented, "dockertest: insertDefaults is not done here")
}

func (s *Swarm) createService(c call) (int, any, error) {
	var spec swarm.ServiceSpec
	if err := c.decode(&spec); err != nil {
		return 0, nil, err
	}
	sv, err := s.makeService(spec)
	if err != nil {
		return 0, nil, err
	}
	s.authorized(sv, c.Header.Get(registry.AuthHeader))
	return http.StatusCreated, map[string]string{"ID": sv.ID}, nil
}

func (s *Swarm) authorized(sv *service, header string) {
	if header != "" {
		s.auth[sv.Spec.Name] = header
	}
}

func (s *Swarm) makeService(spec swarm.ServiceSpec) (*service, error) {
	spec, err := s.stored(spec, "")
	if err != nil {
		return nil, err
	}
	for _, other := range s.services {
		if other.Spec.Name == spec.Name {
			return nil, exists("name conflicts with an existing object: service %s already exists", spec.Name)
		}
	}
	sv := &service{restarts: map[slot]int{}, given: map[slot]bool{}}
	sv.ID, sv.Spec = s.newID(), spec
	s.written(&sv.Meta)
	s.services[sv.ID] = sv
	s.allocateEndpoint(sv)
	s.later(sv, false)
	return sv, nil
}

// allocateEndpoint gives a service its ports and addresses, which is a write of the Swarm's own.
func (s *Swarm) allocateEndpoint(sv *service) {
	sv.Endpoint = swarm.Endpoint{}
	if sv.Spec.EndpointSpec != nil {
		spec := *sv.Spec.EndpointSpec
		for _, port := range spec.Ports {
			if port.PublishedPort == 0 && port.PublishMode == swarm.PortConfigPublishModeIngress {
				port.PublishedPort = 30000 + uint32(s.made%2000)
			}
			sv.Endpoint.Ports = append(sv.Endpoint.Ports, port)
		}
		if len(spec.Ports) > 0 || len(sv.Spec.TaskTemplate.Networks) > 0 {
			sv.Endpoint.Spec = spec
		}
	}
	if sv.Spec.EndpointSpec == nil || sv.Spec.EndpointSpec.Mode == swarm.ResolutionModeVIP {
		for i, id := range s.reachedBy(sv) {
			ip := swarm.EndpointVirtualIP{NetworkID: id}
			if n := s.networks[id]; n != nil && !hidden(n) {
				ip.Addr = netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 0, byte(i), byte(2 + s.made%200)}), 24)
			}
			sv.Endpoint.VirtualIPs = append(sv.Endpoint.VirtualIPs, ip)
		}
	}
	if len(sv.Endpoint.Ports)+len(sv.Endpoint.VirtualIPs) > 0 {
		s.written(&sv.Meta)
	}
}

// reachedBy gives the networks on which a service has an address: the ingress network where it has a port there, and its own.
func (s *Swarm) reachedBy(sv *service) []string {
	var ids []string
	for _, port := range sv.Endpoint.Ports {
		if port.PublishMode == swarm.PortConfigPublishModeIngress {
			ids = append(ids, s.ingress)
			break
		}
	}
	for _, of := range sv.Spec.TaskTemplate.Networks {
		ids = append(ids, of.Target)
	}
	return ids
}

func (s *Swarm) updateService(c call) (int, any, error) {
	version, err := c.version("service")
	if err != nil {
		return 0, nil, err
	}
	var spec swarm.ServiceSpec
	if err := c.decode(&spec); err != nil {
		return 0, nil, err
	}
	sv, err := s.findService(c.PathValue("id"))
	if err != nil {
		return 0, nil, err
	}
	back := c.URL.Query().Get("rollback") == "previous"
	if back {
		if sv.PreviousSpec == nil {
			return 0, nil, statusf(http.StatusBadRequest,
				"rpc error: code = FailedPrecondition desc = service %s does not have a previous spec", sv.ID)
		}
		spec = *sv.PreviousSpec
	}
	if spec, err = s.stored(spec, sv.ID); err != nil {
		return 0, nil, err
	}
	if err := changeable(sv, spec); err != nil {
		return 0, nil, err
	}
	if version != sv.Version.Index {
		return 0, nil, errOutOfSequence()
	}
	s.authorized(sv, c.Header.Get(registry.AuthHeader))
	s.change(sv, spec, back)
	return http.StatusOK, swarm.ServiceUpdateResponse{}, nil
}

// changeable refuses a spec that a service can't change to.
func changeable(sv *service, to swarm.ServiceSpec) error {
	notDone := ""
	switch {
	case to.Name != sv.Spec.Name:
		notDone = "renaming services is not supported"
	case (to.Mode.Global != nil) != (sv.Spec.Mode.Global != nil):
		notDone = "service mode change is not allowed"
	default:
		return nil
	}
	return statusf(http.StatusNotImplemented, "rpc error: code = Unimplemented desc = %s", notDone)
}

// change writes a stored spec, and begins to roll it out.
func (s *Swarm) change(sv *service, spec swarm.ServiceSpec, back bool) {
	previous := clone(sv.Spec)
	sv.Spec, sv.PreviousSpec, sv.UpdateStatus = spec, &previous, nil
	sv.rollout = nil
	s.written(&sv.Meta)
	s.allocateEndpoint(sv)
	if back {
		sv.UpdateStatus = &swarm.UpdateStatus{
			State: swarm.UpdateStateRollbackStarted, StartedAt: s.moment(), Message: "manually requested rollback",
		}
	}
	s.later(sv, back)
}

func (s *Swarm) removeService(c call) (int, any, error) {
	sv, err := s.findService(c.PathValue("id"))
	if err != nil {
		return 0, nil, err
	}
	s.dropService(sv)
	return http.StatusOK, nil, nil
}

// dropService removes a service. Its tasks are there until they have stopped.
func (s *Swarm) dropService(sv *service) {
	delete(s.services, sv.ID)
	sv.rollout = nil
	for _, t := range s.tasksOf(sv.ID) {
		s.retire(t, swarm.TaskStateRemove)
	}
}

// nameOf is the name of what a key stands for, or the key itself where there is nothing.
func (s *Swarm) nameOf(kind, key string) string {
	defer s.lock()()
	switch kind {
	case "service":
		if sv, err := s.findService(key); err == nil {
			return sv.Spec.Name
		}
	case "network":
		if id, err := s.findNetwork(key, ""); err == nil {
			return s.networks[id].Name
		}
	case kindConfig, kindSecret:
		all := maps.Clone(s.configs)
		maps.Copy(all, s.secrets)
		if id, err := findObject(all, kind, key); err == nil {
			return all[id].Spec.Name
		}
	case "node":
		if id, err := s.findNode(key); err == nil {
			return s.nodes[id].Description.Hostname
		}
	case "task":
		if t := s.tasks[key]; t != nil {
			return taskName(t, s.services[t.ServiceID])
		}
	}
	return key
}

func taskName(t *task, sv *service) string {
	if sv == nil {
		return t.ID
	}
	if t.Slot == 0 {
		return fmt.Sprintf("%s.%s.%s", sv.Spec.Name, t.place.node, t.ID)
	}
	return fmt.Sprintf("%s.%d.%s", sv.Spec.Name, t.Slot, t.ID)
}
