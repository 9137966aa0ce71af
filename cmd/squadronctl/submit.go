package main

import (
	"context"
	"slices"

	"github.com/spf13/cobra"

	"github.com/squadronctl/squadron/cmd/squadronctl/internal/progress"
	"github.com/squadronctl/squadron/controller"
	"github.com/squadronctl/squadron/fleet"
	"github.com/squadronctl/squadron/task"
)

// submission is the submit command, and the first half of up.
type submission struct {
	app     *app
	form    string
	noBlock bool
	dryRun  bool
}

func (a *app) submitCommand() *cobra.Command {
	sub := &submission{app: a}
	command := &cobra.Command{
		Use:        "submit GROUP[@SLICE...] [N]",
		SuggestFor: []string{"load", "create"},
		Short:      "Put a group's units on the cluster, without starting them",
		Long: `Puts N new slices of a group on the cluster, 1 by default, with IDs that are free, or the slices named. Nothing is started.
What is there already with another content is not replaced: "squadronctl update" does that.`,
		Example:           "  squadronctl submit ./web 3\n  squadronctl submit ./web@blue ./web@green",
		Args:              groupArgs(1),
		ValidArgsFunction: completeDirectories,
		RunE: func(_ *cobra.Command, args []string) error {
			return a.withSession(func(s *session) error { return sub.run(s, args) })
		},
	}
	sub.addFlags(command)
	return command
}

func (sub *submission) addFlags(command *cobra.Command) {
	command.Flags().BoolVar(&sub.noBlock, "no-block", false, "return once the cluster has been asked, and do not wait for it")
	command.Flags().BoolVar(&sub.dryRun, "dry-run", false, "check the unit files, and only say what would be done")
	addOutput(command, &sub.form, formTable, formWide, formJSON, formYAML, formName)
}

func (sub *submission) run(s *session, args []string) error {
	req, err := sub.request(args)
	if err != nil {
		return err
	}
	if len(req.SliceIDs) == 0 && req.DesiredSlices == 0 {
		req.DesiredSlices = 1
	}
	if sub.dryRun {
		return sub.printPlanned(req.SliceIDs, req, "submitted")
	}
	ids, err := sub.submit(s, req)
	if err != nil {
		return err
	}
	return sub.app.printSlices(sub.form, resultsOf(req.Group, ids, "submitted", false))
}

// request reads the arguments: a directory, with slices or a number of them. Its unit files can be submitted.
func (sub *submission) request(args []string) (controller.Request, error) {
	t, err := parseTarget(args, true)
	if err != nil {
		return controller.Request{}, err
	}
	if len(t.ids) > 0 && t.number > 0 {
		return controller.Request{}, usagef("either slices are named, or a number of them is given")
	}
	req, err := t.withFiles(sub.app)
	if err != nil {
		return req, err
	}
	if !isSliced(req) && (len(t.ids) > 0 || t.number > 1) {
		return req, usagef("group %s has no slices, since its unit files have no @, and so exists once", req.Group)
	}
	req.DesiredSlices = t.number
	return req, checkFiles(req)
}

// printPlanned says what would be done with the slices that are known, and with those that a request would make, whose IDs
// are not.
func (sub *submission) printPlanned(known []string, req controller.Request, what string) error {
	ids := slices.Clone(known)
	for range req.DesiredSlices {
		id := ""
		if isSliced(req) {
			id = "?"
		}
		ids = append(ids, id)
	}
	return sub.app.printSlices(sub.form, resultsOf(req.Group, ids, what, true))
}

// submit puts a request's units on the cluster, and gives the IDs of the slices made, "" for an instance group.
func (sub *submission) submit(s *session, req controller.Request) ([]string, error) {
	whole := req
	whole.SliceIDs = nil
	status := func(ctx context.Context) ([]fleet.UnitStatus, error) {
		units, err := s.control.GetStatus(ctx, whole)
		return orNone(units, err)
	}
	made := &newSlices{wanted: req.SliceIDs, before: map[string]bool{}}
	if isSliced(req) && len(req.SliceIDs) == 0 {
		ctx, cancel := sub.app.context()
		before, err := status(ctx)
		cancel()
		if err != nil {
			return nil, sub.app.orInterrupted(err)
		}
		for _, id := range slicesOf(before) {
			made.before[id] = true
		}
	}
	expected := max(1, len(req.SliceIDs), req.DesiredSlices) * len(req.Units)
	seen := &phases{group: req.Group}
	err := s.carryOut(operation{
		what: "submit " + req.Group,
		create: func(ctx context.Context, _ *progress.Display) (*task.Task, error) {
			return s.control.Submit(ctx, req)
		},
		status: status,
		look: func(display *progress.Display, units []fleet.UnitStatus) bool {
			units = made.of(units)
			for id, status := range sliceStatuses(units) {
				seen.note(display, id, submitPhase(status), status == string(controller.StatusStopped))
			}
			loaded := func(unit fleet.UnitStatus) bool { return unit.Desired == "loaded" }
			return len(units) >= expected && !slices.ContainsFunc(units, func(unit fleet.UnitStatus) bool { return !loaded(unit) })
		},
		noBlock: sub.noBlock,
		left:    seen.String,
	})
	if err != nil {
		return nil, err
	}
	ctx, cancel := sub.app.context()
	defer cancel()
	after, err := status(ctx)
	return slicesOf(made.of(after)), sub.app.orInterrupted(err)
}

// submitPhase is how a slice's status is called while it is submitted: stopped is where it gets to.
func submitPhase(status string) string {
	if status == string(controller.StatusStopped) {
		return "submitted"
	}
	return status
}

// newSlices tells the slices that a Submit makes from those that were there: its IDs are not known beforehand.
type newSlices struct {
	wanted []string
	before map[string]bool
}

func (n *newSlices) of(units []fleet.UnitStatus) []fleet.UnitStatus {
	var made []fleet.UnitStatus
	for _, unit := range units {
		if len(n.wanted) > 0 && slices.Contains(n.wanted, unit.SliceID) || len(n.wanted) == 0 && !n.before[unit.SliceID] {
			made = append(made, unit)
		}
	}
	return made
}

// resultsOf makes the results of slices with which the same was done, or in a dry run would be.
func resultsOf(group string, ids []string, what string, dryRun bool) []sliceResult {
	results := []sliceResult{}
	for _, id := range ids {
		results = append(results, sliceResult{Name: groupName(group, id), Group: group, Slice: id, Result: what, DryRun: dryRun})
	}
	return results
}
