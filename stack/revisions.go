package stack

import (
	"context"
	"time"
)

// Revision is one manifest that was deployed.
type Revision struct {
	// ID tells revisions of one stack apart; it is the store's.
	ID string
	// Time is when it was recorded first.
	Time time.Time
	// Manifest is the text that was deployed.
	Manifest string
}

// RevisionStore keeps what was deployed, by owner and stack: so a sweep can prove that something on the cluster once was
// declared by its owner. Its methods are safe for use by many goroutines at once. An error is never to be read as
// "nothing was deployed".
type RevisionStore interface {
	// AddRevision records a manifest before it is deployed. One that is recorded already is recorded no second time. When it
	// returns nil the revision survives the end of the process and of the machine.
	AddRevision(ctx context.Context, owner, stack, manifest string) error
	// Revisions gives the stack's revisions, the newest first; none is no error. A revision that is there and can't be read is
	// an error, since nobody knows what it declared.
	Revisions(ctx context.Context, owner, stack string) ([]Revision, error)
	// Stacks gives the names of the owner's stacks that have a revision, sorted.
	Stacks(ctx context.Context, owner string) ([]string, error)
	// DropRevisions forgets a stack, once nothing is left of it on the cluster. One that is not there is no error.
	DropRevisions(ctx context.Context, owner, stack string) error
}
