package dockertest

import (
	"encoding/json"
	"net/http"
	"strings"

	"github.com/moby/moby/api/types/network"
	"github.com/moby/moby/api/types/swarm"
)

// clone copies a value by its JSON, as the API would carry it.
func clone[T any](value T) T {
	var copied T
	data, err := json.Marshal(value)
	if err == nil {
		err = json.Unmarshal(data, &copied)
	}
	if err != nil { // the API's own types always pass
		panic(err)
	}
	return copied
}

func joined(names []string) string { return strings.Join(names, ", ") }

// stored gives a spec as Swarm keeps it: networks by ID, filled in where it is empty, without what API 1.41 does not know.
// self is the ID of the service, empty for a new one.
func (s *Swarm) stored(spec swarm.ServiceSpec, self string) (swarm.ServiceSpec, error) {
	spec = clone(spec)
	for i, of := range spec.TaskTemplate.Networks {
		id, err := s.resolveNetwork(of.Target)
		if err != nil {
			return spec, err
		}
		spec.TaskTemplate.Networks[i].Target = id
	}
	if spec.TaskTemplate.ContainerSpec == nil {
		return spec, statusf(http.StatusBadRequest, "mismatched Runtime and *Spec fields")
	}
	if spec.Mode.ReplicatedJob != nil || spec.Mode.GlobalJob != nil {
		return spec, statusf(http.StatusNotImplemented, "dockertest: jobs are not done here")
	}
	if spec.Mode.Global != nil && spec.Mode.Replicated != nil {
		return spec, statusf(http.StatusBadRequest, "must specify only one service mode")
	}
	if err := validateWords(&spec); err != nil {
		return spec, err
	}
	fillIn(&spec)
	dropUnknown(&spec)
	spec = clone(spec) // what is empty and what is not there are one
	if err := validate(&spec); err != nil {
		return spec, err
	}
	if err := s.validatePorts(&spec, self); err != nil {
		return spec, err
	}
	return spec, s.validateReferences(spec.TaskTemplate.ContainerSpec)
}

// fillIn sets what Swarm sets by itself.
func fillIn(spec *swarm.ServiceSpec) {
	if spec.Labels == nil {
		spec.Labels = map[string]string{}
	}
	template := &spec.TaskTemplate
	template.Runtime = swarm.RuntimeContainer
	if template.ContainerSpec.Isolation == "" {
		template.ContainerSpec.Isolation = "default"
	}
	if p := template.RestartPolicy; p != nil {
		if p.Condition == "" {
			p.Condition = swarm.RestartPolicyConditionAny
		}
		if p.MaxAttempts == nil {
			p.MaxAttempts = new(uint64)
		}
	}
	for _, update := range []*swarm.UpdateConfig{spec.UpdateConfig, spec.RollbackConfig} {
		if update == nil {
			continue
		}
		if update.FailureAction == "" {
			update.FailureAction = swarm.UpdateFailureActionPause
		}
		if update.Order == "" {
			update.Order = swarm.UpdateOrderStopFirst
		}
	}
	if spec.Mode.Global == nil && (spec.Mode.Replicated == nil || spec.Mode.Replicated.Replicas == nil) {
		one := uint64(1)
		spec.Mode.Replicated = &swarm.ReplicatedService{Replicas: &one}
	}
	if spec.EndpointSpec == nil {
		return
	}
	if spec.EndpointSpec.Mode == "" {
		spec.EndpointSpec.Mode = swarm.ResolutionModeVIP
	}
	for i := range spec.EndpointSpec.Ports {
		port := &spec.EndpointSpec.Ports[i]
		if port.Protocol == "" {
			port.Protocol = network.TCP
		}
		if port.PublishMode == "" {
			port.PublishMode = swarm.PortConfigPublishModeIngress
		}
	}
}

// dropUnknown takes out what came into the API after 1.41; dockerd does not refuse it, it does not see it.
func dropUnknown(spec *swarm.ServiceSpec) {
	container := spec.TaskTemplate.ContainerSpec
	container.OomScoreAdj = 0
	if container.Privileges != nil {
		container.Privileges.Seccomp, container.Privileges.AppArmor, container.Privileges.NoNewPrivileges = nil, nil, false
	}
	if container.Healthcheck != nil {
		container.Healthcheck.StartInterval = 0
	}
	for i := range container.Mounts {
		m := &container.Mounts[i]
		m.ImageOptions, m.ClusterOptions = nil, nil
		if m.BindOptions != nil {
			m.BindOptions.CreateMountpoint = false
			m.BindOptions.ReadOnlyNonRecursive, m.BindOptions.ReadOnlyForceRecursive = false, false
		}
		if m.VolumeOptions != nil {
			m.VolumeOptions.Subpath = ""
		}
		if m.TmpfsOptions != nil {
			m.TmpfsOptions.Options = nil
		}
	}
	if spec.TaskTemplate.Resources != nil {
		spec.TaskTemplate.Resources.SwapBytes, spec.TaskTemplate.Resources.MemorySwappiness = nil, nil
	}
}
