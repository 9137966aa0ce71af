package stacktest

import (
	"context"

	"github.com/squadronctl/squadron/capability"
	"github.com/squadronctl/squadron/stack"
)

// Capabilities are the names that Without takes: the interfaces of package capability, and those that stand beside
// them.
func Capabilities() []string {
	return []string{
		"RegistryAuth", "ForbidSecrets", "AllowedReferences", "SelfRelease", "OutOfBand",
		"StackServicesReader", "StacksReader", "LiveDrift", "NetworkNamer", "DeclaredLister",
		"ResourceLister", "ResourceRemover", "SwarmSizer", "OwnerLister", "DriftReader",
	}
}

// Everything is the name with which Without leaves nothing but stack.Backend.
const Everything = "everything"

// driftReader is reconcile.DriftReader.
type driftReader interface {
	LiveStacks(ctx context.Context, names []string) (map[string]map[string]stack.Service, error)
}

// deploying, reading and sweeping are the capabilities of an engine by what they are for, as far as no type below
// leaves one of the kind out.
type (
	deploying interface {
		stack.Backend
		capability.RegistryAuth
		capability.ForbidSecrets
		capability.AllowedReferences
		capability.SelfRelease
		capability.OutOfBand
	}
	reading interface {
		capability.StackServicesReader
		capability.StacksReader
		capability.LiveDrift
		capability.NetworkNamer
		driftReader
	}
	sweeping interface {
		stack.OwnerLister
		capability.DeclaredLister
		capability.ResourceLister
		capability.ResourceRemover
		capability.SwarmSizer
	}
)

// Without gives the engine without one capability, which the backends that its With… methods give lack as well. With no
// name, or one that is unknown, it is the engine as it is.
func Without(e *Engine, name string) stack.Backend {
	lacking := *e
	lacking.lacks = name
	e = &lacking
	switch name {
	case "RegistryAuth":
		return struct {
			reading
			sweeping
			stack.Backend
			capability.ForbidSecrets
			capability.AllowedReferences
			capability.SelfRelease
			capability.OutOfBand
		}{e, e, e, e, e, e, e}
	case "ForbidSecrets":
		return struct {
			reading
			sweeping
			stack.Backend
			capability.RegistryAuth
			capability.AllowedReferences
			capability.SelfRelease
			capability.OutOfBand
		}{e, e, e, e, e, e, e}
	case "AllowedReferences":
		return struct {
			reading
			sweeping
			stack.Backend
			capability.RegistryAuth
			capability.ForbidSecrets
			capability.SelfRelease
			capability.OutOfBand
		}{e, e, e, e, e, e, e}
	case "SelfRelease":
		return struct {
			reading
			sweeping
			stack.Backend
			capability.RegistryAuth
			capability.ForbidSecrets
			capability.AllowedReferences
			capability.OutOfBand
		}{e, e, e, e, e, e, e}
	case "OutOfBand":
		return struct {
			reading
			sweeping
			stack.Backend
			capability.RegistryAuth
			capability.ForbidSecrets
			capability.AllowedReferences
			capability.SelfRelease
		}{e, e, e, e, e, e, e}
	case "StackServicesReader":
		return struct {
			deploying
			sweeping
			capability.StacksReader
			capability.LiveDrift
			capability.NetworkNamer
			driftReader
		}{e, e, e, e, e, e}
	case "StacksReader":
		return struct {
			deploying
			sweeping
			capability.StackServicesReader
			capability.LiveDrift
			capability.NetworkNamer
			driftReader
		}{e, e, e, e, e, e}
	case "LiveDrift":
		return struct {
			deploying
			sweeping
			capability.StackServicesReader
			capability.StacksReader
			capability.NetworkNamer
			driftReader
		}{e, e, e, e, e, e}
	case "NetworkNamer":
		return struct {
			deploying
			sweeping
			capability.StackServicesReader
			capability.StacksReader
			capability.LiveDrift
			driftReader
		}{e, e, e, e, e, e}
	case "DeclaredLister":
		return struct {
			deploying
			reading
			stack.OwnerLister
			capability.ResourceLister
			capability.ResourceRemover
			capability.SwarmSizer
		}{e, e, e, e, e, e}
	case "ResourceLister":
		return struct {
			deploying
			reading
			stack.OwnerLister
			capability.DeclaredLister
			capability.ResourceRemover
			capability.SwarmSizer
		}{e, e, e, e, e, e}
	case "ResourceRemover":
		return struct {
			deploying
			reading
			stack.OwnerLister
			capability.DeclaredLister
			capability.ResourceLister
			capability.SwarmSizer
		}{e, e, e, e, e, e}
	case "SwarmSizer":
		return struct {
			deploying
			reading
			stack.OwnerLister
			capability.DeclaredLister
			capability.ResourceLister
			capability.ResourceRemover
		}{e, e, e, e, e, e}
	case "OwnerLister":
		return struct {
			deploying
			reading
			capability.DeclaredLister
			capability.ResourceLister
			capability.ResourceRemover
			capability.SwarmSizer
		}{e, e, e, e, e, e}
	case "DriftReader":
		return struct {
			deploying
			sweeping
			capability.StackServicesReader
			capability.StacksReader
			capability.LiveDrift
			capability.NetworkNamer
		}{e, e, e, e, e, e}
	case Everything:
		return struct{ stack.Backend }{e}
	default:
		return e
	}
}
