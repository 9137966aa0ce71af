// Package capability names what an engine of stacks may be able to do beyond stack.Backend.
//
// Whoever holds a stack.Backend asserts for the interface that it needs. An engine that can't answer loses that one feature,
// and nothing fails: what happens then is the caller's choice, and stands beside the assertion. So the package holds no
// implementation and no fallback. An engine asserts at compile time what it offers,
//
//	var _ capability.LiveDrift = (*Engine)(nil)
//
// so that a signature which drifts breaks the build instead of quietly turning a feature off.
//
// The With… methods give a backend that differs in that one thing and is good for one deployment or many; the one they are
// called on stays as it is.
package capability

import (
	"context"
	"errors"

	"github.com/squadronctl/squadron/stack"
)

// ErrOwnStack is what a refusal wraps to act on the stack that the caller itself runs in. Removing that is refused always. A
// sweep that meets the refusal skips the stack, and does not report it at each interval.
var ErrOwnStack = errors.New("this is the stack that the controller itself runs in")

// RegistryAuth pulls images with the credential of the application that is deployed.
//
// With it, each application brings its own credential. Without it the engine pulls with whatever its hosts know, so that one
// application can run another's private images. It stands apart from ForbidSecrets since it adds what a deployment may
// use, where that takes away.
type RegistryAuth interface {
	// WithRegistryAuth gives a backend that asks these credentials for each registry that it pulls from.
	WithRegistryAuth(credentials stack.Credentials) stack.Backend
}

// ForbidSecrets keeps a stack away from the secrets and configs of the controller that deploys it.
//
// With it, no manifest can mount what the controller is trusted with. Without it whoever writes a manifest can read the
// controller's secrets, so that a caller had better take no manifests of strangers. It stands apart from AllowedReferences
// since no list of what is allowed may ever override it.
type ForbidSecrets interface {
	// WithForbiddenSecrets gives a backend that refuses a manifest which uses any of these, by the names they have on the
	// cluster.
	WithForbiddenSecrets(names map[string]struct{}) stack.Backend
}

// AllowedReferences lets a stack refer to what lies outside of it, as far as said.
//
// With it, the references that somebody has approved can be made. Without it none can: a manifest that refers to a host path,
// or to what another stack owns, is refused. It is the engine's, and not the caller's, since only where specs are
// written is it known what a manifest really refers to. It stands apart from ForbidSecrets since that holds whatever has been
// approved.
type AllowedReferences interface {
	// WithAllowedReferences gives a backend that allows these, and no others.
	WithAllowedReferences(allow stack.Allow) stack.Backend
}

// DeferSelf takes over the one write that replaces the controller itself, to be issued by the caller, as its last, after all
// that was done has been recorded. It returns at once.
type DeferSelf func(apply func(context.Context) error)

// SelfRelease deploys the stack that the controller runs in.
//
// With it, the controller is updated as every other stack is, and the process that ends by that has recorded what it did.
// Without it the controller's own stack can't be deployed by the controller: the write that replaces it would end it
// half-way, and the pass would be lost. It stands apart from Backend since only an engine that knows which service it runs in
// can do it.
type SelfRelease interface {
	// WithSelfRelease gives a backend that deploys the controller's own stack, handing that write over to hold. A nil hold
	// gives the backend unchanged.
	WithSelfRelease(hold DeferSelf) stack.Backend
}

// OutOfBand tells of writes that lost a compare-and-swap.
//
// With it, a caller learns that somebody else writes to a service too: the engine's refusal of a stale version is the only sign
// of that. Without it such a write is repeated in silence. It stands apart from LiveDrift since that sees what has
// changed, and this who is changing it at the same moment.
type OutOfBand interface {
	// WithOutOfBandNotifier gives a backend that calls notify with the name of each service whose write was refused for a stale
	// version. notify must not block, and may be called from several goroutines at once.
	WithOutOfBandNotifier(notify func(service string)) stack.Backend
}

// StackServicesReader reads how the services of one stack are, and says when it could not.
//
// With it, a cluster that was slow to answer is unknown. Without it, read as "no services", it flips a healthy stack to missing: a
// caller that has only stack.Backend's StackServices takes an empty answer for unknown. It stands apart from StacksReader
// since it asks for as much as one stack needs.
type StackServicesReader interface {
	// ReadStackServices gives the stack's services, sorted by name; none is an empty list and no error. A read that failed
	// is an error, and never an empty stack.
	ReadStackServices(ctx context.Context, name string) ([]stack.ServiceState, error)
}

