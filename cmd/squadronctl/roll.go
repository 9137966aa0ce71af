package main

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/spf13/cobra"

	"github.com/squadronctl/squadron/cmd/squadronctl/internal/progress"
	"github.com/squadronctl/squadron/controller"
	"github.com/squadronctl/squadron/task"
)

// rolling is what update, restart, scale and plan have in common: bounds, and a plan before they act.
type rolling struct {
	app       *app
	maxGrowth bound
	minAlive  bound
	readySecs int
	rollback  bool
	dryRun    bool
	form      string
}

func (r *rolling) addFlags(command *cobra.Command, growth string) {
	flags := command.Flags()
	flags.Var(&r.maxGrowth, "max-growth", "how many slices more than wanted there may be at any moment (default "+growth+")")
	flags.Var(&r.minAlive, "min-alive", "how many slices run at any moment at least (default as many as run now, and one fewer where none may be added; 0 for a group without slices)")
	flags.Var((*wholeSeconds)(&r.readySecs), "ready-secs", "for how many seconds a new slice has to run until it counts")
	flags.BoolVar(&r.rollback, "rollback", false, "bring back what was there when it fails")
}

// roll is one run of the engine: an update, a restart, or a change of the number of slices.
type roll struct {
	verb  string
	req   controller.Request
	force bool
	// asFound says that there are to be as many slices as are found.
	asFound bool
	// growth is what --max-growth is where it isn't given, for a group with slices.
	growth int
	plan   func(context.Context, controller.Request, controller.UpdateOptions) (*controller.Plan, error)
	begin  func(context.Context, controller.Request, controller.UpdateOptions) (*task.Task, error)
}

// prepare settles the bounds, by a look at the cluster, and gives the plan under them.
func (r *rolling) prepare(what roll) (controller.UpdateOptions, *controller.Plan, error) {
	ctx, cancel := r.app.context()
	defer cancel()
	opts := controller.UpdateOptions{ReadySecs: r.readySecs, Rollback: r.rollback, Force: what.force}
	sliced := isSliced(what.req) || len(what.req.Units) == 0
	if sliced {
		opts.MaxGrowth = 1
	}
	plan, err := what.plan(ctx, what.req, opts)
	if controller.IsUnitNotFound(err) && !r.app.interrupts.first() {
		err = hinted{err: err, hint: `what is not there is brought up with "squadronctl up"`}
	}
	if err != nil {
		return opts, nil, r.app.orInterrupted(err)
	}
	opts.MaxGrowth, opts.MinAlive = r.bounds(what, plan, sliced)
	if what.force && opts.MinAlive == 0 {
		opts.Rollback = true // it may take the last slice, and the cluster may have the only copy of what that was made of
	}
	plan, err = what.plan(ctx, what.req, opts)
	return opts, plan, r.app.orInterrupted(err)
}

// bounds gives the bounds in slices. By default an update keeps all that run running. Where it may not add any, it can
// only go one fewer at a time. A group without slices is replaced in place, and knows no bounds.
func (r *rolling) bounds(what roll, plan *controller.Plan, sliced bool) (maxGrowth, minAlive int) {
	if sliced {
		maxGrowth = what.growth
		minAlive = aliveAtMost(what.req, plan)
	}
	if r.maxGrowth.given {
		maxGrowth = r.maxGrowth.of(plan.Wanted)
	}
	if sliced && maxGrowth == 0 && what.growth > 0 {
		minAlive = max(0, minAlive-1)
	}
	if r.minAlive.given {
		minAlive = r.minAlive.of(plan.Wanted)
	}
	return maxGrowth, minAlive
}

// aliveAtMost is the highest MinAlive that is allowed: how many run now, but no more than can run in the end.
func aliveAtMost(req controller.Request, plan *controller.Plan) int {
	running, stuck := 0, 0
	for _, slice := range plan.Slices {
		switch {
		case slice.Running:
			running++
		case len(req.SliceIDs) > 0 && !slices.Contains(req.SliceIDs, slice.ID):
			stuck++ // it won't run, and may not be replaced
		}
	}
	return max(0, min(running, plan.Wanted-stuck))
}

