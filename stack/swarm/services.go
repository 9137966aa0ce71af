package swarm

import (
	"context"

	"github.com/moby/moby/api/types/swarm"

	"github.com/squadronctl/squadron/internal/errmask"
	"github.com/squadronctl/squadron/stack"
)

// StackServices implements stack.Backend. Desired is the number of replicas, and of a global service the number of nodes that are
// to run it, those that are down left out. A copy counts as running when its newest task runs on a node that is not down, or has
// ended well where the restart policy leaves it so. A service whose update or rollback was paused is failed, and one with an
// update under way is starting.
func (e *Engine) StackServices(ctx context.Context, name string) []stack.ServiceState {
	services, err := e.ReadStackServices(ctx, name)
	if err != nil || len(services) == 0 {
		return nil
	}
	return services
}

// ReadStackServices implements capability.StackServicesReader; see StackServices. All services of the namespace count, whoever
// owns them.
func (e *Engine) ReadStackServices(ctx context.Context, name string) ([]stack.ServiceState, error) {
	const operation = "read the services of stack %.256q"
	if err := checkStackName(name); err != nil {
		return nil, errmask.Maskf(err, operation, name)
	}
	there, err := e.lookAt(ctx, name)
	if err != nil {
		return nil, errmask.Maskf(classed(ctx, err), operation, name)
	}
	return append([]stack.ServiceState{}, there.states()[name]...), nil
}

// ReadStacks implements capability.StacksReader; see StackServices. It lists services, tasks and nodes once, however many stacks.
func (e *Engine) ReadStacks(ctx context.Context, releases []string) (map[string][]stack.ServiceState, error) {
	const operation = "read the services of %d stacks"
	for _, name := range releases {
		if err := checkStackName(name); err != nil {
			return nil, errmask.Maskf(err, operation, len(releases))
		}
	}
	all := make(map[string][]stack.ServiceState, len(releases))
	if len(releases) == 0 {
		return all, nil
	}
	there, err := e.lookAt(ctx, "")
	if err != nil {
		return nil, errmask.Maskf(classed(ctx, err), operation, len(releases))
	}
	states := there.states()
	for _, name := range releases {
		all[name] = append([]stack.ServiceState{}, states[name]...)
	}
	return all, nil
}

// states sorts the services by the stacks that they are of.
func (l look) states() map[string][]stack.ServiceState {
	states := map[string][]stack.ServiceState{}
	for i := range l.services {
		name := l.services[i].Spec.Labels[labelNamespace]
		states[name] = append(states[name], l.state(&l.services[i]))
	}
	return states
}

// state is how one service is.
func (l look) state(service *swarm.Service) stack.ServiceState {
	copies := l.copies(service)
	state := stack.ServiceState{Name: service.Spec.Name, Desired: copies.desired, Running: copies.count(copyRunning)}
	why := copies.newestFailure()
	switch update := updateOf(service); {
	case update.State == swarm.UpdateStatePaused || update.State == swarm.UpdateStateRollbackPaused:
		state.Status, why = stack.StatusFailed, string(update.State)+": "+update.Message
	case state.Desired == 0:
		state.Status = stack.StatusStopped
		if copies.ending > 0 || len(copies.all) > 0 {
			state.Status = stack.StatusStopping
		}
		why = ""
	case state.Running >= state.Desired && update.State == swarm.UpdateStateUpdating:
		state.Status, why = stack.StatusStarting, "the update is under way"
	case state.Running >= state.Desired && update.State == swarm.UpdateStateRollbackStarted:
		state.Status, why = stack.StatusStarting, "Swarm rolls it back: "+update.Message
	case state.Running >= state.Desired:
		state.Status, why = stack.StatusRunning, ""
		if update.State == swarm.UpdateStateRollbackCompleted {
			why = "Swarm has rolled it back: " + update.Message
		}
	case copies.count(copyFailed) > 0:
		state.Status = stack.StatusFailed
	default:
		state.Status = stack.StatusStarting
	}
	state.Message = why
	return state
}

// updateOf gives what Swarm says of a service's last update.
func updateOf(service *swarm.Service) swarm.UpdateStatus {
	if service.UpdateStatus == nil {
		return swarm.UpdateStatus{}
	}
	return *service.UpdateStatus
}
