package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/squadronctl/squadron/controller"
	"github.com/squadronctl/squadron/task"
)

func (a *app) scaleCommand() *cobra.Command {
	r := &rolling{app: a}
	command := &cobra.Command{
		Use:   "scale GROUP N",
		Short: "Give a group another number of slices",
		Long: `Makes a group have N slices: new ones are made of what is on the cluster, where all slices are alike, or of the unit files where
GROUP is a path; those too many are stopped and removed, first those that don't run. No slice is replaced.`,
		Example:           "  squadronctl scale web 5",
		Args:              groupArgs(2),
		ValidArgsFunction: a.completeOneGroup,
		RunE: func(_ *cobra.Command, args []string) error {
			return a.withSession(func(s *session) error { return r.scale(s, args) })
		},
	}
	r.addFlags(command, "0: as many more as N says")
	command.Flags().BoolVar(&r.dryRun, "dry-run", false, "only show what would be done")
	addOutput(command, &r.form, formTable, formWide, formJSON, formYAML, formName)
	return command
}

func (r *rolling) scale(s *session, args []string) error {
	t, err := parseTarget(args, true)
	switch {
	case err != nil:
		return err
	case t.number == 0:
		return usagef("%q is no number of slices", args[len(args)-1])
	case len(t.ids) > 0:
		return usagef("a group is scaled as a whole: name it without slices")
	}
	req, err := t.withoutFiles(r.app)
	if err != nil {
		return err
	}
	return r.run(s, roll{
		verb: "scale", req: req,
		plan: func(ctx context.Context, req controller.Request, opts controller.UpdateOptions) (*controller.Plan, error) {
			return s.control.(controller.Planner).PlanScale(ctx, req, t.number, opts)
		},
		begin: func(ctx context.Context, req controller.Request, opts controller.UpdateOptions) (*task.Task, error) {
			return s.control.(controller.Scaler).Scale(ctx, req, t.number, opts)
		},
	})
}
