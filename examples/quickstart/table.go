package main

import (
	"context"
	"fmt"
	"text/tabwriter"

	"github.com/squadronctl/squadron/controller"
	"github.com/squadronctl/squadron/fleet"
)

// table prints the status of the group's units.
func (s *story) table(ctx context.Context) error {
	units, err := s.controller.GetStatus(ctx, s.req)
	if err != nil {
		return err
	}
	w := tabwriter.NewWriter(s.out, 0, 0, 3, ' ', 0)
	fmt.Fprintln(w, "   UNIT\tSLICE\tMACHINE\tFLEET\tSYSTEMD\tSTATUS\tCONTENT")
	for _, unit := range units {
		for _, machine := range unit.Machine {
			fmt.Fprintf(w, "   %s\t%s\t%s\t%s\t%s/%s\t%s\t%.7s\n", unit.Name, unit.SliceID, machine.IP, unit.Current,
				machine.SystemdActive, machine.SystemdSub, statusOn(unit, machine), machine.UnitHash)
		}
	}
	return w.Flush()
}

// statusOn is what a unit's states on one machine add up to.
func statusOn(unit fleet.UnitStatus, machine fleet.MachineStatus) controller.Status {
	var aggregator controller.Aggregator
	status, err := aggregator.AggregateStatus(unit.Current, unit.Desired, machine.SystemdActive, machine.SystemdSub)
	if err != nil {
		return "?" // the states are in the table for the reader to see
	}
	return status
}
