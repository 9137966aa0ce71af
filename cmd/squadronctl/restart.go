package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/squadronctl/squadron/controller"
	"github.com/squadronctl/squadron/fleet"
)

func (a *app) restartCommand() *cobra.Command {
	r := &rolling{app: a}
	command := &cobra.Command{
		Use:   "restart GROUP[@SLICE...]",
		Short: "Replace a group's slices by new ones of the same content, a few at a time",
		Long: `Restarts a group, or slices of it, as an update does that changes nothing: each slice is replaced by a new one, made of what is
on the cluster, under the same bounds. Where slices differ, update them first. Where none has to stay alive, what was there is
brought back when it fails, even without --rollback, so that a group that can't start is not lost.
` + boundsHelp,
		Example:           "  squadronctl restart web\n  squadronctl restart web@3f1",
		Args:              groupArgs(1),
		ValidArgsFunction: a.completeGroups,
		RunE: func(_ *cobra.Command, args []string) error {
			return a.withSession(func(s *session) error { return r.restart(s, args) })
		},
	}
	r.addFlags(command, "1, and 0 for a group without slices")
	command.Flags().BoolVar(&r.dryRun, "dry-run", false, "only show the plan")
	addOutput(command, &r.form, formTable, formWide, formJSON, formYAML, formName)
	return command
}

func (r *rolling) restart(s *session, args []string) error {
	t, err := parseTarget(args, false)
	if err != nil {
		return err
	}
	req, err := t.withoutFiles(r.app)
	if err != nil {
		return err
	}
	ctx, cancel := r.app.context()
	defer cancel()
	if req.Units, err = s.unitsOnCluster(ctx, req); err != nil {
		return r.app.orInterrupted(err)
	}
	planner := s.control.(controller.Planner)
	return r.run(s, roll{verb: "restart", req: req, force: true, growth: 1, plan: planner.PlanUpdate, begin: s.control.Update})
}

// unitsOnCluster gives a group's units as they are on the cluster, as templates where it has slices. Slices that are not
// alike are refused: what a new one is to be made of is then not for this command to say.
func (s *session) unitsOnCluster(ctx context.Context, req controller.Request) ([]controller.Unit, error) {
	reader, ok := s.fleet.(fleet.ContentReader)
	if !ok {
		return nil, fmt.Errorf("restart %s: %w: what runs can't be read from here", req.Group, errRefused)
	}
	whole := req
	whole.SliceIDs = nil
	statuses, err := s.control.GetStatus(ctx, whole)
	if err != nil {
		return nil, err
	}
	if err := s.checkOneGroup(ctx, whole, statuses); err != nil {
		return nil, err
	}
	samples, err := s.samples(ctx, req.Group, statuses)
	if err != nil {
		return nil, err
	}
	var units []controller.Unit
	for _, base := range sortedKeys(samples) {
		content, err := reader.ReadContent(ctx, samples[base].Name)
		if err != nil {
			return nil, err
		}
		units = append(units, controller.Unit{Name: base, Content: content})
	}
	return units, nil
}

// checkOneGroup has the controller refuse a name that matches the units of several groups: here units are named later, and
// that would hide it.
func (s *session) checkOneGroup(ctx context.Context, req controller.Request, statuses []fleet.UnitStatus) error {
	ids := slicesOf(statuses)
	if len(req.Units) > 0 || len(ids) == 1 && ids[0] == "" {
		return nil
	}
	sliced := slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return id == "" })
	_, err := s.control.(controller.Planner).PlanScale(ctx, req, len(sliced), controller.UpdateOptions{})
	return err
}

// samples gives a unit of each base.
func (s *session) samples(ctx context.Context, group string, statuses []fleet.UnitStatus) (map[string]fleet.UnitDetail, error) {
	details, err := s.details(ctx, statuses)
	if err != nil {
		return nil, err
	}
	samples := map[string]fleet.UnitDetail{}
	for _, status := range statuses {
		base := baseOf(status)
		detail, known := details[status.Name]
		sample, there := samples[base]
		if there && known && detail.Hash != sample.Hash {
			return nil, hinted{
				err:  fmt.Errorf("restart %s: %w: %s and %s have different contents", group, errRefused, sample.Name, status.Name),
				hint: `make the slices alike with "squadronctl update" first`,
			}
		}
		if known && !there {
			samples[base] = detail
		}
	}
	return samples, nil
}

// baseOf gives a unit's name without its slice's ID.
func baseOf(unit fleet.UnitStatus) string {
	if unit.SliceID == "" {
		return unit.Name
	}
	return strings.Replace(unit.Name, "@"+unit.SliceID+".", "@.", 1)
}
