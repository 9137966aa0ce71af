package reconcile

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime/debug"
	"slices"

	"github.com/squadronctl/squadron/capability"
	"github.com/squadronctl/squadron/internal/errmask"
	"github.com/squadronctl/squadron/stack"
)

var errNotAnswered = errors.New("the backend's answer lacks the stack")

// reading is how the services of a stack were found.
type reading struct {
	services []stack.ServiceState
	err      error
	// unsure: nothing was found, by a backend that gives the same answer when it could not ask.
	unsure bool
}

func (r reading) there() bool { return r.err == nil && len(r.services) > 0 }

// readAll reads the states of all stacks, and what else of them is due: all in one look where the backend can.
func (p *pass) readAll(ctx context.Context) {
	p.reads = p.cfg.Backend
	once, ok := p.cfg.Backend.(OnceLooker)
	if ok && slices.ContainsFunc(p.stacks, func(s *working) bool { return p.lookDue(s.mem) }) {
		err := p.guarded(ctx, "look at", "the cluster", func() error {
			seen, err := once.LookOnce(ctx)
			if err == nil {
				p.reads = seen
			}
			return err
		})
		if err != nil {
			for _, s := range p.stacks {
				s.read = reading{err: err}
			}
			return
		}
	}
	p.readStates(ctx, p.reads, p.stacks)
	p.takeLooks(ctx)
}

// readStates takes one look for all of these stacks where the backend can, else one for each.
func (p *pass) readStates(ctx context.Context, backend stack.Backend, stacks []*working) {
	if len(stacks) == 0 {
		return
	}
	many, canMany := backend.(capability.StacksReader)
	one, canOne := backend.(capability.StackServicesReader)
	switch {
	case canMany && (len(stacks) > 1 || !canOne):
		p.readMany(ctx, many, stacks)
	case canOne: // no StacksReader: the cluster is fetched once for each stack
		p.each(stacks, func(s *working) {
			s.read = reading{}
			s.read.err = p.guarded(ctx, "read", s.Name, func() (err error) {
				s.read.services, err = one.ReadStackServices(ctx, s.Name)
				return err
			})
		})
	default: // neither: an empty answer may be a cluster that could not be asked
		p.each(stacks, func(s *working) {
			s.read = reading{}
			s.read.err = p.guarded(ctx, "read", s.Name, func() error {
				s.read.services = backend.StackServices(ctx, s.Name)
				return nil
			})
			s.read.unsure = len(s.read.services) == 0
		})
	}
}

func (p *pass) readMany(ctx context.Context, many capability.StacksReader, stacks []*working) {
	var found map[string][]stack.ServiceState
	err := p.guarded(ctx, "read", "stacks", func() (err error) {
		found, err = many.ReadStacks(ctx, p.names(stacks))
		return err
	})
	for _, s := range stacks {
		services, ok := found[s.Name]
		switch {
		case err != nil:
			s.read = reading{err: err}
		case !ok:
			s.read = reading{err: errmask.Maskf(errNotAnswered, "read %s", s.Name)}
		default:
			s.read = reading{services: services}
		}
	}
}

// readNames learns which services each manifest declares, once for each manifest. Without DeclaredLister a service that
// is not there is only seen by LiveDrift.
func (p *pass) readNames(ctx context.Context) {
	lister, ok := p.cfg.Backend.(capability.DeclaredLister)
	if !ok {
		return
	}
	for _, s := range p.stacks {
		if s.mem.knowsNames {
			continue
		}
		s.mem.declaredErr = p.guarded(ctx, "read the manifest of", s.Name, func() error {
			declared, err := lister.DeclaredResources(ctx, s.Manifest, s.Name)
			if err != nil {
				return err
			}
			s.mem.declared, s.mem.knowsNames = slices.Sorted(maps.Keys(declared.Services)), true
			return nil
		})
	}
}

// guarded masks the error of a call to the backend, and makes a panic in it one, so that it fails one stack and no
// more.
func (p *pass) guarded(ctx context.Context, what, of string, call func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			p.cfg.Logger.Critical(ctx, "%s %s: panic: %v\n%s", what, of, r, debug.Stack())
			err = errmask.Mask(fmt.Errorf("%s %s: panic: %v", what, of, r))
		}
	}()
	return errmask.Maskf(call(), "%s %s", what, of)
}