// StacksReader reads how the services of many stacks are, in one look at the cluster.
//
// With it, a pass over a thousand stacks costs one look. Without it the whole cluster is fetched once for each stack, and most
// of it thrown away. It stands apart from StackServicesReader since its answer is of one moment, for all or for none.
type StacksReader interface {
	// ReadStacks gives the services of all these stacks. With a nil error each name is in the map, a stack that is not there
	// with an empty list; with an error none is.
	ReadStacks(ctx context.Context, releases []string) (map[string][]stack.ServiceState, error)
}

// LiveDrift compares what a manifest declares with what is there, field by field.
//
// With it, a change that somebody made by hand is seen, with its old and its new value, though the manifest is the same as ever.
// Without it only the manifest can be compared with the last one. It stands apart from DeclaredLister since the fields need all
// that a manifest refers to, where names do not.
type LiveDrift interface {
	// DesiredServices gives the stack as the manifest would have it, with the fields that are compared. What the manifest refers
	// to has to be there.
	DesiredServices(ctx context.Context, manifest, stackName string) (*stack.Stack, error)
	// LiveServices gives the services that are there, by scoped name, with the same fields. What an engine fills in by itself is
	// in neither, so that a stack just deployed has no drift.
	LiveServices(ctx context.Context, stackName string) (map[string]stack.Service, error)
}

// NetworkNamer gives networks their names.
//
// With it, drift speaks of networks by name. Without it a service that was attached by ID shows as drifted from one that names
// the same network. It stands apart from ResourceLister since it is about all networks, of every stack and of none.
type NetworkNamer interface {
	// LiveNetworkNames gives the name of each network by its ID, external ones too.
	LiveNetworkNames(ctx context.Context) (map[string]string, error)
}

// DeclaredLister says what a manifest declares, by name alone.
//
// With it, a sweep can prove that a revision of the past declared something, though what that mounted is gone today. Without
// it nothing inside a stack is ever swept, for want of proof. It stands apart from LiveDrift.DesiredServices since it needs
// none of what the manifest refers to.
type DeclaredLister interface {
	// DeclaredResources gives the stack's services and resources by scoped name. Their fields may be empty.
	DeclaredResources(ctx context.Context, manifest, stackName string) (*stack.Stack, error)
}

// ResourceLister lists what there is of a stack beside its services.
//
// With it, networks, configs and secrets that are no longer declared are found. Without it they stay, and nobody hears of
// them. It stands apart from ResourceRemover so that a backend which may only read still reports what a sweep would remove.
type ResourceLister interface {
	// LiveNetworks gives the IDs of the stack's networks by scoped name. A read that failed is an error, and never an empty
	// map; the same holds for the others.
	LiveNetworks(ctx context.Context, stackName string) (map[string]string, error)
	// LiveConfigs gives the IDs of the stack's configs by scoped name.
	LiveConfigs(ctx context.Context, stackName string) (map[string]string, error)
	// LiveSecrets gives the IDs of the stack's secrets by scoped name.
	LiveSecrets(ctx context.Context, stackName string) (map[string]string, error)
}

// ResourceRemover removes single things by their IDs.
//
// With it, a sweep removes what a stack no longer declares. Without it the sweep reports, and somebody removes by hand. It stands
// apart from ResourceLister, and from the readers, for the sake of backends that may only read. What is not there any more is
// no error; what the controller's own stack needs is refused with an error that wraps ErrOwnStack.
type ResourceRemover interface {
	// RemoveService removes a service, and blocks until it is gone.
	RemoveService(ctx context.Context, id string) error
	// RemoveNetwork removes a network; one in use is an error.
	RemoveNetwork(ctx context.Context, id string) error
	// RemoveConfig removes a config; one in use is an error.
	RemoveConfig(ctx context.Context, id string) error
	// RemoveSecret removes a secret; one in use is an error.
	RemoveSecret(ctx context.Context, id string) error
}

// SwarmSizer says how many nodes there are.
//
// With it, a caller knows whether a listing on one node can prove anything. Without it such a listing proves nothing, and what
// goes by it is left alone. It stands apart from all else, since it is about the cluster and no stack.
type SwarmSizer interface {
	// SwarmNodes gives the number of nodes, those that are down included.
	SwarmNodes(ctx context.Context) (int, error)
}
