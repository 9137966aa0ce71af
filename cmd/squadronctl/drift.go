package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/squadronctl/squadron/cmd/squadronctl/internal/composedir"
	"github.com/squadronctl/squadron/internal/stackmark"
	"github.com/squadronctl/squadron/reconcile"
)

func (a *app) driftCommand() *cobra.Command {
	var f stackFlags
	command := &cobra.Command{
		Use:   "drift [DIR]",
		Short: "Show what somebody has changed by hand of the owner's stacks",
		Long: `Holds what is on the cluster of the owner's stacks against what was deployed last, as --state has it, and shows each field that
is another: what was deployed, and what is there. Manifests that have changed since do not count: see diff. Nothing is shown
where nothing differs. The exit code is 0 then, and 1 when something differs or could not be read.

With --engine swarm DIR is the directory of the compose files. What they read, files and variables, is not kept in --state, so it
has to be there as it was when they were deployed; a stack of which it is not could not be read.`,
		Example:           "  squadronctl drift\n  squadronctl drift --owner ops -o json\n  squadronctl drift --engine swarm ./stacks",
		Args:              driftArgs,
		ValidArgsFunction: completeDirectories,
		RunE: func(command *cobra.Command, args []string) error {
			if err := a.settleStacks(command, &f); err != nil {
				return err
			}
			files, err := a.driftFiles(args, f.engine)
			if err != nil {
				return err
			}
			return a.withStacks(f, files, func(ctx context.Context, s *stackSession) error { return s.drift(ctx, f.form) })
		},
	}
	a.addStackFlags(command, &f)
	return command
}

func driftArgs(_ *cobra.Command, args []string) error {
	if len(args) > 1 {
		return errors.New("one DIR is enough")
	}
	return nil
}

// driftFiles gives the files that compose files name.
func (a *app) driftFiles(args []string, engine string) (*composedir.Source, error) {
	switch {
	case len(args) == 0:
		return nil, nil
	case engine != engineSwarm:
		return nil, usagef("DIR has a meaning with --engine %s only: what was deployed is kept in --state", engineSwarm)
	}
	files := composedir.New(args[0], a.lookup)
	if _, err := files.Read(); err != nil { // faults of today are none of what was deployed
		return nil, usageError{err: err}
	}
	return files, nil
}

func (s *stackSession) drift(ctx context.Context, form string) error {
	deployed, unknown, err := s.deployed(ctx)
	if err != nil {
		return err
	}
	report, err := reconcile.New(reconcile.Config{
		Backend: s.engine, Owner: s.owner, Store: s.store, Source: reconcile.Fixed(deployed...), Logger: s.app.logger(),
	}).Plan(ctx)
	if err != nil {
		return err
	}
	report.Stacks = append(report.Stacks, unknown...)
	slices.SortFunc(report.Stacks, func(a, b reconcile.StackReport) int { return cmp.Compare(a.Name, b.Name) })
	var text strings.Builder
	for i := range report.Stacks {
		report.Stacks[i].Action = reconcile.ActionNone // nothing would be done about it here
		text.WriteString(drifted(report.Stacks[i]))
	}
	return outcome{Report: report}.showDifferences(s.app, form, text.String())
}

// deployed gives the owner's stacks as they were deployed last: to the end, or where none has come to its end, begun. What is
// on the cluster and was never recorded here is unknown.
func (s *stackSession) deployed(ctx context.Context) (deployed []reconcile.Declared, unknown []reconcile.StackReport, err error) {
	recorded, err := s.store.Stacks(ctx, s.owner)
	if err != nil {
		return nil, nil, err
	}
	for _, name := range recorded {
		manifest, err := stackmark.Get(ctx, s.store, s.owner, name)
		if err != nil {
			return nil, nil, err
		}
		if manifest == "" {
			revisions, err := s.store.Revisions(ctx, s.owner, name)
			if err != nil {
				return nil, nil, err
			}
			if len(revisions) == 0 {
				continue // it was forgotten a moment ago
			}
			manifest = revisions[0].Manifest
		}
		deployed = append(deployed, reconcile.Declared{Name: name, Manifest: manifest})
	}
	there, err := s.engine.OwnedStacks(ctx, s.owner)
	if err != nil {
		return nil, nil, err
	}
	for _, name := range there {
		if !slices.Contains(recorded, name) {
			unknown = append(unknown, unrecorded(name))
		}
	}
	return deployed, unknown, nil
}

var errUnrecorded = errors.New("there is no record of what was deployed; is --state right?")

func unrecorded(name string) reconcile.StackReport {
	return reconcile.StackReport{
		Name: name, Sync: reconcile.SyncUnknown, Health: reconcile.HealthUnknown, Reason: reconcile.ReasonUnreadable,
		Err: errUnrecorded, Error: errUnrecorded.Error(),
	}
}

// drifted says how a stack is not as it was deployed.
func drifted(s reconcile.StackReport) string {
	text := map[reconcile.Reason]string{
		reconcile.ReasonMissing:    "nothing of it is there any more",
		reconcile.ReasonIncomplete: "not all of it is there",
		reconcile.ReasonManifest:   "another manifest was deployed meanwhile",
		reconcile.ReasonUnfinished: "its last deployment did not come to its end",
		reconcile.ReasonUnproven:   "nobody knows whether its last deployment came to its end",
		reconcile.ReasonDrift:      "was changed by hand",
		reconcile.ReasonForeign:    "it belongs to somebody else",
	}[s.Reason]
	if text == "" {
		return ""
	}
	return fmt.Sprintf("%s: %s\n", s.Name, text) + fieldLines(s, func(c reconcile.Change) (from, to string) { return c.Old, c.New })
}
