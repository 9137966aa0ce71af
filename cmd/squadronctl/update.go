package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/squadronctl/squadron/controller"
	"github.com/squadronctl/squadron/fleet"
)

const boundsHelp = `
The bounds hold at every moment. They are numbers, or percentages of the number of slices wanted, or found where none is
wanted; a part of a slice counts as a whole one. Without any, one slice more than wanted is allowed, and no slice that runs
goes before its successor is ready; where there is no room for one more, --max-growth 0 replaces them one by one in place. A
group without slices is always replaced in place.`

func (a *app) updateCommand() *cobra.Command {
	r := &rolling{app: a}
	command := &cobra.Command{
		Use:        "update GROUP[@SLICE...] [N]",
		SuggestFor: []string{"deploy", "rollout"},
		Short:      "Replace a group's slices by new ones of its unit files, a few at a time",
		Long: `Replaces the slices of a group whose content differs from the unit files, or those of them that are named, by new slices, and
makes it N slices where N is given. Slices that are up to date stay. A new slice that fails ends the update, and with
--rollback brings back what was there. An update that was interrupted or has failed is taken up again by the same command; one that was
killed needs N to be, since what it had added counts as found. Where N is not given and some slices are up to date already,
standard error says so.
` + boundsHelp,
		Example:           "  squadronctl update ./web\n  squadronctl update ./web --max-growth 25% --min-alive 100% --ready-secs 30 --rollback\n  squadronctl update ./web@3f1          # a canary",
		Args:              groupArgs(1),
		ValidArgsFunction: completeDirectories,
		RunE: func(_ *cobra.Command, args []string) error {
			return a.withSession(func(s *session) error { return r.update(s, args) })
		},
	}
	r.addFlags(command, "1, and 0 for a group without slices")
	command.Flags().BoolVar(&r.dryRun, "dry-run", false, `only show the plan, as "squadronctl plan" does`)
	addOutput(command, &r.form, formTable, formWide, formJSON, formYAML, formName)
	return command
}

func (a *app) planCommand() *cobra.Command {
	r := &rolling{app: a, dryRun: true}
	command := &cobra.Command{
		Use:   "plan GROUP[@SLICE...] [N]",
		Short: "Show what an update would do",
		Long: `Shows which slices "squadronctl update" with the same arguments and flags would replace, in which order, what would change in
their unit files, and how few would run at any moment. Nothing is changed.
` + boundsHelp,
		Example:           "  squadronctl plan ./web\n  squadronctl plan ./web -o json",
		Args:              groupArgs(1),
		ValidArgsFunction: completeDirectories,
		RunE: func(_ *cobra.Command, args []string) error {
			return a.withSession(func(s *session) error { return r.update(s, args) })
		},
	}
	r.addFlags(command, "1, and 0 for a group without slices")
	addOutput(command, &r.form, formTable, formWide, formJSON, formYAML, formName)
	return command
}

func (r *rolling) update(s *session, args []string) error {
	t, err := parseTarget(args, true)
	if err != nil {
		return err
	}
	req, err := t.withFiles(r.app)
	if err != nil {
		return err
	}
	req.DesiredSlices = t.number
	if err := s.refuseDeclared(req.Group); err != nil {
		return err
	}
	planner := s.control.(controller.Planner)
	return r.run(s, roll{
		verb: "update", req: req, asFound: t.number == 0 && len(req.SliceIDs) == 0, growth: 1,
		plan: planner.PlanUpdate, begin: s.control.Update,
	})
}

// refuseDeclared refuses to replace the units of a declared stack by others: those would not carry its stamp, and apply
// could never again tell that they are its own.
func (s *session) refuseDeclared(group string) error {
	reader, ok := s.fleet.(fleet.UnitReader)
	if !ok {
		return nil
	}
	ctx, cancel := s.app.context()
	defer cancel()
	listing, err := reader.ReadUnits(ctx, fleet.Selector{Groups: []string{group}})
	if err != nil {
		return s.app.orInterrupted(err)
	}
	for _, unit := range listing.Units {
		if unit.Stamped && unit.Group == group && unit.Owner != "" {
			return hinted{fmt.Errorf("update %s: %w: it is a stack that %s declares", group, errRefused, unit.Owner),
				`change its manifest, and call "squadronctl apply"`}
		}
	}
	return nil
}
