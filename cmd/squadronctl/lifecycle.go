package main

import (
	"bufio"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/squadronctl/squadron/cmd/squadronctl/internal/progress"
	"github.com/squadronctl/squadron/controller"
	"github.com/squadronctl/squadron/fleet"
	"github.com/squadronctl/squadron/task"
)

// lifecycle is start, stop or destroy: an operation on units that are on the cluster.
type lifecycle struct {
	app     *app
	verb    string   // start
	done    string   // started, as results say it
	reached []string // the statuses that a slice is done with; none for destroy, after which it is gone
	desired []string // fleet's desired states that mean that it has been asked for
	begin   func(controller.Controller, context.Context, controller.Request) (*task.Task, error)

	form    string
	noBlock bool
	dryRun  bool
	yes     bool
}

func (a *app) starting() *lifecycle {
	return &lifecycle{app: a, verb: "start", done: "started", begin: controller.Controller.Start,
		reached: []string{string(controller.StatusRunning)}, desired: []string{"launched"}}
}

func (a *app) startCommand() *cobra.Command {
	return a.starting().command("start GROUP[@SLICE...]", "Start a group, or slices of it", `Starts the units of a group that is on the cluster, and waits until all of them run.`,
		"  squadronctl start web\n  squadronctl start web@3f1 web@2fb\n  squadronctl start 'web@{1..4}'")
}

func (a *app) stopCommand() *cobra.Command {
	l := &lifecycle{app: a, verb: "stop", done: "stopped", begin: controller.Controller.Stop,
		reached: []string{string(controller.StatusStopped), string(controller.StatusFailed)}, desired: []string{"loaded", "inactive"}}
	return l.command("stop GROUP[@SLICE...]", "Stop a group, or slices of it", `Stops the units of a group, and waits until none of them runs. They stay on the cluster.`,
		"  squadronctl stop web\n  squadronctl stop ./web        # only the units of which ./web has files")
}

func (a *app) destroyCommand() *cobra.Command {
	l := &lifecycle{app: a, verb: "destroy", done: "destroyed", begin: controller.Controller.Destroy}
	command := l.command("destroy GROUP[@SLICE...]", "Remove a group, or slices of it, from the cluster",
		`Removes the units of a group from the cluster, which stops those that run, and waits until they are gone. On a terminal it
lists the units and asks first.`,
		"  squadronctl destroy web@3f1\n  squadronctl destroy web --yes")
	command.SuggestFor = []string{"rm", "remove", "delete", "down"}
	command.Flags().BoolVarP(&l.yes, "yes", "y", false, "do not ask")
	return command
}

func (l *lifecycle) command(use, short, long, example string) *cobra.Command {
	command := &cobra.Command{
		Use: use, Short: short, Long: long, Example: example,
		Args:              groupArgs(1),
		ValidArgsFunction: l.app.completeGroups,
		RunE: func(_ *cobra.Command, args []string) error {
			return l.app.withSession(func(s *session) error { return l.run(s, args) })
		},
	}
	command.Flags().BoolVar(&l.noBlock, "no-block", false, "return once the cluster has been asked, and do not wait for it")
	command.Flags().BoolVar(&l.dryRun, "dry-run", false, "only say which slices it is about")
	addOutput(command, &l.form, formTable, formWide, formJSON, formYAML, formName)
	return command
}

func (l *lifecycle) run(s *session, args []string) error {
	t, err := parseTarget(args, false)
	if err != nil {
		return err
	}
	req, err := t.withoutFiles(l.app)
	if err != nil {
		return err
	}
	units, err := l.lookBefore(s, req)
	if err != nil {
		return err
	}
	if !l.dryRun {
		if err := l.confirm(req, units); err != nil {
			return err
		}
		if err := s.carryOut(l.operation(s, req, units)); err != nil {
			return err
		}
	}
	return l.app.printSlices(l.form, l.results(req, units))
}

func (l *lifecycle) lookBefore(s *session, req controller.Request) ([]fleet.UnitStatus, error) {
	ctx, cancel := l.app.context()
	defer cancel()
	units, err := s.control.GetStatus(ctx, req)
	if err != nil && l.app.interrupts.first() {
		return nil, fmt.Errorf("%s %s: %w before anything was changed", l.verb, req.Group, errInterrupted)
	}
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", l.verb, req.Group, err)
	}
	return units, nil
}

func (l *lifecycle) results(req controller.Request, units []fleet.UnitStatus) []sliceResult {
	return resultsOf(req.Group, slicesOf(units), l.done, l.dryRun)
}

func (l *lifecycle) operation(s *session, req controller.Request, units []fleet.UnitStatus) operation {
	seen := &phases{group: req.Group}
	ids := slicesOf(units)
	return operation{
		what: l.verb + " " + req.Group,
		create: func(ctx context.Context, _ *progress.Display) (*task.Task, error) {
			return l.begin(s.control, ctx, req)
		},
		status: func(ctx context.Context) ([]fleet.UnitStatus, error) {
			all := req
			all.SliceIDs = nil // those that are gone would be an error
			units, err := s.control.GetStatus(ctx, all)
			return orNone(units, err)
		},
		look: func(display *progress.Display, units []fleet.UnitStatus) bool {
			return l.look(display, seen, ids, units)
		},
		done: func(display *progress.Display) {
			for _, id := range ids {
				seen.note(display, id, l.done, true)
			}
		},
		noBlock: l.noBlock,
		left:    seen.String,
	}
}

// look tells of each slice, and says whether all of them have been asked for what is wanted.
func (l *lifecycle) look(display *progress.Display, seen *phases, ids []string, units []fleet.UnitStatus) bool {
	statuses := sliceStatuses(units)
	for _, id := range ids {
		status, there := statuses[id]
		switch {
		case !there:
			seen.note(display, id, "gone", l.reached == nil)
		case l.reached == nil:
			seen.note(display, id, "still there", false)
		default:
			seen.note(display, id, status, slices.Contains(l.reached, status))
		}
	}
	return !slices.ContainsFunc(units, func(unit fleet.UnitStatus) bool {
		return slices.Contains(ids, unit.SliceID) && !slices.Contains(l.desired, unit.Desired)
	})
}

// confirm asks on a terminal before units are removed.
func (l *lifecycle) confirm(req controller.Request, units []fleet.UnitStatus) error {
	if l.reached != nil || l.yes || !isTerminal(l.app.in) {
		return nil
	}
	if !isTerminal(l.app.err.out) {
		return usagef("destroy %s: nobody can be asked, since standard error is no terminal: give --yes", req.Group)
	}
	var text strings.Builder
	for _, unit := range units {
		fmt.Fprintf(&text, "  %s (%s)\n", unit.Name, statusOf(unit))
	}
	fmt.Fprintf(l.app.err, "%sDestroy these %d units of %s? [y/N] ", text.String(), len(units), req.Group)
	answers := make(chan string, 1)
	go func() { // it ends with the answer, or with the process
		answer, _ := bufio.NewReader(l.app.in).ReadString('\n')
		answers <- strings.ToLower(strings.TrimSpace(answer))
	}()
	select {
	case <-l.app.interrupts.context.Done():
		return fmt.Errorf("destroy %s: %w before anything was changed", req.Group, errInterrupted)
	case answer := <-answers:
		if answer == "y" || answer == "yes" {
			return nil
		}
		return fmt.Errorf("destroy %s: %w", req.Group, errDeclined)
	}
}
