package main

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/squadronctl/squadron/fleet"
)

func (a *app) machinesCommand() *cobra.Command {
	var form string
	command := &cobra.Command{
		Use:               "machines",
		SuggestFor:        []string{"list-machines", "nodes", "hosts"},
		Short:             "List the machines of the cluster",
		Long:              "Lists the machines of the cluster that are alive, with the metadata that MachineMetadata= in a unit file is matched against.",
		Args:              noArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(*cobra.Command, []string) error {
			return a.read(func(ctx context.Context, s *session) error {
				reader, ok := s.fleet.(fleet.MachineReader)
				if !ok {
					return errNotOffered
				}
				machines, err := reader.ReadMachines(ctx)
				if err != nil {
					return err
				}
				return a.print(form, machinesResult(machines))
			})
		},
	}
	addOutput(command, &form, formTable, formWide, formJSON, formYAML, formName)
	return command
}

// machineEntry is one machine in the forms for programs.
type machineEntry struct {
	ID       string            `json:"id"`
	IP       string            `json:"ip"`
	Metadata map[string]string `json:"metadata"`
}

func machinesResult(machines []fleet.Machine) result {
	r := result{header: []string{"MACHINE", "IP", "METADATA"}}
	r.wide = r.header
	data := []machineEntry{}
	for _, machine := range machines {
		var pairs []string
		for _, key := range sortedKeys(machine.Metadata) {
			pairs = append(pairs, key+"="+machine.Metadata[key])
		}
		metadata := strings.Join(pairs, ",")
		r.rows = append(r.rows, []string{shortID(machine.ID), addressOf(machine.IP), metadata})
		r.wideRows = append(r.wideRows, []string{machine.ID, addressOf(machine.IP), metadata})
		r.names = append(r.names, machine.ID)
		entry := machineEntry{ID: machine.ID, IP: addressOf(machine.IP), Metadata: map[string]string{}}
		maps.Copy(entry.Metadata, machine.Metadata)
		data = append(data, entry)
	}
	r.data = data
	return r
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
