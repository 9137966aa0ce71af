package units

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/squadronctl/squadron/controller"
	"github.com/squadronctl/squadron/fleet"
	"github.com/squadronctl/squadron/internal/errmask"
	"github.com/squadronctl/squadron/stack"
)

// StackServices implements stack.Backend. A service is a unit base: web-app@.service, whose copies are those of all slices.
// They should all run. A unit that no machine has taken is starting, and so is one of which a state has yet to be reported. A
// service of Type=oneshot that was launched and has not failed runs.
func (e *Engine) StackServices(ctx context.Context, name string) []stack.ServiceState {
	services, err := e.ReadStackServices(ctx, name)
	if err != nil || len(services) == 0 {
		return nil
	}
	return services
}

// ReadStackServices implements capability.StackServicesReader; see StackServices.
func (e *Engine) ReadStackServices(ctx context.Context, name string) ([]stack.ServiceState, error) {
	const operation = "read the services of stack %.256q"
	if err := checkStackName(name); err != nil {
		return nil, errmask.Maskf(err, operation, name)
	}
	found, err := e.lookAtStack(ctx, name)
	if err != nil {
		return nil, errmask.Maskf(err, operation, name)
	}
	return servicesOf(found), nil
}

// ReadStacks implements capability.StacksReader; see StackServices. On a cluster whose units fill several pages the look takes
// two listings at least, since one alone proves nothing.
func (e *Engine) ReadStacks(ctx context.Context, releases []string) (map[string][]stack.ServiceState, error) {
	const operation = "read the services of %d stacks"
	for _, name := range releases {
		if err := checkStackName(name); err != nil {
			return nil, errmask.Maskf(err, operation, len(releases))
		}
	}
	if len(releases) == 0 {
		return map[string][]stack.ServiceState{}, nil // a selector without groups would take everything
	}
	found, err := e.look(ctx, fleet.Selector{Groups: slices.Clone(releases)})
	if err != nil {
		return nil, errmask.Maskf(err, operation, len(releases))
	}
	byStack := byStackOf(found, releases)
	services := make(map[string][]stack.ServiceState, len(releases))
	for _, name := range releases {
		services[name] = servicesOf(byStack[name])
	}
	return services, nil
}

// servicesOf adds the units of one stack up to its services, sorted by name.
func servicesOf(found []fleet.UnitDetail) []stack.ServiceState {
	byBase := map[string]*stack.ServiceState{}
	for i := range found {
		base := baseOf(found[i].Name)
		service := byBase[base]
		if service == nil {
			service = &stack.ServiceState{Name: base, Status: stack.StatusRunning}
			byBase[base] = service
		}
		status, why := copyStatus(&found[i])
		service.Desired++
		if status == stack.StatusRunning {
			service.Running++
		}
		if worse(status, service.Status) {
			service.Status, service.Message = status, found[i].Name+" "+why
		}
	}
	services := make([]stack.ServiceState, 0, len(byBase))
	for _, base := range slices.Sorted(maps.Keys(byBase)) {
		services = append(services, *byBase[base])
	}
	return services
}

// badness are the statuses, the best first.
var badness = []string{stack.StatusRunning, stack.StatusStarting, stack.StatusStopping, stack.StatusStopped, stack.StatusFailed}

func worse(status, than string) bool {
	return slices.Index(badness, status) > slices.Index(badness, than)
}

// copyStatus is how one unit is, by the worst of its machines, and why.
func copyStatus(detail *fleet.UnitDetail) (status, why string) {
	switch {
	case detail.LoadError != "":
		return stack.StatusFailed, "can't be loaded by systemd: " + detail.LoadError
	case detail.Missing > 0:
		return stack.StatusStarting, fmt.Sprintf("is yet to come to %d machines", detail.Missing)
	case len(detail.Machine) == 0 && detail.Desired == desiredLaunched:
		return stack.StatusStarting, "is to be launched, and no machine has taken it"
	case len(detail.Machine) == 0:
		return stack.StatusStopped, "is " + detail.Desired + ", and on no machine"
	}
	status = stack.StatusRunning
	for _, machine := range detail.Machine {
		if here := machineStatus(detail, machine); worse(here, status) {
			status = here
			why = fmt.Sprintf("is %s, and %s/%s on %s", detail.Current, machine.SystemdActive, machine.SystemdSub, machineName(machine))
		}
	}
	return status, why
}

const desiredLaunched = "launched"

// machineStatus is how a unit is on one machine.
func machineStatus(detail *fleet.UnitDetail, machine fleet.MachineStatus) string {
	if detail.Hash != "" && machine.UnitHash != detail.Hash {
		return stack.StatusStarting // what is reported is of another content, or nothing is
	}
	status, err := controller.Aggregator{}.AggregateStatus(detail.Current, detail.Desired, machine.SystemdActive, machine.SystemdSub)
	if err != nil {
		return stack.StatusStarting // not known yet
	}
	hasRun := detail.Oneshot && detail.Current == desiredLaunched
	switch status {
	case controller.StatusRunning:
		return stack.StatusRunning
	case controller.StatusStarting:
		if hasRun {
			return stack.StatusRunning
		}
		return stack.StatusStarting
	case controller.StatusStopping:
		return stack.StatusStopping
	case controller.StatusFailed:
		return stack.StatusFailed
	}
	if hasRun {
		return stack.StatusRunning
	}
	return stack.StatusStopped
}

func machineName(machine fleet.MachineStatus) string {
	switch {
	case machine.IP != nil:
		return "machine " + machine.IP.String()
	case machine.ID != "":
		return "machine " + machine.ID
	}
	return "its machine"
}
