package stacktest

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"sync"

	"github.com/squadronctl/squadron/stack"
)

// Store is a stack.RevisionStore in memory.
type Store struct {
	mu        sync.Mutex
	revisions map[[2]string][]stack.Revision
	next      int
	fail      func(op string) error
}

var _ stack.RevisionStore = (*Store)(nil)

// NewStore gives an empty store.
func NewStore() *Store { return &Store{revisions: map[[2]string][]stack.Revision{}} }

// Fail has each method ask for its error, by its name and, behind a space, the stack's. nil ends it.
func (s *Store) Fail(fail func(op string) error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fail = fail
}

func (s *Store) failing(op string) error {
	if s.fail == nil {
		return nil
	}
	return s.fail(op)
}

// AddRevision puts a new manifest first.
func (s *Store) AddRevision(_ context.Context, owner, name, manifest string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.failing("AddRevision " + name); err != nil {
		return err
	}
	key := [2]string{owner, name}
	if slices.ContainsFunc(s.revisions[key], func(r stack.Revision) bool { return r.Manifest == manifest }) {
		return nil
	}
	s.next++
	s.revisions[key] = append([]stack.Revision{{ID: strconv.Itoa(s.next), Manifest: manifest}}, s.revisions[key]...)
	return nil
}

// Revisions gives the newest first.
func (s *Store) Revisions(_ context.Context, owner, name string) ([]stack.Revision, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.failing("Revisions " + name); err != nil {
		return nil, err
	}
	return slices.Clone(s.revisions[[2]string{owner, name}]), nil
}

// Stacks gives the names, sorted.
func (s *Store) Stacks(_ context.Context, owner string) ([]string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.failing("Stacks"); err != nil {
		return nil, err
	}
	var names []string
	for key := range maps.Keys(s.revisions) {
		if key[0] == owner {
			names = append(names, key[1])
		}
	}
	slices.Sort(names)
	return names, nil
}

// DropRevisions forgets a stack.
func (s *Store) DropRevisions(_ context.Context, owner, name string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.failing("DropRevisions " + name); err != nil {
		return err
	}
	delete(s.revisions, [2]string{owner, name})
	return nil
}
