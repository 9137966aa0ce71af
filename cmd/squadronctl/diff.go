package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/squadronctl/squadron/prune"
	"github.com/squadronctl/squadron/reconcile"
)

func (a *app) diffCommand() *cobra.Command {
	p := &applying{dryRun: true}
	command := &cobra.Command{
		Use:   "diff DIR",
		Short: "Show how a directory of stacks differs from the cluster",
		Long: `Shows what "squadronctl apply DIR" would do, or be refused, each field with what is there and what is declared. Nothing is shown
where there is nothing to do. The exit code is 0 then, 1 when there are differences or something could not be read, and 2 when a manifest
can't be used. It is 1 as well for what was changed by hand, which apply sets right only with --correct-drift.`,
		Example:           "  squadronctl diff ./stacks\n  squadronctl diff ./stacks --prune -o json",
		Args:              stackDirArgs,
		ValidArgsFunction: completeDirectories,
		RunE: func(command *cobra.Command, args []string) error {
			return p.over(a, command, args[0], p.compare)
		},
	}
	command.Flags().BoolVar(&p.prune, "prune", false, "show also what apply --prune would remove")
	a.addStackFlags(command, &p.stackFlags)
	return command
}

// compare shows what there would be to do.
func (p *applying) compare(ctx context.Context, s *stackSession) error {
	p.session = s
	report, err := reconcile.New(p.config()).Plan(ctx)
	if err != nil {
		return err
	}
	o := outcome{Report: report, dryRun: true}
	if p.prune {
		p.sweep(ctx, &o)
	}
	var text strings.Builder
	for _, stack := range o.Stacks {
		text.WriteString(planned(stack))
	}
	for _, item := range o.swept.Of(prune.WouldRemove) {
		fmt.Fprintf(&text, "%s: %s would be removed: it is not declared\n", item.Stack, strings.TrimSpace(string(item.Kind)+" "+item.Name))
	}
	return o.showDifferences(s.app, p.form, text.String())
}

// planned says what would be done with a stack, and why.
func planned(s reconcile.StackReport) string {
	text := map[reconcile.Reason]string{
		reconcile.ReasonMissing:    "would be deployed: nothing of it is there",
		reconcile.ReasonIncomplete: "would be deployed: not all of it is there",
		reconcile.ReasonManifest:   "would be deployed: its manifest is another",
		reconcile.ReasonUnfinished: "would be deployed: its last deployment did not come to its end",
		reconcile.ReasonUnproven:   "would be deployed: nobody knows whether its last deployment came to its end",
		reconcile.ReasonDrift:      "was changed by hand, which is let be without --correct-drift",
		reconcile.ReasonForeign:    "would be refused: it belongs to somebody else",
	}[s.Reason]
	switch {
	case text == "":
		return ""
	case s.Action == reconcile.ActionRefuse && s.Reason != reconcile.ReasonForeign:
		text = "would be refused" // standard error says why
	}
	return s.Name + ": " + text + "\n" + fieldLines(s, func(c reconcile.Change) (from, to string) { return c.New, c.Old })
}

// fieldLines are a line for each field and service that is not as declared.
func fieldLines(s reconcile.StackReport, order func(reconcile.Change) (from, to string)) string {
	var text strings.Builder
	for _, name := range s.Missing {
		fmt.Fprintf(&text, "  %s: not there\n", name)
	}
	for _, c := range s.Changes {
		from, to := order(c)
		fmt.Fprintf(&text, "  %s %s: %s -> %s\n", c.Service, c.Field, orNothing(from), orNothing(to))
	}
	return text.String()
}

// orNothing shows a value on one line.
func orNothing(value string) string {
	if value == "" {
		return "(nothing)"
	}
	return oneLine(value)
}

// showDifferences writes a text, or the data of the stacks that differ, and makes the exit code.
func (o outcome) showDifferences(a *app, form, text string) error {
	differ := o
	differ.Stacks, differ.swept.Items = nil, o.swept.Of(prune.WouldRemove)
	for _, s := range o.Stacks {
		if s.Sync != reconcile.Synced {
			differ.Stacks = append(differ.Stacks, s)
		}
	}
	var err error
	if form == formTable || form == formWide {
		err = a.write(text)
	} else {
		err = a.print(form, differ.result())
	}
	if err != nil {
		return err
	}
	fmt.Fprint(a.err, o.complaints())
	if err := o.err(); err != nil {
		return err
	}
	if len(differ.Stacks)+len(differ.swept.Items) > 0 {
		return errQuiet
	}
	return nil
}
