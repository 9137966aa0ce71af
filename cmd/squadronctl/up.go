package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/squadronctl/squadron/controller"
)

func (a *app) upCommand() *cobra.Command {
	sub := &submission{app: a}
	command := &cobra.Command{
		Use:   "up GROUP[@SLICE...] [N]",
		Short: "Submit a group and start it",
		Long: `Sees to it that N slices of a group, or the slices named, are on the cluster and run: those that are missing are submitted,
and all of them are started. Without N those that are there are started, or 1 is made where there is none. Repeating it
changes nothing. Slices of other unit files are not replaced ("squadronctl update" does that), and none is taken away
("squadronctl scale" does).`,
		Example:           "  squadronctl up ./web 3\n  squadronctl up .",
		Args:              groupArgs(1),
		ValidArgsFunction: completeDirectories,
		RunE: func(_ *cobra.Command, args []string) error {
			return a.withSession(func(s *session) error { return sub.up(s, args) })
		},
	}
	sub.addFlags(command)
	return command
}

func (sub *submission) up(s *session, args []string) error {
	req, err := sub.request(args)
	if err != nil {
		return err
	}
	missing, start, err := sub.whatIsMissing(s, req)
	if err != nil {
		return err
	}
	if sub.dryRun {
		return sub.printPlanned(slices.Concat(start.SliceIDs, missing.SliceIDs), missing, "started")
	}
	if missing.DesiredSlices > 0 || len(missing.SliceIDs) > 0 {
		made, err := sub.submit(s, missing)
		if err != nil {
			return err
		}
		start.SliceIDs = append(start.SliceIDs, made...)
	}
	start.SliceIDs = slices.DeleteFunc(start.SliceIDs, func(id string) bool { return id == "" })
	l := sub.app.starting()
	l.noBlock = sub.noBlock
	units, err := l.lookBefore(s, start)
	if err != nil {
		return err
	}
	if err := s.carryOut(l.operation(s, start, units)); err != nil {
		return err
	}
	return sub.app.printSlices(sub.form, l.results(start, units))
}

// whatIsMissing compares a request with the cluster. It gives the request for what has to be submitted, which asks for
// nothing where all is there, and the one for what has to be started then, to whose slices those made have to be added.
func (sub *submission) whatIsMissing(s *session, req controller.Request) (missing, start controller.Request, err error) {
	ctx, cancel := sub.app.context()
	defer cancel()
	missing, start = req, req
	start.DesiredSlices = 0
	missing.DesiredSlices = 0
	whole := req
	whole.SliceIDs, whole.DesiredSlices = nil, 0
	units, err := s.control.GetStatus(ctx, whole)
	units, err = orNone(units, err)
	if err != nil {
		return missing, start, sub.app.orInterrupted(err)
	}
	found := slicesOf(units)
	if err := sub.refuseOthers(ctx, s, whole, found); err != nil {
		return missing, start, err
	}
	switch {
	case len(req.SliceIDs) > 0:
		missing.SliceIDs = without(req.SliceIDs, found)
		start.SliceIDs = without(req.SliceIDs, missing.SliceIDs)
	case req.DesiredSlices > 0 && len(found) > req.DesiredSlices:
		return missing, start, hinted{
			err:  fmt.Errorf("up %s: %w: it has %d slices, more than %d", req.Group, errRefused, len(found), req.DesiredSlices),
			hint: `take some away with "squadronctl scale"`,
		}
	default:
		missing.DesiredSlices = max(1, req.DesiredSlices) - len(found)
		if req.DesiredSlices == 0 && len(found) > 0 {
			missing.DesiredSlices = 0
		}
		start.SliceIDs = found
	}
	return missing, start, nil
}

// refuseOthers refuses to bring up a group that is there with other unit files: what would run then is not what the
// directory says.
func (sub *submission) refuseOthers(ctx context.Context, s *session, whole controller.Request, found []string) error {
	if len(found) == 0 {
		return nil
	}
	differing, differ, err := s.control.GroupNeedsUpdate(ctx, whole)
	if err != nil {
		return sub.app.orInterrupted(err)
	}
	if !differ {
		return nil
	}
	which := ""
	if len(differing.SliceIDs) > 0 {
		which = " (slices: " + strings.Join(differing.SliceIDs, ", ") + ")"
	}
	return hinted{
		err:  fmt.Errorf("up %s: %w: it is on the cluster with other unit files%s", whole.Group, errRefused, which),
		hint: `replace them with "squadronctl update"`,
	}
}

// without gives those of a list that are not in another.
func without(list, others []string) []string {
	var rest []string
	for _, item := range list {
		if !slices.Contains(others, item) {
			rest = append(rest, item)
		}
	}
	return rest
}
