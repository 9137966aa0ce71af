package revision

import (
	"context"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/squadronctl/squadron/stack"
)

// Memory is a stack.RevisionStore that ends with the process: for tests, and where a sweep has to prove nothing that is older
// than the process. The zero Memory is empty and ready for use. It must not be copied.
type Memory struct {
	mutex  sync.Mutex
	stacks map[stackKey][]stack.Revision // the oldest first
}

type stackKey struct{ owner, stack string }

var _ stack.RevisionStore = (*Memory)(nil)

// AddRevision implements stack.RevisionStore, as far as a store can that does not survive.
func (m *Memory) AddRevision(ctx context.Context, owner, stackName, manifest string) error {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	if err := ctx.Err(); err != nil {
		return err
	}
	key := stackKey{owner, stackName}
	if slices.ContainsFunc(m.stacks[key], func(r stack.Revision) bool { return r.Manifest == manifest }) {
		return nil
	}
	if m.stacks == nil {
		m.stacks = map[stackKey][]stack.Revision{}
	}
	m.stacks[key] = append(m.stacks[key], stack.Revision{
		ID: strconv.Itoa(len(m.stacks[key]) + 1), Time: time.Now(), Manifest: manifest,
	})
	return nil
}

// Revisions implements stack.RevisionStore.
func (m *Memory) Revisions(ctx context.Context, owner, stackName string) ([]stack.Revision, error) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	revisions := append([]stack.Revision{}, m.stacks[stackKey{owner, stackName}]...)
	slices.Reverse(revisions)
	return revisions, nil
}

// Stacks implements stack.RevisionStore.
func (m *Memory) Stacks(ctx context.Context, owner string) ([]string, error) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	stacks := []string{}
	for key := range m.stacks {
		if key.owner == owner {
			stacks = append(stacks, key.stack)
		}
	}
	slices.Sort(stacks)
	return stacks, nil
}

// DropRevisions implements stack.RevisionStore.
func (m *Memory) DropRevisions(ctx context.Context, owner, stackName string) error {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	if err := ctx.Err(); err != nil {
		return err
	}
	delete(m.stacks, stackKey{owner, stackName})
	return nil
}
