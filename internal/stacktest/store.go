package stacktest

import (
	"context"
	"sync"

	"github.com/squadronctl/squadron/stack"
	"github.com/squadronctl/squadron/stack/revision"
)

// Store is a stack.RevisionStore in memory, which can be made to fail.
type Store struct {
	kept revision.Memory
	mu   sync.Mutex
	fail func(op string) error
}

var _ stack.RevisionStore = (*Store)(nil)

// NewStore gives an empty store.
func NewStore() *Store { return &Store{} }

// Fail has each method ask for its error, by its name and, behind a space, the stack's. nil ends it.
func (s *Store) Fail(fail func(op string) error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fail = fail
}

func (s *Store) failing(op string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fail == nil {
		return nil
	}
	return s.fail(op)
}

// AddRevision is revision.Memory's.
func (s *Store) AddRevision(ctx context.Context, owner, name, manifest string) error {
	if err := s.failing("AddRevision " + name); err != nil {
		return err
	}
	return s.kept.AddRevision(ctx, owner, name, manifest)
}

// Revisions is revision.Memory's.
func (s *Store) Revisions(ctx context.Context, owner, name string) ([]stack.Revision, error) {
	if err := s.failing("Revisions " + name); err != nil {
		return nil, err
	}
	return s.kept.Revisions(ctx, owner, name)
}

// Stacks is revision.Memory's.
func (s *Store) Stacks(ctx context.Context, owner string) ([]string, error) {
	if err := s.failing("Stacks"); err != nil {
		return nil, err
	}
	return s.kept.Stacks(ctx, owner)
}

// DropRevisions is revision.Memory's.
func (s *Store) DropRevisions(ctx context.Context, owner, name string) error {
	if err := s.failing("DropRevisions " + name); err != nil {
		return err
	}
	return s.kept.DropRevisions(ctx, owner, name)
}
