package prune

import (
	"context"
	"maps"
	"slices"

	"github.com/squadronctl/squadron/capability"
	"github.com/squadronctl/squadron/internal/errmask"
	"github.com/squadronctl/squadron/stack"
)

// names are the things of one stack: IDs by kind and scoped name.
type names map[Kind]map[string]string

func (n names) add(kind Kind, name, id string) {
	if n[kind] == nil {
		n[kind] = map[string]string{}
	}
	n[kind][name] = id
}

func (n names) empty() bool {
	for _, of := range n {
		if len(of) > 0 {
			return false
		}
	}
	return true
}

// found is something that is there and not declared.
type found struct {
	Item
	id string
}

// reading is how the services of a stack were found.
type reading struct {
	services []stack.ServiceState
	err      error
}

// sweepDeclared looks into the declared stacks that are there and the owner's.
func (s *sweep) sweepDeclared(ctx context.Context) error {
	lister, ok := s.Backend.(capability.DeclaredLister)
	if !ok { // nothing can be proven
		return nil
	}
	if s.old && len(s.Declared) > 0 {
		if err := s.look(ctx); err != nil {
			return err
		}
	}
	var ours []Declared
	var of []string
	for _, d := range s.Declared {
		if s.owned[d.Name] && !d.Keep {
			ours, of = append(ours, d), append(of, d.Name)
		}
	}
	read, err := s.states(ctx, of)
	if err != nil {
		return err
	}
	for _, d := range ours {
		if err := context.Cause(ctx); err != nil {
			return errmask.Mask(err)
		}
		if err := s.sweepInside(ctx, lister, d, read[d.Name]); err != nil {
			s.fail(d.Name, err)
		}
	}
	return nil
}

// states reads the services of stacks in one look where the backend can. Where it can't tell an empty stack from one
// that could not be read, that makes no difference: both have nothing to sweep.
func (s *sweep) states(ctx context.Context, of []string) (map[string]reading, error) {
	if len(of) == 0 {
		return nil, nil
	}
	many, canMany := s.reads.(capability.StacksReader)
	one, canOne := s.reads.(capability.StackServicesReader)
	if canMany && (len(of) > 1 || !canOne) {
		return s.statesAtOnce(ctx, many, of)
	}
	read := make(map[string]reading, len(of))
	for _, name := range of {
		var st reading
		st.err = s.guarded(ctx, "read", name, func() (err error) {
			if canOne {
				st.services, err = one.ReadStackServices(ctx, name)
				return err
			}
			st.services = s.reads.StackServices(ctx, name)
			return nil
		})
		read[name] = st
	}
	return read, nil
}

func (s *sweep) statesAtOnce(ctx context.Context, many capability.StacksReader, of []string) (map[string]reading, error) {
	var all map[string][]stack.ServiceState
	err := s.guarded(ctx, "read", "stacks", func() (err error) {
		all, err = many.ReadStacks(ctx, of)
		return err
	})
	if err != nil {
		return nil, err
	}
	read := make(map[string]reading, len(of))
	for _, name := range of {
		services, ok := all[name]
		read[name] = reading{services: services}
		if !ok {
			read[name] = reading{err: errmask.Maskf(errNotAnswered, "read %s", name)}
		}
	}
	return read, nil
}

// sweepInside finds what is there of a declared stack beyond its manifest, and removes what a revision proves to be the
// owner's. An error means that nothing of the stack was removed.
func (s *sweep) sweepInside(ctx context.Context, lister capability.DeclaredLister, d Declared, read reading) error {
	if read.err != nil {
		return read.err
	}
	current := names{}
	if err := s.declared(ctx, lister, d.Manifest, d.Name, current, true); err != nil {
		return err
	}
	extra, err := s.extra(ctx, d.Name, read.services, current)
	if err != nil || len(extra) == 0 {
		return err
	}
	known, err := s.revisionsDeclared(ctx, lister, d.Name)
	if err != nil {
		return err
	}
	for _, f := range extra {
		_, proven := known[f.Kind][f.Name]
		switch {
		case !proven:
			s.add(f.Item, Unmanaged, nil)
		case f.Kind == KindNetwork: // once nothing uses them any more
			s.networks = append(s.networks, f)
		default:
			s.remove(ctx, f)
		}
	}
	return nil
}

