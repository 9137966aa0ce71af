package dockertest

import (
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"time"

	"github.com/distribution/reference"
	"github.com/moby/moby/api/types/mount"
	"github.com/moby/moby/api/types/swarm"
)

var serviceName = regexp.MustCompile(`^[a-zA-Z0-9](?:[-_]*[A-Za-z0-9]+)*$`)

const (
	maxServiceName = 63
	minMemory      = 4 << 20
	minCPU         = 1e6 // in billionths
)

// validateWords refuses what dockerd can't hand on to the Swarm.
func validateWords(spec *swarm.ServiceSpec) error {
	known := func(word string, words ...string) bool { return word == "" || slices.Contains(words, word) }
	for _, m := range spec.TaskTemplate.ContainerSpec.Mounts {
		if !slices.Contains([]mount.Type{mount.TypeBind, mount.TypeVolume, mount.TypeTmpfs, mount.TypeNamedPipe}, m.Type) {
			return statusf(http.StatusBadRequest, "invalid MountType: %q", m.Type)
		}
	}
	if p := spec.TaskTemplate.RestartPolicy; p != nil && !known(string(p.Condition), "none", "on-failure", "any") {
		return statusf(http.StatusBadRequest, "invalid RestartCondition: %q", p.Condition)
	}
	for _, update := range []*swarm.UpdateConfig{spec.UpdateConfig, spec.RollbackConfig} {
		switch {
		case update == nil:
		case !known(string(update.FailureAction), "pause", "continue", "rollback"):
			return statusf(http.StatusBadRequest, "unrecognized update failure action %s", update.FailureAction)
		case !known(string(update.Order), "stop-first", "start-first"):
			return statusf(http.StatusBadRequest, "unrecognized update order %s", update.Order)
		}
	}
	if e := spec.EndpointSpec; e != nil && !known(string(e.Mode), "vip", "dnsrr") {
		return statusf(http.StatusBadRequest, "invalid resolution mode: %q", e.Mode)
	}
	return nil
}

// validate refuses what the Swarm refuses of a spec by itself.
func validate(spec *swarm.ServiceSpec) error {
	container := spec.TaskTemplate.ContainerSpec
	switch {
	case !serviceName.MatchString(spec.Name):
		return refused("name must be valid as a DNS name component")
	case len(spec.Name) > maxServiceName:
		return refused("name must be %d characters or fewer", maxServiceName)
	}
	if err := validateResources(spec.TaskTemplate.Resources); err != nil {
		return err
	}
	if p := spec.TaskTemplate.Placement; p != nil {
		for _, constraint := range p.Constraints {
			if _, _, _, ok := parseConstraint(constraint); !ok {
				return statusf(http.StatusInternalServerError,
					"rpc error: code = Unknown desc = constraint expected one operator from ==, !=")
			}
		}
	}
	for _, update := range []*swarm.UpdateConfig{spec.UpdateConfig, spec.RollbackConfig} {
		if update != nil && (update.MaxFailureRatio < 0 || update.MaxFailureRatio > 1) {
			return refused("TaskSpec: update-maxfailureratio cannot be less than 0 or bigger than 1")
		}
	}
	return validateContainer(container)
}

func validateContainer(container *swarm.ContainerSpec) error {
	if container.Image == "" {
		return refused("ContainerSpec: image reference must be provided")
	}
	if _, err := reference.ParseNormalizedNamed(container.Image); err != nil {
		return refused("ContainerSpec: %q is not a valid repository/tag", container.Image)
	}
	targets := map[string]bool{}
	for _, m := range container.Mounts {
		if targets[m.Target] {
			return refused("ContainerSpec: duplicate mount point: %s", m.Target)
		}
		targets[m.Target] = true
	}
	h := container.Healthcheck
	if h == nil {
		return nil
	}
	for _, of := range []struct {
		name  string
		value time.Duration
	}{{"Interval", h.Interval}, {"Timeout", h.Timeout}, {"StartPeriod", h.StartPeriod}} {
		if of.value != 0 && of.value < time.Millisecond {
			return refused("ContainerSpec: %s in HealthConfig cannot be less than 1ms", of.name)
		}
	}
	if h.Retries < 0 {
		return refused("ContainerSpec: Retries in HealthConfig cannot be negative")
	}
	return nil
}

func validateResources(r *swarm.ResourceRequirements) error {
	if r == nil {
		return nil
	}
	bound := func(cpu, memory int64) error {
		if cpu != 0 && cpu < minCPU {
			return refused("invalid cpu value %s: Must be at least 0.001", strconv.FormatFloat(float64(cpu)/1e9, 'g', -1, 64))
		}
		if memory != 0 && memory < minMemory {
			return refused("invalid memory value %d: Must be at least 4MiB", memory)
		}
		return nil
	}
	if r.Limits != nil {
		if err := bound(r.Limits.NanoCPUs, r.Limits.MemoryBytes); err != nil {
			return err
		}
	}
	if r.Reservations != nil {
		return bound(r.Reservations.NanoCPUs, r.Reservations.MemoryBytes)
	}
	return nil
}

// validatePorts refuses ports that the spec can't have, or that another service has.
func (s *Swarm) validatePorts(spec *swarm.ServiceSpec, self string) error {
	if spec.EndpointSpec == nil {
		return nil
	}
	type published struct {
		port     uint32
		protocol string
		mode     swarm.PortConfigPublishMode
	}
	seen := map[published]bool{}
	for _, port := range spec.EndpointSpec.Ports {
		key := published{port.PublishedPort, string(port.Protocol), port.PublishMode}
		if key.port != 0 && seen[key] {
			return refused("EndpointSpec: duplicate published ports provided")
		}
		seen[key] = true
		if port.PublishMode != swarm.PortConfigPublishModeIngress {
			continue
		}
		if spec.EndpointSpec.Mode == swarm.ResolutionModeDNSRR {
			return refused("EndpointSpec: port published with ingress mode can't be used with dnsrr mode")
		}
		for _, id := range sortedIDs(s.services) {
			other := s.services[id]
			if id == self || port.PublishedPort == 0 || other.Spec.EndpointSpec == nil {
				continue
			}
			if slices.ContainsFunc(other.Spec.EndpointSpec.Ports, func(has swarm.PortConfig) bool {
				return has.PublishMode == port.PublishMode && has.PublishedPort == port.PublishedPort &&
					has.Protocol == port.Protocol
			}) {
				return refused("port '%d' is already in use by service '%s' (%s) as an ingress port", port.PublishedPort,
					other.Spec.Name, id)
			}
		}
	}
	return nil
}

// validateReferences refuses configs and secrets that are not there, or have another name. They are named in the order in which they stand.
func (s *Swarm) validateReferences(container *swarm.ContainerSpec) error {
	var secrets, configs []string
	for _, ref := range container.Secrets {
		if o := s.secrets[ref.SecretID]; o == nil || o.Spec.Name != ref.SecretName {
			secrets = append(secrets, ref.SecretName)
		}
	}
	for _, ref := range container.Configs {
		if o := s.configs[ref.ConfigID]; o == nil || o.Spec.Name != ref.ConfigName {
			configs = append(configs, ref.ConfigName)
		}
	}
	for _, of := range []struct {
		kind    string
		missing []string
	}{{kindSecret, secrets}, {kindConfig, configs}} {
		switch len(of.missing) {
		case 0:
		case 1:
			return refused("%s not found: %s", of.kind, of.missing[0])
		default:
			return refused("%ss not found: %s", of.kind, joined(of.missing))
		}
	}
	return nil
}
