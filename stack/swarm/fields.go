package swarm

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/moby/moby/api/types/swarm"
)

// fields are what is compared of a service, by name. What has its default has no field, whoever filled it in: so a spec as it is
// written and the same spec as Swarm gives it back have the same fields.
type fields map[string]string

// fieldsOf gives the fields of a service's spec. What says whose it is is not among them, nor is what Swarm and its clients count
// or find out by themselves: ForceUpdate, and the platforms that an image is for. Networks are named as the spec has them.
func fieldsOf(spec *swarm.ServiceSpec) fields {
	f := fields{}
	for name, value := range spec.Labels {
		if name != labelNamespace && name != labelOwner && name != labelRevision {
			f["label."+name] = value
		}
	}
	f.mode(spec.Mode)
	f.rollout("update", spec.UpdateConfig)
	f.rollout("rollback", spec.RollbackConfig)
	f.endpoint(spec.EndpointSpec)
	f.task(&spec.TaskTemplate)
	return f
}

// text sets a field unless the value is empty or the default.
func (f fields) text(name, value, byDefault string) {
	if value != "" && value != byDefault {
		f[name] = value
	}
}

func (f fields) flag(name string, value bool) {
	if value {
		f[name] = "true"
	}
}

func (f fields) number(name string, value, byDefault int64) {
	if value != byDefault {
		f[name] = strconv.FormatInt(value, 10)
	}
}

func (f fields) count(name string, value, byDefault uint64) {
	if value != byDefault {
		f[name] = strconv.FormatUint(value, 10)
	}
}

// duration sets a field unless the duration is the default, for which 0 stands too.
func (f fields) duration(name string, value, byDefault time.Duration) {
	if value != 0 && value != byDefault {
		f[name] = value.String()
	}
}

// period is a duration for which nil is the default, and 0 is not.
func (f fields) period(name string, value *time.Duration, byDefault time.Duration) {
	if value != nil && *value != byDefault {
		f[name] = value.String()
	}
}

func (f fields) list(name string, values []string) {
	for i, value := range values {
		f[fmt.Sprintf("%s[%d]", name, i)] = value
	}
}

// set is a list whose order says nothing.
func (f fields) set(name string, values []string) {
	values = slices.Clone(values)
	slices.Sort(values)
	f.list(name, values)
}

func (f fields) named(prefix string, values map[string]string) {
	for name, value := range values {
		f[prefix+"."+name] = value
	}
}

// rest is for what has no field of its own, since no manifest can say it: it shows that it is there, and what it is.
func (f fields) rest(name string, value any) {
	text, err := json.Marshal(value)
	if err != nil { // none of the API's types can fail
		text = []byte(err.Error())
	}
	f[name] = string(text)
}

func (f fields) mode(mode swarm.ServiceMode) {
	switch {
	case mode.Global != nil:
		f["mode"] = "global"
	case mode.GlobalJob != nil:
		f["mode"] = "global-job"
	case mode.ReplicatedJob != nil:
		f["mode"] = "replicated-job"
		f.count("job.max-concurrent", valueOf(mode.ReplicatedJob.MaxConcurrent, 1), 1)
		f.count("job.total-completions", valueOf(mode.ReplicatedJob.TotalCompletions, 1), 1)
	default:
		f["mode"] = "replicated"
		f["replicas"] = strconv.FormatUint(replicas(mode), 10)
	}
}

// replicas is how many copies a replicated service is to have.
func replicas(mode swarm.ServiceMode) uint64 {
	if mode.Replicated == nil {
		return 1
	}
	return valueOf(mode.Replicated.Replicas, 1)
}

func valueOf[T any](of *T, byDefault T) T {
	if of == nil {
		return byDefault
	}
	return *of
}

func (f fields) rollout(prefix string, config *swarm.UpdateConfig) {
	if config == nil {
		return
	}
	f.count(prefix+".parallelism", config.Parallelism, 1)
	f.duration(prefix+".delay", config.Delay, 0)
	f.text(prefix+".failure-action", string(config.FailureAction), string(swarm.UpdateFailureActionPause))
	f.duration(prefix+".monitor", config.Monitor, 5*time.Second)
	if config.MaxFailureRatio != 0 {
		f[prefix+".max-failure-ratio"] = strconv.FormatFloat(float64(config.MaxFailureRatio), 'g', -1, 32)
	}
	f.text(prefix+".order", string(config.Order), string(swarm.UpdateOrderStopFirst))
}