// extra gives what is there and not declared, in the order in which it is removed. The IDs of services are asked for
// only where there are such services; without LiveDrift, who gives them, they are reported and can't be removed.
func (s *sweep) extra(ctx context.Context, name string, services []stack.ServiceState, current names) ([]found, error) {
	live := names{}
	for _, service := range services {
		if _, ok := current[KindService][service.Name]; !ok {
			live.add(KindService, service.Name, "")
		}
	}
	if drift, ok := s.reads.(capability.LiveDrift); ok && !live.empty() {
		err := s.guarded(ctx, "read the services of", name, func() error {
			there, err := drift.LiveServices(ctx, name)
			for service := range live[KindService] {
				if _, ok := there[service]; !ok { // gone meanwhile
					delete(live[KindService], service)
					continue
				}
				live.add(KindService, service, there[service].ID)
			}
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	if err := s.listResources(ctx, name, live); err != nil {
		return nil, err
	}
	var extra []found
	for _, kind := range []Kind{KindService, KindConfig, KindSecret, KindNetwork} {
		for _, thing := range slices.Sorted(maps.Keys(live[kind])) {
			if _, ok := current[kind][thing]; !ok {
				extra = append(extra, found{Item{Stack: name, Kind: kind, Name: thing}, live[kind][thing]})
			}
		}
	}
	return extra, nil
}

// listResources adds the networks, configs and secrets that there are. Without ResourceLister they are not found.
func (s *sweep) listResources(ctx context.Context, name string, live names) error {
	lister, ok := s.Backend.(capability.ResourceLister)
	if !ok {
		return nil
	}
	for kind, list := range map[Kind]func(context.Context, string) (map[string]string, error){
		KindNetwork: lister.LiveNetworks, KindConfig: lister.LiveConfigs, KindSecret: lister.LiveSecrets,
	} {
		err := s.guarded(ctx, "list the "+string(kind)+"s of", name, func() error {
			all, err := list(ctx, name)
			for thing, id := range all {
				live.add(kind, thing, id)
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// revisionsDeclared gives all that the stored revisions of this owner declared as part of the stack.
func (s *sweep) revisionsDeclared(ctx context.Context, lister capability.DeclaredLister, name string) (names, error) {
	var revisions []stack.Revision
	err := s.guarded(ctx, "read the revisions of", name, func() (err error) {
		revisions, err = s.Store.Revisions(ctx, s.Owner, name)
		return err
	})
	if err != nil {
		return nil, err
	}
	known := names{}
	for _, revision := range revisions {
		if err := s.declared(ctx, lister, revision.Manifest, name, known, false); err != nil {
			return nil, errmask.Maskf(err, "revision %s", revision.ID)
		}
	}
	return known, nil
}

// declared adds what a manifest declares; what it only uses counts where external says so.
func (s *sweep) declared(ctx context.Context, lister capability.DeclaredLister, manifest, name string, to names, external bool) error {
	return s.guarded(ctx, "read the manifest of", name, func() error {
		declared, err := lister.DeclaredResources(ctx, manifest, name)
		if err != nil {
			return err
		}
		for service := range declared.Services {
			to.add(KindService, service, "")
		}
		for kind, resources := range map[Kind]map[string]stack.Resource{
			KindNetwork: declared.Networks, KindConfig: declared.Configs, KindSecret: declared.Secrets,
		} {
			for resource, r := range resources {
				if external || !r.External {
					to.add(kind, resource, "")
				}
			}
		}
		return nil
	})
}

// remove removes one thing. Without ResourceRemover, or without its ID, it is only reported.
func (s *sweep) remove(ctx context.Context, f found) {
	remover, ok := s.Backend.(capability.ResourceRemover)
	if !ok || s.DryRun || f.id == "" {
		s.add(f.Item, WouldRemove, nil)
		return
	}
	call := map[Kind]func(context.Context, string) error{
		KindService: remover.RemoveService, KindNetwork: remover.RemoveNetwork,
		KindConfig: remover.RemoveConfig, KindSecret: remover.RemoveSecret,
	}[f.Kind]
	err := s.guarded(ctx, "remove "+string(f.Kind), f.Name, func() error { return call(ctx, f.id) })
	switch {
	case errmask.Has(err, capability.ErrOwnStack): // refused always
	case err != nil && f.Kind == KindService:
		s.add(f.Item, Failed, err)
	case err != nil:
		s.add(f.Item, Left, err)
	default:
		s.Logger.Info(ctx, "stack %s: %s %s removed, the manifest no longer declares it", f.Stack, f.Kind, f.Name)
		s.add(f.Item, Removed, nil)
	}
}
