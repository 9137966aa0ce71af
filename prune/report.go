package prune

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/squadronctl/squadron/internal/errmask"
)

// Kind is what an Item is.
type Kind string

// The kinds.
const (
	KindStack   Kind = "stack"
	KindService Kind = "service"
	KindNetwork Kind = "network"
	KindConfig  Kind = "config"
	KindSecret  Kind = "secret"
)

// Outcome is what became of an Item.
type Outcome string

// The outcomes.
const (
	Removed     Outcome = "removed"
	WouldRemove Outcome = "would-remove" // a dry run, or a backend that can't remove single things
	Unmanaged   Outcome = "unmanaged"    // nothing proves that it is the owner's: not touched
	Left        Outcome = "left"         // it could not be removed, most likely because it is in use; the next sweep tries again
	Failed      Outcome = "failed"       // something could not be read or removed; Error says what
)

// Item is something that a sweep found.
type Item struct {
	// Stack is the name of the stack, and Name the scoped name of the thing in it; empty where Kind is KindStack.
	Stack string `json:"stack"`
	Kind  Kind   `json:"kind"`
	Name  string `json:"name,omitempty"`

	Outcome Outcome `json:"outcome"`
	// Error is why something was left or failed.
	Error string `json:"error,omitempty"`
	Err   error  `json:"-"`
}

// String is "removed service web_cache".
func (i Item) String() string {
	return fmt.Sprintf("%s %s %s", i.Outcome, i.Kind, cmp.Or(i.Name, i.Stack))
}

// Report is what one sweep found and did.
type Report struct {
	// Items are by stack, kind and name. What is declared is not among them.
	Items []Item `json:"items"`
	// Lacks are the capabilities that the sweep would have used and the backend does not offer, sorted.
	Lacks []string `json:"lacks,omitempty"`
	// Nodes is how many nodes the cluster has, 0 where that was of no interest or is not known.
	Nodes int `json:"nodes,omitempty"`
}

// Of gives the items of one outcome.
func (r Report) Of(outcome Outcome) []Item {
	var items []Item
	for _, item := range r.Items {
		if item.Outcome == outcome {
			items = append(items, item)
		}
	}
	return items
}

// Err joins the errors of what failed; nil when nothing did. What was left is not among it.
func (r Report) Err() error {
	var errs []error
	for _, item := range r.Of(Failed) {
		errs = append(errs, errmask.Maskf(item.Err, "%s", item.Stack))
	}
	return errors.Join(errs...)
}

func (s *sweep) report() Report {
	items := slices.Clone(s.items)
	kinds := []Kind{KindStack, KindService, KindConfig, KindSecret, KindNetwork}
	slices.SortFunc(items, func(a, b Item) int {
		return cmp.Or(cmp.Compare(a.Stack, b.Stack), cmp.Compare(slices.Index(kinds, a.Kind), slices.Index(kinds, b.Kind)),
			cmp.Compare(a.Name, b.Name))
	})
	return Report{Items: items, Lacks: slices.Sorted(maps.Keys(s.lacks)), Nodes: s.nodes}
}

func (s *sweep) add(item Item, outcome Outcome, err error) {
	item.Outcome, item.Err = outcome, err
	if err != nil {
		item.Error = err.Error()
	}
	s.items = append(s.items, item)
}

func (s *sweep) fail(stackName string, err error) {
	s.add(Item{Stack: stackName, Kind: KindStack}, Failed, err)
}
