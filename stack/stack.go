// Package stack is the smallest contract of an engine that deploys stacks, and the types that go with it.
//
// A stack is what one deployment puts on a cluster under one name: the units of a group on fleet or on one host's systemd,
// the services, networks, configs and secrets of a namespace on a Docker Swarm. A Backend deploys one, removes one, and says
// how its services are. What an engine can do beyond that stands in the interfaces of package capability.
//
// The package imports nothing but the standard library, so that an engine in another module needs no more than it.
package stack

import "context"

// Backend deploys stacks. Its methods are safe for use by many goroutines at once, on different stacks.
type Backend interface {
	// DeployStack makes the cluster be as the request's manifest says, and blocks until it is or can't be. What is as
	// declared is left alone, so that a repeat writes nothing. What the stack no longer declares stays: a sweep removes it,
	// once it has proof of whose it is.
	//
	// A manifest that can't be read is a *ManifestError, and nothing has been written then. A name that belongs to another
	// owner is refused with an error of IsForeignStack. Any other error leaves what had been done by then, and a repeat goes on
	// from there.
	DeployStack(ctx context.Context, req DeployRequest) error
	// RemoveStack removes all that carries the stack's stamp, and blocks until it is gone. A stack that is not there is no
	// error. One that the engine runs in itself is refused, with an error that wraps capability.ErrOwnStack.
	RemoveStack(ctx context.Context, name string) error
	// StackServices says how the stack's services are, sorted by name. It is nil when there are none, and also when the cluster
	// could not be asked: capability.StackServicesReader tells the two apart.
	StackServices(ctx context.Context, name string) []ServiceState
}

// DeployRequest is what DeployStack is asked for.
type DeployRequest struct {
	// Name is the stack's name, a claim on everything deployed under it.
	Name string
	// Manifest is what to deploy: a compose file on a Swarm, a group's unit files on fleet or systemd.
	Manifest string
	// Owner is who installs it. It is stamped on what is deployed, and is what a sweep goes by.
	Owner string
}

// ServiceState is how one service of a stack is: of units, all slices of one unit file.
type ServiceState struct {
	// Name is the service's name, as the engine has it on the cluster.
	Name string
	// Running is how many copies run, and Desired how many should.
	Running, Desired int
	// Status is the worst that is true of any copy: one of the constants below.
	Status string
	// Message is why, where the engine says.
	Message string
}

// The statuses of a service, from the best to the worst.
const (
	StatusRunning  = "running"
	StatusStarting = "starting"
	StatusStopping = "stopping"
	StatusStopped  = "stopped"
	StatusFailed   = "failed"
)

// Stack is what a manifest declares, or what is there of a stack.
type Stack struct {
	// Name is the stack's name.
	Name string
	// Services are by scoped name: the name that the service has, or would have, on the cluster.
	Services map[string]Service
	// Networks, Configs and Secrets are by scoped name. An engine that knows no such thing leaves them nil.
	Networks, Configs, Secrets map[string]Resource
}

// Service is one service of a stack, as far as it is compared.
type Service struct {
	// ID is the engine's; empty while the service is only declared.
	ID string
	// Version is the engine's compare-and-swap version; 0 where it has none.
	Version uint64
	// Fields are what is compared, by name: image, replicas, env.PORT, Service.ExecStart[0], …
	Fields map[string]string
}

// Resource is a network, config or secret of a stack.
type Resource struct {
	// ID is the engine's; empty while the resource is only declared.
	ID string
	// External says that the stack uses the resource and does not make it.
	External bool
}

// OwnerLister is what an engine may offer beside Backend: without it a sweep knows only the stacks in the RevisionStore.
type OwnerLister interface {
	// OwnedStacks gives the names of the stacks that carry the owner's stamp, sorted. An error is a cluster that could not be
	// asked, and never a shorter list.
	OwnedStacks(ctx context.Context, owner string) ([]string, error)
}
