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
		"ResourceLister", "ResourceRemover", "SwarmSizer", "OwnerLister", "DriftReader", "OnceLooker", "DeployChecker",
	}
}

// Everything is the name with which Without leaves nothing but stack.Backend.
const Everything = "everything"

// driftReader is reconcile.DriftReader.
type driftReader interface {
	LiveStacks(ctx context.Context, names []string) (map[string]map[string]stack.Service, error)
}

// onceLooker is reconcile.OnceLooker.
type onceLooker interface {
	LookOnce(ctx context.Context) (stack.Backend, error)
}

// deployChecker is reconcile.DeployChecker.
type deployChecker interface {
	CheckDeploy(ctx context.Context, req stack.DeployRequest) error
}

// Without gives the engine without one capability, which the backends that its With… methods give lack as well. With no
// name, or one that is unknown, it is the engine as it is.
//
// Of a method that two embedded fields have neither is promoted. So each type below has what the engine has, less the
// methods of the interface beside it, which is never called.
func Without(e *Engine, name string) stack.Backend {
	lacking := *e
	lacking.lacks = name
	e = &lacking
	switch name {
	case "RegistryAuth":
		return struct {
			*Engine
			capability.RegistryAuth
		}{Engine: e}
	case "ForbidSecrets":
		return struct {
			*Engine
			capability.ForbidSecrets
		}{Engine: e}
	case "AllowedReferences":
		return struct {
			*Engine
			capability.AllowedReferences
		}{Engine: e}
	case "SelfRelease":
		return struct {
			*Engine
			capability.SelfRelease
		}{Engine: e}
	case "OutOfBand":
		return struct {
			*Engine
			capability.OutOfBand
		}{Engine: e}
	case "StackServicesReader":
		return struct {
			*Engine
			capability.StackServicesReader
		}{Engine: e}
	case "StacksReader":
		return struct {
			*Engine
			capability.StacksReader
		}{Engine: e}
	case "LiveDrift":
		return struct {
			*Engine
			capability.LiveDrift
		}{Engine: e}
	case "NetworkNamer":
		return struct {
			*Engine
			capability.NetworkNamer
		}{Engine: e}
	case "DeclaredLister":
		return struct {
			*Engine
			capability.DeclaredLister
		}{Engine: e}
	case "ResourceLister":
		return struct {
			*Engine
			capability.ResourceLister
		}{Engine: e}
	case "ResourceRemover":
		return struct {
			*Engine
			capability.ResourceRemover
		}{Engine: e}
	case "SwarmSizer":
		return struct {
			*Engine
			capability.SwarmSizer
		}{Engine: e}
	case "OwnerLister":
		return struct {
			*Engine
			stack.OwnerLister
		}{Engine: e}
	case "DriftReader":
		return struct {
			*Engine
			driftReader
		}{Engine: e}
	case "OnceLooker":
		return struct {
			*Engine
			onceLooker
		}{Engine: e}
	case "DeployChecker":
		return struct {
			*Engine
			deployChecker
		}{Engine: e}
	case Everything:
		return struct{ stack.Backend }{e}
	default:
		return e
	}
}
