package reconcile

import (
	"context"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/squadronctl/squadron/capability"
	"github.com/squadronctl/squadron/internal/errmask"
	"github.com/squadronctl/squadron/stack"
)

// lookDue says that what was seen of a stack's owner and fields is too old.
func (p *pass) lookDue(m *memory) bool { return p.dry || !m.lookDue.After(p.started) }

// takeLooks reads owners and fields of the stacks whose last look is too old. Without OnceLooker a look costs the
// cluster two reads more, and without DriftReader one for each stack, so that passes in between do without.
func (p *pass) takeLooks(ctx context.Context) {
	drift, hasDrift := p.reads.(capability.LiveDrift)
	owners, hasOwners := p.reads.(stack.OwnerLister)
	var due []*working
	for _, s := range p.stacks {
		if s.read.there() && p.lookDue(s.mem) {
			due = append(due, s)
		}
	}
	if len(due) == 0 || !hasDrift && !hasOwners {
		return
	}
	at := time.Now()
	for _, s := range due {
		s.mem.look = look{at: at, foreign: s.mem.look.foreign && !hasOwners} // else only a refusal tells
	}
	if hasOwners {
		p.lookAtOwners(ctx, owners, due)
	}
	if hasDrift {
		p.lookAtFields(ctx, drift, due)
	}
	_, many := p.reads.(DriftReader)
	_, once := p.cfg.Backend.(OnceLooker)
	shared := many || once
	for _, s := range due {
		p.nextLook(s.mem, shared)
	}
}

// nextLook spreads looks that cost a read each; those that share one are taken together.
func (p *pass) nextLook(m *memory, shared bool) {
	wait := p.cfg.DriftInterval
	if !shared {
		wait = wait/2 + rand.N(wait/2+1)
	}
	if m.look.err != nil {
		wait = 0
	}
	m.lookDue = p.started.Add(wait)
}

// lookAtOwners finds what lies under a declared name and is somebody else's.
func (p *pass) lookAtOwners(ctx context.Context, owners stack.OwnerLister, due []*working) {
	var names []string
	err := p.guarded(ctx, "list the stacks of", p.cfg.Owner, func() (err error) {
		names, err = owners.OwnedStacks(ctx, p.cfg.Owner)
		return err
	})
	owned := make(map[string]bool, len(names))
	for _, name := range names {
		owned[name] = true
	}
	for _, s := range due {
		s.mem.look.err = err
		s.mem.look.foreign = err == nil && !owned[s.Name]
	}
}

// live is what LiveServices gave for one stack.
type live struct {
	services map[string]stack.Service
	err      error
}

func (p *pass) lookAtFields(ctx context.Context, drift capability.LiveDrift, due []*working) {
	found := p.readLive(ctx, drift, due)
	for _, s := range due {
		if s.mem.look.err == nil {
			s.mem.look.err = found[s].err
		}
		if s.mem.look.err != nil || s.mem.look.foreign {
			continue
		}
		s.mem.look.err = p.guarded(ctx, "compare", s.Name, func() error {
			desired, err := drift.DesiredServices(ctx, s.Manifest, s.Name)
			if err != nil {
				return err
			}
			s.mem.look.changes, s.mem.look.missing = compare(desired.Services, found[s].services)
			s.mem.look.changes, err = p.nameNetworks(ctx, s.mem.look.changes)
			return err
		})
	}
}

func (p *pass) readLive(ctx context.Context, drift capability.LiveDrift, due []*working) map[*working]*live {
	found := make(map[*working]*live, len(due))
	for _, s := range due {
		found[s] = &live{}
	}
	if reader, ok := p.reads.(DriftReader); ok {
		var all map[string]map[string]stack.Service
		err := p.guarded(ctx, "read the fields of", "stacks", func() (err error) {
			all, err = reader.LiveStacks(ctx, p.names(due))
			return err
		})
		for _, s := range due {
			services, answered := all[s.Name]
			*found[s] = live{services, err}
			if err == nil && !answered {
				found[s].err = errmask.Maskf(errNotAnswered, "read the fields of %s", s.Name)
			}
		}
		return found
	}
	p.each(due, func(s *working) {
		l := found[s]
		l.err = p.guarded(ctx, "read the fields of", s.Name, func() (err error) {
			l.services, err = drift.LiveServices(ctx, s.Name)
			return err
		})
	})
	return found
}

// compare gives the fields that differ of services that are there, and the declared services that are not.
func compare(desired, found map[string]stack.Service) (changes []Change, missing []string) {
	for _, name := range slices.Sorted(maps.Keys(desired)) {
		there, ok := found[name]
		if !ok {
			missing = append(missing, name)
			continue
		}
		changes = append(changes, compareFields(name, desired[name].Fields, there.Fields)...)
	}
	return changes, missing
}

func compareFields(service string, desired, found map[string]string) []Change {
	var changes []Change
	for field, want := range desired {
		if got, ok := found[field]; !ok || got != want {
			changes = append(changes, Change{Service: service, Field: field, Old: want, New: got})
		}
	}
	for field, got := range found {
		if _, ok := desired[field]; !ok {
			changes = append(changes, Change{Service: service, Field: field, New: got})
		}
	}
	slices.SortFunc(changes, func(a, b Change) int { return strings.Compare(a.Field, b.Field) })
	return changes
}

// nameNetworks drops the changes that are one network, once by ID and once by name, and names the networks of the rest.
// Without NetworkNamer they stay.
func (p *pass) nameNetworks(ctx context.Context, changes []Change) ([]Change, error) {
	if len(changes) == 0 {
		return nil, nil
	}
	namer, ok := p.reads.(capability.NetworkNamer)
	if !ok {
		p.lacks["NetworkNamer"] = true
		return changes, nil
	}
	if p.networks == nil && p.networksErr == nil {
		p.networks, p.networksErr = namer.LiveNetworkNames(ctx)
	}
	if p.networksErr != nil {
		return nil, errmask.Maskf(p.networksErr, "name networks")
	}
	name := func(value *string) {
		if network, ok := p.networks[*value]; ok {
			*value = network
		}
	}
	var left []Change
	for _, c := range changes {
		name(&c.Old)
		name(&c.New)
		if c.Old != c.New {
			left = append(left, c)
		}
	}
	return left, nil
}
