package reconcile

import (
	"context"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/squadronctl/squadron/capability"
	"github.com/squadronctl/squadron/stack"
)

// noteLacks notes which capabilities this pass would use and the backend does not offer. What happens without each
// stands beside its assertion.
func (p *pass) noteLacks(ctx context.Context) {
	lacks[capability.StacksReader](p, "StacksReader")
	lacks[capability.StackServicesReader](p, "StackServicesReader")
	lacks[capability.LiveDrift](p, "LiveDrift")
	lacks[capability.DeclaredLister](p, "DeclaredLister")
	lacks[capability.OutOfBand](p, "OutOfBand")
	lacks[stack.OwnerLister](p, "OwnerLister")
	if _, ok := p.cfg.Backend.(capability.LiveDrift); ok {
		lacks[DriftReader](p, "DriftReader")
		lacks[OnceLooker](p, "OnceLooker")
	}
	if p.dry {
		lacks[DeployChecker](p, "DeployChecker")
	}
	if p.cfg.Own != "" {
		lacks[capability.SelfRelease](p, "SelfRelease")
	}
	if len(p.cfg.ForbiddenSecrets) > 0 {
		lacks[capability.ForbidSecrets](p, "ForbidSecrets")
	}
	if slices.ContainsFunc(p.stacks, func(s *working) bool { return s.allows() }) {
		lacks[capability.AllowedReferences](p, "AllowedReferences")
	}
	if slices.ContainsFunc(p.stacks, func(s *working) bool { return s.Credentials != nil }) {
		lacks[capability.RegistryAuth](p, "RegistryAuth")
	}
	if !p.told && len(p.lacks) > 0 {
		p.told = true
		p.cfg.Logger.Notice(ctx, "reconcile: the backend lacks %s", strings.Join(slices.Sorted(maps.Keys(p.lacks)), ", "))
	}
}

func lacks[C any](p *pass, name string) {
	if _, ok := p.cfg.Backend.(C); !ok {
		p.lacks[name] = true
	}
}

func (s *working) allows() bool { return !reflect.ValueOf(s.Allow).IsZero() }
