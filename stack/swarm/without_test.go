package swarm_test

import (
	"context"

	"github.com/squadronctl/squadron/capability"
	"github.com/squadronctl/squadron/reconcile"
	"github.com/squadronctl/squadron/stack"
	"github.com/squadronctl/squadron/stack/swarm"
)

// lacking is an engine whose other forms lack the same capability as it does.
type lacking struct {
	*swarm.Engine
	lacks string
}

func (l lacking) again(b stack.Backend) stack.Backend { return without(b.(*swarm.Engine), l.lacks) }

func (l lacking) WithRegistryAuth(credentials stack.Credentials) stack.Backend {
	return l.again(l.Engine.WithRegistryAuth(credentials))
}

func (l lacking) WithForbiddenSecrets(names map[string]struct{}) stack.Backend {
	return l.again(l.Engine.WithForbiddenSecrets(names))
}

func (l lacking) WithAllowedReferences(allow stack.Allow) stack.Backend {
	return l.again(l.Engine.WithAllowedReferences(allow))
}

func (l lacking) WithSelfRelease(hold capability.DeferSelf) stack.Backend {
	return l.again(l.Engine.WithSelfRelease(hold))
}

func (l lacking) WithOutOfBandNotifier(notify func(string)) stack.Backend {
	return l.again(l.Engine.WithOutOfBandNotifier(notify))
}

func (l lacking) LookOnce(ctx context.Context) (stack.Backend, error) {
	seen, err := l.Engine.LookOnce(ctx)
	if err != nil {
		return nil, err
	}
	return l.again(seen), nil
}

// The interfaces one step deeper, where the methods of the engine are that lacking has from it.
type (
	noServicesReader struct{ capability.StackServicesReader }
	noStacksReader   struct{ capability.StacksReader }
	noDrift          struct{ capability.LiveDrift }
	noNamer          struct{ capability.NetworkNamer }
	noDeclared       struct{ capability.DeclaredLister }
	noLister         struct{ capability.ResourceLister }
	noRemover        struct{ capability.ResourceRemover }
	noSizer          struct{ capability.SwarmSizer }
	noOwners         struct{ stack.OwnerLister }
	noDriftReader    struct{ reconcile.DriftReader }
	noChecker        struct{ reconcile.DeployChecker }
)

// without gives the engine without one capability: of a method that two embedded fields have at one depth neither is promoted.
func without(e *swarm.Engine, name string) stack.Backend {
	l := lacking{e, name}
	switch name {
	case "RegistryAuth":
		return struct {
			lacking
			capability.RegistryAuth
		}{lacking: l}
	case "ForbidSecrets":
		return struct {
			lacking
			capability.ForbidSecrets
		}{lacking: l}
	case "AllowedReferences":
		return struct {
			lacking
			capability.AllowedReferences
		}{lacking: l}
	case "SelfRelease":
		return struct {
			lacking
			capability.SelfRelease
		}{lacking: l}
	case "OutOfBand":
		return struct {
			lacking
			capability.OutOfBand
		}{lacking: l}
	case "OnceLooker":
		return struct {
			lacking
			reconcile.OnceLooker
		}{lacking: l}
	case "everything":
		return struct{ stack.Backend }{e}
	}
	return withoutRead(l, name)
}

func withoutRead(l lacking, name string) stack.Backend {
	switch name {
	case "StackServicesReader":
		return struct {
			lacking
			noServicesReader
		}{lacking: l}
	case "StacksReader":
		return struct {
			lacking
			noStacksReader
		}{lacking: l}
	case "LiveDrift":
		return struct {
			lacking
			noDrift
		}{lacking: l}
	case "NetworkNamer":
		return struct {
			lacking
			noNamer
		}{lacking: l}
	case "DeclaredLister":
		return struct {
			lacking
			noDeclared
		}{lacking: l}
	case "ResourceLister":
		return struct {
			lacking
			noLister
		}{lacking: l}
	case "ResourceRemover":
		return struct {
			lacking
			noRemover
		}{lacking: l}
	case "SwarmSizer":
		return struct {
			lacking
			noSizer
		}{lacking: l}
	case "OwnerLister":
		return struct {
			lacking
			noOwners
		}{lacking: l}
	case "DriftReader":
		return struct {
			lacking
			noDriftReader
		}{lacking: l}
	case "DeployChecker":
		return struct {
			lacking
			noChecker
		}{lacking: l}
	}
	return l
}
