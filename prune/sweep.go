package prune

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime/debug"
	"slices"
	"time"

	"github.com/squadronctl/squadron/capability"
	"github.com/squadronctl/squadron/internal/errmask"
	"github.com/squadronctl/squadron/internal/stackmark"
	"github.com/squadronctl/squadron/stack"
)

// forgetTimeout is how long it may take to drop a stack's revisions.
const forgetTimeout = 10 * time.Second

var errNotAnswered = errors.New("the backend's answer lacks the stack")

// sweep is one Sweep.
type sweep struct {
	Config
	items    []Item
	lacks    map[string]bool
	nodes    int
	networks []found // to be removed when all else is

	reads stack.Backend   // what stacks and services are read by
	owned map[string]bool // the owner's stacks
	old   bool            // a whole stack was removed since these were listed
}

// onceLooker is reconcile.OnceLooker: the backend that it gives answers from one look.
type onceLooker interface {
	LookOnce(ctx context.Context) (stack.Backend, error)
}

func (s *sweep) run(ctx context.Context) error {
	s.noteLacks()
	s.reads = s.Backend
	if err := s.look(ctx); err != nil {
		return err
	}
	if s.Complete {
		if err := s.sweepStacks(ctx); err != nil {
			return err
		}
	}
	if err := s.sweepDeclared(ctx); err != nil {
		return err
	}
	for _, network := range s.networks {
		if err := context.Cause(ctx); err != nil {
			return errmask.Mask(err)
		}
		s.remove(ctx, network)
	}
	return nil
}

// noteLacks notes what the backend can't do. What happens without each stands beside its assertion.
func (s *sweep) noteLacks() {
	lacks[stack.OwnerLister](s, "OwnerLister")
	lacks[capability.DeclaredLister](s, "DeclaredLister")
	lacks[capability.LiveDrift](s, "LiveDrift")
	lacks[capability.StacksReader](s, "StacksReader")
	lacks[capability.StackServicesReader](s, "StackServicesReader")
	lacks[capability.ResourceLister](s, "ResourceLister")
	lacks[capability.ResourceRemover](s, "ResourceRemover")
	if _, ok := s.Backend.(capability.ResourceLister); ok {
		lacks[capability.SwarmSizer](s, "SwarmSizer")
	}
	if _, ok := s.Backend.(stack.OwnerLister); ok {
		lacks[onceLooker](s, "OnceLooker")
	}
}

func lacks[C any](s *sweep, name string) {
	if _, ok := s.Backend.(C); !ok {
		s.lacks[name] = true
	}
}

// look lists the owner's stacks, and has what follows be of the same moment.
func (s *sweep) look(ctx context.Context) error {
	err := s.lookOnce(ctx)
	if err == nil {
		s.owned, err = s.listOwned(ctx)
	}
	s.old = err != nil
	return err
}

// lookOnce has all that follows be read by one look at the cluster. Without OnceLooker each read is a look of its own. A
// backend that does not say whose a stack is gives no proof that may be any older than the removal, so there it is left.
func (s *sweep) lookOnce(ctx context.Context) error {
	looker, ok := s.Backend.(onceLooker)
	if _, stamped := s.Backend.(stack.OwnerLister); !ok || !stamped {
		return nil
	}
	return s.guarded(ctx, "look at", "the cluster", func() error {
		seen, err := looker.LookOnce(ctx)
		if _, stamped := seen.(stack.OwnerLister); err == nil && stamped { // else the store's names would pass for stamps
			s.reads = seen
		}
		return err
	})
}

// listOwned lists the owner's stacks: by their stamps, or as the store has them where the backend can't say.
func (s *sweep) listOwned(ctx context.Context) (owned map[string]bool, err error) {
	lister, stamped := s.reads.(stack.OwnerLister)
	var names []string
	err = s.guarded(ctx, "list the stacks of", s.Owner, func() (err error) {
		if stamped {
			names, err = lister.OwnedStacks(ctx, s.Owner)
		} else {
			names, err = s.Store.Stacks(ctx, s.Owner)
		}
		return err
	})
	owned = make(map[string]bool, len(names))
	for _, name := range names {
		owned[name] = true
	}
	return owned, err
}

