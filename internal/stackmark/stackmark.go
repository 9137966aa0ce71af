// Package stackmark keeps, in a stack.RevisionStore, which manifest of a stack was deployed to its end. A revision is
// recorded before its first write, so it does not tell; and whether a difference is somebody's doing by hand, or what a
// process left that ended half-way, no look at the cluster tells.
//
// A mark is the only revision of the stack under an owner of its own. No stack can carry that owner, since its name has
// a line break.
package stackmark

import (
	"context"
	"time"

	"github.com/squadronctl/squadron/internal/errmask"
	"github.com/squadronctl/squadron/stack"
)

// setTimeout is how long Set may take.
const setTimeout = 10 * time.Second

func marksOf(owner string) string { return owner + "\ndeployed" }

// Get gives the manifest that was deployed last, to its end; empty where a deployment has begun since, or there was
// none.
func Get(ctx context.Context, store stack.RevisionStore, owner, name string) (string, error) {
	marks, err := store.Revisions(ctx, marksOf(owner), name)
	if err != nil || len(marks) != 1 { // several: a store that could not drop the older one
		return "", errmask.Maskf(err, "read what was deployed of %s", name)
	}
	return marks[0].Manifest, nil
}

// Clear says that nothing is known to be deployed to its end.
func Clear(ctx context.Context, store stack.RevisionStore, owner, name string) error {
	return errmask.Maskf(store.DropRevisions(ctx, marksOf(owner), name), "unmark %s", name)
}

// Set says that a manifest was deployed to its end. The stack must have been cleared before. What was deployed was, so the
// end of ctx does not keep it from being said; it takes 10 s at most.
func Set(ctx context.Context, store stack.RevisionStore, owner, name, manifest string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), setTimeout)
	defer cancel()
	return errmask.Maskf(store.AddRevision(ctx, marksOf(owner), name, manifest), "mark %s as deployed", name)
}
