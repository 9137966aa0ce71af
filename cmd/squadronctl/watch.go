package main

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/squadronctl/squadron/cmd/squadronctl/internal/progress"
	"github.com/squadronctl/squadron/cmd/squadronctl/internal/table"
	"github.com/squadronctl/squadron/controller"
)

func (a *app) watchCommand() *cobra.Command {
	w := &watch{app: a}
	command := &cobra.Command{
		Use:   "watch GROUP[@SLICE...]",
		Short: "Show the status of a group until interrupted",
		Long: `Shows what "squadronctl status" shows, again and again, until it is interrupted. On a terminal the table is drawn in place;
elsewhere it is written when it is another. Interrupting it is how it ends, so the exit code is 0 then.`,
		Example:           "  squadronctl watch web",
		Args:              groupArgs(1),
		ValidArgsFunction: a.completeGroups,
		RunE: func(_ *cobra.Command, args []string) error {
			req, err := a.groupOnCluster(args)
			if err != nil {
				return err
			}
			return a.withSession(func(s *session) error { return w.run(s, req) })
		},
	}
	addOutput(command, &w.form, formTable, formWide)
	return command
}

// watch is one run of the command.
type watch struct {
	app     *app
	form    string
	display *progress.Display
}

// run shows the group until it is interrupted. A group that is not there at first is an error: it may be a mistyped name.
func (w *watch) run(s *session, req controller.Request) error {
	lines, err := w.look(s, req)
	if err == nil {
		w.display = w.app.display(w.app.out)
		defer w.display.Close()
	}
	for err == nil {
		if err = w.display.Frame(lines); err != nil {
			err = outputError{err: err}
			break
		}
		select {
		case <-w.app.interrupts.context.Done():
			return nil
		case <-time.After(w.app.settings.waitSleep):
		}
		lines, err = w.lookAgain(s, req)
	}
	if w.app.interrupts.first() {
		return nil
	}
	return err
}

func (w *watch) look(s *session, req controller.Request) ([]string, error) {
	ctx, cancel := w.app.context()
	defer cancel()
	r, _, err := s.statusResult(ctx, req)
	if err != nil {
		return nil, err
	}
	if w.form == formWide {
		return table.Lines(r.wide, r.wideRows), nil
	}
	return table.Lines(r.header, r.rows), nil
}

// lookAgain looks once more. What fails then is shown in place of the table: the next look may go well.
func (w *watch) lookAgain(s *session, req controller.Request) ([]string, error) {
	lines, err := w.look(s, req)
	switch {
	case err == nil || errors.Is(err, context.Canceled):
		return lines, err
	case controller.IsUnitNotFound(err):
		return []string{groupName(req.Group, strings.Join(req.SliceIDs, ",")) + " is not there any more"}, nil
	default:
		return []string{"the last look failed: " + oneLine(err.Error())}, nil
	}
}
