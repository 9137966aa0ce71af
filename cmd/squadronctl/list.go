package main

import (
	"context"
	"errors"
	"slices"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/squadronctl/squadron/fleet"
)

// errNotOffered is what a backend can't do.
var errNotOffered = errors.New("this kind of endpoint does not tell")

// The kinds of what is listed.
const (
	kindGroup     = "group"
	kindUnstamped = "unstamped unit"
)

func (a *app) listCommand() *cobra.Command {
	var form string
	command := &cobra.Command{
		Use:        "list",
		Aliases:    []string{"ls"},
		SuggestFor: []string{"list-units", "units", "groups"},
		Short:      "List what is on the cluster",
		Long: `Lists what is on the cluster, with counts. Units that carry the stamp of a group ([X-Squadron] Group=, see --stamp) are listed as
that group. Of others it is not known which belong together: they are listed by their name without slice, as "unstamped
unit".`,
		Args:              noArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(*cobra.Command, []string) error {
			return a.read(func(ctx context.Context, s *session) error {
				units, err := s.allUnits(ctx)
				if err != nil {
					return err
				}
				return a.print(form, listResult(units))
			})
		},
	}
	addOutput(command, &form, formTable, formWide, formJSON, formYAML, formName)
	return command
}

// looksForAll is how many listings are made at most until two name the same units.
const looksForAll = 5

// allUnits lists all units of the cluster. Pages of a listing shift when units come and go, so two listings in a row have to
// name the same ones, where one is not whole.
func (s *session) allUnits(ctx context.Context) ([]fleet.UnitDetail, error) {
	reader, ok := s.fleet.(fleet.UnitReader)
	if !ok {
		return nil, errNotOffered
	}
	var units, before []fleet.UnitDetail
	for look := range looksForAll {
		listing, err := reader.ReadUnits(ctx, fleet.Selector{})
		if err != nil {
			return nil, err
		}
		before, units = units, listing.Units
		sameName := func(a, b fleet.UnitDetail) bool { return a.Name == b.Name }
		if listing.Whole || look > 0 && slices.EqualFunc(before, units, sameName) {
			break
		}
	}
	return units, nil
}

// listEntry is a group, or units of one base.
type listEntry struct {
	Name     string `json:"name"`
	Kind     string `json:"kind"`
	Slices   int    `json:"slices"`
	Units    int    `json:"units"`
	Running  int    `json:"running"`
	Machines int    `json:"machines"`
}

// listing gathers the units of an entry.
type listing struct {
	entry    listEntry
	slices   map[string]bool
	machines map[string]bool
}

// listResult counts units by group, and those without a stamp by their base.
func listResult(units []fleet.UnitDetail) result {
	listings := map[string]*listing{}
	for _, unit := range units {
		kind, name := kindUnstamped, baseOf(unit.UnitStatus)
		if unit.Stamped {
			kind, name = kindGroup, unit.Group
		}
		key := kind + "\x00" + name
		if listings[key] == nil {
			listings[key] = &listing{entry: listEntry{Name: name, Kind: kind}, slices: map[string]bool{}, machines: map[string]bool{}}
		}
		listings[key].add(unit)
	}
	r := result{header: []string{"NAME", "KIND", "SLICES", "UNITS", "RUNNING", "MACHINES"}}
	data := []listEntry{}
	for _, key := range sortedKeys(listings) {
		entry := listings[key].entry
		entry.Slices, entry.Machines = len(listings[key].slices), len(listings[key].machines)
		data = append(data, entry)
		r.names = append(r.names, entry.Name)
		r.rows = append(r.rows, []string{entry.Name, entry.Kind, count(entry.Slices), strconv.Itoa(entry.Units),
			strconv.Itoa(entry.Running), strconv.Itoa(entry.Machines)})
	}
	r.data = data
	return r
}

func (l *listing) add(unit fleet.UnitDetail) {
	l.entry.Units++
	if isRunning(unit.UnitStatus, unit) {
		l.entry.Running++
	}
	if unit.SliceID != "" {
		l.slices[unit.SliceID] = true
	}
	for _, machine := range unit.Machine {
		l.machines[machine.ID] = true
	}
}

// count shows a number of slices; what has none has no number.
func count(slices int) string {
	if slices == 0 {
		return ""
	}
	return strconv.Itoa(slices)
}