// sweepStacks removes the stacks that nobody declares. Removing one takes long, and what it is removed by is its name; so
// before the next it is looked at anew whose that is.
func (s *sweep) sweepStacks(ctx context.Context) error {
	undeclared := maps.Clone(s.owned)
	for _, d := range s.Declared {
		delete(undeclared, d.Name)
	}
	for _, name := range slices.Sorted(maps.Keys(undeclared)) {
		if err := context.Cause(ctx); err != nil {
			return errmask.Mask(err)
		}
		if s.old {
			if err := s.look(ctx); err != nil {
				return err
			}
		}
		if s.owned[name] {
			s.sweepStack(ctx, name)
		}
	}
	return nil
}

func (s *sweep) sweepStack(ctx context.Context, name string) {
	item := Item{Stack: name, Kind: KindStack}
	if _, stamped := s.Backend.(stack.OwnerLister); !stamped {
		ours, err := s.storeProves(ctx, name)
		switch {
		case err != nil:
			s.fail(name, err)
			return
		case !ours:
			return
		}
	}
	if s.DryRun {
		s.add(item, WouldRemove, nil)
		return
	}
	// First of all: what is half removed, and then declared again, is not what was deployed.
	err := s.guarded(ctx, "store", name, func() error { return stackmark.Clear(ctx, s.Store, s.Owner, name) })
	if err == nil {
		err = s.guarded(ctx, "remove", name, func() error { return s.Backend.RemoveStack(ctx, name) })
	}
	s.old = !errmask.Has(err, capability.ErrOwnStack)
	switch {
	case errmask.Has(err, capability.ErrOwnStack): // refused always; not worth a report at each interval
	case err != nil:
		s.add(item, Failed, err)
	default:
		s.Logger.Info(ctx, "stack %s: removed, nobody declares it any more", name)
		s.add(item, Removed, nil)
		s.forget(ctx, name)
	}
}

// storeProves is for a backend that does not say whose a stack is: the store says that the name was this owner's once.
// Somebody else may have it now, so a stack with a service that no revision declared is left alone. Without
// DeclaredLister the name has to do.
func (s *sweep) storeProves(ctx context.Context, name string) (bool, error) {
	states, err := s.states(ctx, []string{name})
	if err != nil {
		return false, err
	}
	if states[name].err != nil {
		return false, states[name].err
	}
	live := names{}
	for _, service := range states[name].services {
		live.add(KindService, service.Name, "")
	}
	if err := s.listResources(ctx, name, live); err != nil {
		return false, err
	}
	if live.empty() { // gone already
		if !s.DryRun {
			s.forget(ctx, name)
		}
		return false, nil
	}
	lister, ok := s.Backend.(capability.DeclaredLister)
	if !ok {
		return true, nil
	}
	known, err := s.revisionsDeclared(ctx, lister, name)
	if err != nil {
		return false, err
	}
	for service := range live[KindService] {
		if _, ok := known[KindService][service]; !ok {
			s.add(Item{Stack: name, Kind: KindStack}, Unmanaged, nil)
			return false, nil
		}
	}
	return true, nil
}

// forget drops the revisions of a stack once nothing of it is left. Resources may be listed by one node alone, so on a
// cluster of several, or of nobody knows how many, a listing does not prove that, and the revisions stay.
func (s *sweep) forget(ctx context.Context, name string) {
	if _, ok := s.Backend.(capability.ResourceLister); ok {
		sizer, ok := s.Backend.(capability.SwarmSizer)
		if !ok {
			return
		}
		live := names{}
		err := s.guarded(ctx, "look for what is left of", name, func() (err error) {
			if s.nodes, err = sizer.SwarmNodes(ctx); err != nil || s.nodes != 1 {
				return err
			}
			return s.listResources(ctx, name, live)
		})
		if err != nil || s.nodes != 1 || !live.empty() {
			return
		}
	}
	// The stack is gone, and no later sweep will come upon it; so the end of ctx is no reason to keep them.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), forgetTimeout)
	defer cancel()
	if err := s.guarded(ctx, "forget", name, func() error { return s.Store.DropRevisions(ctx, s.Owner, name) }); err != nil {
		s.fail(name, err)
	}
}

// guarded masks the error of a call to the backend or the store, and makes a panic in it one.
func (s *sweep) guarded(ctx context.Context, what, of string, call func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			s.Logger.Critical(ctx, "%s %s: panic: %v\n%s", what, of, r, debug.Stack())
			err = errmask.Mask(fmt.Errorf("%s %s: panic: %v", what, of, r))
		}
	}()
	return errmask.Maskf(call(), "%s %s", what, of)
}
