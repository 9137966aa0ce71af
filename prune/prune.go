// Package prune is the sweep: it removes from a cluster what an owner had deployed and no longer declares.
//
// Nothing is removed without proof that it is the owner's. A whole stack is proven by its stamp. A service or a
// resource inside a declared stack is proven by a stored revision of this owner that declared it; what no revision
// knows is unmanaged: it is reported, and never touched. What could not be read proves nothing, so it sweeps nothing.
//
// Like package reconcile it holds a stack.Backend and knows no engine. What a backend can't do narrows the sweep, and
// stands in the report.
package prune

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/squadronctl/squadron/internal/errmask"
	"github.com/squadronctl/squadron/logging"
	"github.com/squadronctl/squadron/stack"
)

var errInvalidArgument = errors.New("invalid argument")

// IsInvalidArgument is true for the error of a Config that lacks its Backend, Owner or Store, or that declares a stack
// twice or without a name.
func IsInvalidArgument(err error) bool { return errmask.Has(err, errInvalidArgument) }

// Declared is one stack that is to be there.
type Declared struct {
	// Name is the stack's name.
	Name string
	// Manifest is what it is to consist of, in the engine's own form.
	Manifest string
	// Keep leaves alone all that there is of the stack. It is for a stack whose manifest has not been deployed to the
	// end: what an older one declared may be all that works.
	Keep bool
}

// Config is what a sweep works with. Backend, Owner and Store have to be set.
type Config struct {
	// Backend reads and removes.
	Backend stack.Backend
	// Owner is whose stacks are swept. Another owner's are never touched. A backend that is no stack.OwnerLister can't
	// say whose a stack is, so that there the names in Store have to do: no other owner may use them.
	Owner string
	// Store has the revisions that the backend recorded. It is the proof of what a stack declared before.
	Store stack.RevisionStore
	// Declared are the stacks that are to be there, with their manifests of now.
	Declared []Declared
	// Complete says that Declared is all that is declared. Without it no whole stack is removed: a list that is short,
	// or empty, because something could not be read must not sweep what it lacks.
	Complete bool
	// DryRun reports what would be removed, and removes nothing. It can't know which stack the process itself runs in,
	// so that one is named too where nobody declares it, though a sweep would skip it.
	DryRun bool
	// Logger may be nil.
	Logger logging.Logger
}

func (c Config) validate() error {
	switch {
	case c.Backend == nil:
		return errmask.Maskf(errInvalidArgument, "no Backend")
	case c.Owner == "":
		return errmask.Maskf(errInvalidArgument, "no Owner")
	case c.Store == nil:
		return errmask.Maskf(errInvalidArgument, "no Store")
	}
	seen := map[string]bool{}
	for _, d := range c.Declared {
		switch {
		case d.Name == "":
			return errmask.Maskf(errInvalidArgument, "a declared stack has no name")
		case seen[d.Name]:
			return errmask.Maskf(errInvalidArgument, "stack %s is declared more than once", d.Name)
		}
		seen[d.Name] = true
	}
	return nil
}

// Sweep removes the owner's stacks that are not declared, and from declared ones what their manifests no longer
// declare: services first, then configs and secrets, networks last. It blocks until that is done.
//
// What goes wrong with one stack stands in the report and stops no other; Report.Err has it as one error. The error of
// Sweep itself is a Config that can't work, a list of the owner's stacks that could not be had, in which case nothing
// more was removed, states that could not be read, in which case nothing was removed from declared stacks, or the
// context's end. The report says how far it had come.
func Sweep(ctx context.Context, cfg Config) (Report, error) {
	if err := cfg.validate(); err != nil {
		return Report{}, errmask.Maskf(err, "sweep")
	}
	cfg.Logger = logging.OrSilent(cfg.Logger)
	cfg.Declared = slices.Clone(cfg.Declared)
	slices.SortFunc(cfg.Declared, func(a, b Declared) int { return strings.Compare(a.Name, b.Name) })
	s := &sweep{Config: cfg, lacks: map[string]bool{}}
	err := s.run(ctx)
	return s.report(), errmask.Maskf(err, "sweep")
}