// run carries a roll out, or with --dry-run shows its plan.
func (r *rolling) run(s *session, what roll) error {
	opts, plan, err := r.prepare(what)
	if err != nil {
		return err
	}
	if what.asFound {
		fmt.Fprint(r.app.err, doubtOfNumber(plan))
	}
	if r.dryRun {
		return r.app.printPlan(r.form, plan)
	}
	events := &eventLog{group: what.req.Group}
	err = s.carryOut(operation{
		what: what.verb + " " + what.req.Group,
		create: func(ctx context.Context, display *progress.Display) (*task.Task, error) {
			opts.Progress = func(event controller.UpdateEvent) {
				events.note(event)
				if event.Unit == "" || event.Err != nil || r.app.settings.verbose > 0 {
					display.Event(event)
				}
			}
			return what.begin(ctx, what.req, opts)
		},
		left: events.String,
		again: fmt.Sprintf(`what was added counts as found by now, so to go on say that %d slices are wanted, or bring it to as many with "squadronctl scale"`,
			plan.Wanted),
	})
	if controller.IsUnitsAlreadyUpToDate(err) {
		fmt.Fprintf(r.app.err, "%s is up to date\n", what.req.Group)
		return r.app.printSlices(r.form, resultsOf(what.req.Group, idsOf(plan), "unchanged", false))
	}
	if err != nil {
		return err
	}
	return r.app.printSlices(r.form, events.results())
}

// doubtOfNumber says that the slices found may not be as many as were wanted: where some of them are of the new unit files
// already, an update may have been killed that had added one.
func doubtOfNumber(plan *controller.Plan) string {
	replaced := 0
	for _, slice := range plan.Slices {
		if slice.Action == controller.PlanReplace {
			replaced++
		}
	}
	upToDate := len(plan.Slices) - replaced
	if replaced == 0 || upToDate == 0 {
		return ""
	}
	return fmt.Sprintf("%s: %d slices found, %d of them up to date, and as many are kept; if an update was killed that had added some, say how many there are to be\n",
		plan.Group, plan.Found, upToDate)
}

func idsOf(plan *controller.Plan) []string {
	var ids []string
	for _, slice := range plan.Slices {
		ids = append(ids, slice.ID)
	}
	return ids
}

// eventLog keeps what an update has told of its slices.
type eventLog struct {
	group  string
	mutex  sync.Mutex
	order  []string
	slices map[string]*sliceLog
}

// sliceLog is what became of one slice.
type sliceLog struct {
	found, made, launched bool
	last                  controller.UpdatePhase
}

func (l *eventLog) note(event controller.UpdateEvent) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	switch event.Phase {
	case controller.PhasePaused, controller.PhaseResumed, controller.PhaseRollingBack:
		return // of no slice
	}
	if event.Unit != "" {
		return
	}
	slice := l.slices[event.Slice]
	if slice == nil {
		if l.slices == nil {
			l.slices = map[string]*sliceLog{}
		}
		slice = &sliceLog{}
		l.slices[event.Slice] = slice
		l.order = append(l.order, event.Slice)
	}
	switch event.Phase {
	case controller.PhasePlanned, controller.PhaseKept:
		slice.found = true
	case controller.PhaseSubmitting:
		slice.made = true
	case controller.PhaseStarting:
		slice.launched = true
	}
	slice.last = event.Phase
}

// results gives what became of the slices. One that was made and taken away again is left out.
func (l *eventLog) results() []sliceResult {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	results := []sliceResult{}
	for _, id := range l.order {
		slice := l.slices[id]
		gone := slice.last == controller.PhaseDestroyed
		what := "unchanged"
		switch {
		case slice.found && slice.made && !gone:
			what = "replaced"
		case slice.found && gone:
			what = "removed"
		case gone:
			continue
		case slice.made:
			what = "created"
		case slice.launched:
			what = "started"
		}
		results = append(results, resultsOf(l.group, []string{id}, what, false)...)
	}
	return results
}

// String says where each slice was last seen.
func (l *eventLog) String() string {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	seen := &phases{group: l.group}
	for id, slice := range l.slices {
		origin := "old, "
		if slice.made {
			origin = "new, "
		}
		seen.note(nil, id, origin+string(slice.last), false)
	}
	return seen.String()
}