func (f fields) endpoint(endpoint *swarm.EndpointSpec) {
	if endpoint == nil {
		return
	}
	f.text("endpoint-mode", string(endpoint.Mode), string(swarm.ResolutionModeVIP))
	ports := slices.Clone(endpoint.Ports)
	for i := range ports {
		if ports[i].Protocol == "" {
			ports[i].Protocol = "tcp"
		}
		if ports[i].PublishMode == "" {
			ports[i].PublishMode = swarm.PortConfigPublishModeIngress
		}
	}
	slices.SortStableFunc(ports, swarm.PortConfig.Compare)
	for i, port := range ports {
		published := "any"
		if port.PublishedPort != 0 {
			published = strconv.FormatUint(uint64(port.PublishedPort), 10)
		}
		text := fmt.Sprintf("%s:%d/%s %s", published, port.TargetPort, port.Protocol, port.PublishMode)
		if port.Name != "" {
			text += " name=" + port.Name
		}
		f[fmt.Sprintf("ports[%d]", i)] = text
	}
}

func (f fields) task(task *swarm.TaskSpec) {
	f.container(task.ContainerSpec)
	if task.PluginSpec != nil {
		f.rest("plugin", task.PluginSpec)
	}
	if task.NetworkAttachmentSpec != nil {
		f.rest("attachment", task.NetworkAttachmentSpec)
	}
	f.resources(task.Resources)
	f.restart(task.RestartPolicy)
	f.placement(task.Placement)
	for i, network := range task.Networks {
		name := fmt.Sprintf("networks[%d]", i)
		f[name] = network.Target
		f.text(name+".aliases", sorted(network.Aliases), "")
		f.named(name+".driver-opt", network.DriverOpts)
	}
	if task.LogDriver != nil {
		f.text("logging.driver", task.LogDriver.Name, "")
		f.named("logging.option", task.LogDriver.Options)
	}
}

func sorted(values []string) string {
	values = slices.Clone(values)
	slices.Sort(values)
	return strings.Join(values, ",")
}

func (f fields) restart(policy *swarm.RestartPolicy) {
	if policy == nil {
		return
	}
	f.text("restart.condition", string(policy.Condition), string(swarm.RestartPolicyConditionAny))
	f.period("restart.delay", policy.Delay, 5*time.Second)
	f.count("restart.max-attempts", valueOf(policy.MaxAttempts, 0), 0)
	f.period("restart.window", policy.Window, 0)
}

func (f fields) placement(placement *swarm.Placement) {
	if placement == nil {
		return
	}
	f.list("placement.constraints", placement.Constraints)
	for i, preference := range placement.Preferences {
		if preference.Spread != nil {
			f[fmt.Sprintf("placement.preferences[%d]", i)] = "spread=" + preference.Spread.SpreadDescriptor
		}
	}
	f.count("placement.max-replicas", placement.MaxReplicas, 0)
}

func (f fields) resources(resources *swarm.ResourceRequirements) {
	if resources == nil {
		return
	}
	if limits := resources.Limits; limits != nil {
		f.cpus("resources.limits.cpus", limits.NanoCPUs)
		f.number("resources.limits.memory", limits.MemoryBytes, 0)
		f.number("resources.limits.pids", limits.Pids, 0)
	}
	if reserved := resources.Reservations; reserved != nil {
		f.cpus("resources.reservations.cpus", reserved.NanoCPUs)
		f.number("resources.reservations.memory", reserved.MemoryBytes, 0)
		if len(reserved.GenericResources) > 0 {
			f.rest("resources.reservations.generic", reserved.GenericResources)
		}
	}
	if resources.SwapBytes != nil {
		f["resources.swap"] = strconv.FormatInt(*resources.SwapBytes, 10)
	}
	if resources.MemorySwappiness != nil {
		f["resources.swappiness"] = strconv.FormatInt(*resources.MemorySwappiness, 10)
	}
}

func (f fields) cpus(name string, nano int64) {
	if nano != 0 {
		f[name] = strconv.FormatFloat(float64(nano)/1e9, 'f', -1, 64)
	}
}
