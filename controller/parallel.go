package controller

import (
	"context"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/squadronctl/squadron/internal/errmask"
)

// unitAction is one operation on one unit.
type unitAction func(ctx context.Context, name string) error

// outcome says which units a step got to.
type outcome struct {
	done  []string // the action succeeded
	tried []string // the action was begun
}

// forEach runs an action for each unit, Config.Concurrency at a time, and begins no further one after the first error
// (R7). What is under way then ends by itself: a write that is cut off leaves nobody knowing. The error names the unit,
// and what had been done to the others.
func (c *controller) forEach(ctx context.Context, verb string, names []string, action unitAction) (outcome, error) {
	var (
		mutex sync.Mutex
		out   outcome
		first error
		group errgroup.Group
	)
	group.SetLimit(c.config.Concurrency)
	for _, name := range names {
		group.Go(func() error {
			mutex.Lock()
			stopped := first != nil
			if !stopped {
				out.tried = append(out.tried, name)
			}
			mutex.Unlock()
			if stopped {
				return nil
			}
			err := c.guarded(ctx, verb, action, name)
			mutex.Lock()
			defer mutex.Unlock()
			if err == nil {
				out.done = append(out.done, name)
			} else if first == nil {
				first = named(err, verb+" "+name)
			}
			return nil
		})
	}
	_ = group.Wait() // the functions above keep their error in first
	slices.Sort(out.done)
	slices.Sort(out.tried)
	if first != nil {
		return out, out.explain(first, names)
	}
	return out, nil
}

// named puts operation and unit in front of an error, unless the backend has done so.
func named(err error, what string) error {
	if strings.HasPrefix(err.Error(), what) {
		return errmask.Mask(err)
	}
	return errmask.Maskf(err, "%s", what)
}

// guarded runs the action, for WaitTimeout at most, unless the context has ended, and turns a panic into an error: a
// worker's panic would end the process, not the task. The stack goes to the log.
func (c *controller) guarded(ctx context.Context, verb string, action unitAction, name string) (err error) {
	if ctx.Err() != nil {
		return endOf(ctx)
	}
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v", r)
			c.config.Logger.Critical(ctx, "%s %s: %v\n%s", verb, name, err, debug.Stack())
		}
	}()
	ctx, cancel := context.WithTimeoutCause(ctx, c.config.WaitTimeout, errWaitTimeoutReached)
	defer cancel()
	return action(ctx, name)
}

// explain adds to an error what the step had done until then.
func (o outcome) explain(err error, names []string) error {
	if len(names) < 2 {
		return err
	}
	var notes []string
	if len(o.done) > 0 {
		notes = append(notes, "done: "+listNames(o.done))
	}
	if untried := without(names, o.tried); len(untried) > 0 {
		notes = append(notes, "not tried: "+listNames(untried))
	}
	if len(notes) == 0 {
		return err
	}
	return &explained{err: err, note: strings.Join(notes, "; ")}
}

// without gives the names that are not among those taken away, in their order.
func without(names, taken []string) []string {
	set := stringSet(taken)
	var rest []string
	for _, name := range names {
		if !set[name] {
			rest = append(rest, name)
		}
	}
	return rest
}

// namesShown is how many names an error message lists before it counts the rest.
const namesShown = 20

func listNames(names []string) string {
	switch {
	case len(names) == 0:
		return "none"
	case len(names) > namesShown:
		return fmt.Sprintf("%s and %d more", strings.Join(names[:namesShown], ", "), len(names)-namesShown)
	default:
		return strings.Join(names, ", ")
	}
}
