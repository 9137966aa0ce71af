package reconcile

import (
	"context"

	"github.com/squadronctl/squadron/stack"
)

// DriftReader is what a backend may offer beside capability.LiveDrift: what LiveServices gives, of many stacks in one
// look at the cluster. Without it, and without OnceLooker, drift costs one look for each stack.
type DriftReader interface {
	// LiveStacks gives the services of all these stacks. With a nil error each name is in the map, a stack that is not
	// there with an empty map; with an error none is.
	LiveStacks(ctx context.Context, names []string) (map[string]map[string]stack.Service, error)
}

// OnceLooker is what a backend may offer beside its reads: one look at the cluster for all of them. Without it a pass
// that compares fields takes several looks: at states, at owners, and at fields.
type OnceLooker interface {
	// LookOnce looks at the cluster, and gives a backend that offers the same reads and answers them from what was seen
	// then. It is used for the length of one pass, or of one sweep of package prune, and deploys and removes nothing.
	LookOnce(ctx context.Context) (stack.Backend, error)
}

// DeployChecker is what a backend may offer beside DeployStack: whether it would refuse a request. Without it Plan shows
// a stack that Pass will be refused as one that would be deployed, unless it is seen to be another owner's, or its manifest
// can't be read.
type DeployChecker interface {
	// CheckDeploy gives the error with which DeployStack would refuse the request before it writes anything, and nil
	// where it would deploy it or find nothing to do. It changes nothing.
	CheckDeploy(ctx context.Context, req stack.DeployRequest) error
}
