package swarm

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/squadronctl/squadron/internal/hostpath"
	"github.com/squadronctl/squadron/stack"
	"github.com/squadronctl/squadron/stack/swarm/internal/compose"
)

// referencesOf gives all that a manifest uses of the world outside of it.
func referencesOf(made *compose.Stack) []compose.Reference {
	var all []compose.Reference
	for _, service := range made.Services {
		all = append(all, service.References...)
	}
	for _, network := range made.Networks {
		if network.External {
			all = append(all, compose.Reference{Kind: compose.KindNetwork, Name: network.Name, Line: network.Line})
		}
	}
	for _, config := range made.Configs {
		if config.External {
			all = append(all, compose.Reference{Kind: compose.KindConfig, Name: config.Name, Line: config.Line})
		}
	}
	for _, secret := range made.Secrets {
		if secret.External {
			all = append(all, compose.Reference{Kind: compose.KindSecret, Name: secret.Name, Line: secret.Line})
		}
	}
	for _, volume := range made.Volumes {
		if volume.External || !strings.HasPrefix(volume.Name, made.Name+"_") {
			all = append(all, compose.Reference{Kind: compose.KindVolume, Name: volume.Name, Line: volume.Line})
		}
	}
	slices.SortStableFunc(all, func(a, b compose.Reference) int { return cmp.Compare(a.Line, b.Line) })
	return slices.Compact(all)
}

// checkReferences refuses the references that nobody has allowed.
func checkReferences(refs []compose.Reference, allow stack.Allow) error {
	var refused []error
	for _, ref := range refs {
		allowed := false
		switch ref.Kind {
		case compose.KindHostPath:
			allowed = slices.ContainsFunc(allow.HostPaths, func(allowed string) bool { return hostpath.Covers(allowed, ref.Name) })
		case compose.KindNetwork:
			allowed = slices.Contains(allow.Networks, ref.Name)
		case compose.KindConfig:
			allowed = slices.Contains(allow.Configs, ref.Name)
		case compose.KindSecret:
			allowed = slices.Contains(allow.Secrets, ref.Name)
		case compose.KindVolume:
			allowed = slices.Contains(allow.Volumes, ref.Name)
		}
		if !allowed {
			refused = append(refused, forbidden(ref, "%s %s", ref.Kind, ref.Name))
		}
	}
	return errors.Join(refused...)
}

func forbidden(ref compose.Reference, format string, args ...any) error {
	return &stack.ManifestError{Line: ref.Line, Err: fmt.Errorf("%w: %s", stack.ErrForbiddenReference, fmt.Sprintf(format, args...))}
}

// checkOwnFiles refuses the secrets and configs of the controller itself, whatever is allowed: those that the caller names, and
// those that are mounted into the services of its own stack, as Swarm says. The own stack may have them.
func (d *deployment) checkOwnFiles(ctx context.Context) error {
	if d.engine.isOwn(d.req.Name) {
		return nil
	}
	var uses []compose.Reference
	for _, ref := range d.refs {
		if ref.Kind == compose.KindConfig || ref.Kind == compose.KindSecret {
			uses = append(uses, ref)
		}
	}
	if len(uses) == 0 {
		return nil
	}
	mounted, err := d.engine.ownFiles(ctx)
	if err != nil {
		return err
	}
	for _, ref := range uses {
		_, named := d.engine.forbidden[ref.Name]
		if named || mounted[ref.Kind][ref.Name] {
			return forbidden(ref, "%s %s is the controller's own", ref.Kind, ref.Name)
		}
	}
	return nil
}

// ownFiles gives what is mounted into the services of the own stack.
func (c *core) ownFiles(ctx context.Context) (map[compose.Kind]map[string]bool, error) {
	if c.config.Own == "" {
		return nil, nil
	}
	services, err := c.services(ctx, ofStack(c.config.Own))
	if err != nil {
		return nil, err
	}
	configs, secrets := map[string]bool{}, map[string]bool{}
	for _, service := range services {
		container := service.Spec.TaskTemplate.ContainerSpec
		if container == nil {
			continue
		}
		for _, config := range container.Configs {
			if config != nil {
				configs[config.ConfigName] = true
			}
		}
		for _, secret := range container.Secrets {
			if secret != nil {
				secrets[secret.SecretName] = true
			}
		}
	}
	return map[compose.Kind]map[string]bool{compose.KindConfig: configs, compose.KindSecret: secrets}, nil
}
