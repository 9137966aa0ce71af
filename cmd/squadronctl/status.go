package main

import (
	"context"
	"net"
	"strings"

	"github.com/spf13/cobra"

	"github.com/squadronctl/squadron/controller"
	"github.com/squadronctl/squadron/fleet"
)

func (a *app) statusCommand() *cobra.Command {
	var form string
	command := &cobra.Command{
		Use:        "status GROUP[@SLICE...]",
		SuggestFor: []string{"ps", "get", "show", "describe"},
		Short:      "Show the units of a group and their states",
		Long: `Shows the units of a group with fleet's and systemd's states. A slice whose units are all alike is one line, with * for its
units. The exit code is 0 when all units run, 1 when one does not, and 3 when none is there.`,
		Example:           "  squadronctl status web\n  squadronctl status web@3f1 -o wide\n  squadronctl status web -o json",
		Args:              groupArgs(1),
		ValidArgsFunction: a.completeGroups,
		RunE: func(_ *cobra.Command, args []string) error {
			req, err := a.groupOnCluster(args)
			if err != nil {
				return err
			}
			return a.read(func(ctx context.Context, s *session) error { return s.printStatus(ctx, form, req) })
		},
	}
	addOutput(command, &form, formTable, formWide, formJSON, formYAML, formName)
	return command
}

// groupOnCluster reads the arguments of a command that needs no files.
func (a *app) groupOnCluster(args []string) (controller.Request, error) {
	t, err := parseTarget(args, false)
	if err != nil {
		return controller.Request{}, err
	}
	return t.withoutFiles(a)
}

func (s *session) printStatus(ctx context.Context, form string, req controller.Request) error {
	r, running, err := s.statusResult(ctx, req)
	if err != nil {
		return err
	}
	if err := s.app.print(form, r); err != nil {
		return err
	}
	if !running {
		return errQuiet
	}
	return nil
}

// unitStatus is one unit in the forms for programs.
type unitStatus struct {
	Name     string          `json:"name"`
	Group    string          `json:"group"`
	Slice    string          `json:"slice"`
	Status   string          `json:"status"`
	Running  bool            `json:"running"`
	Desired  string          `json:"desired"`
	Current  string          `json:"current"`
	Machines []machineStatus `json:"machines"`
}

type machineStatus struct {
	ID     string `json:"id"`
	IP     string `json:"ip"`
	Active string `json:"active"`
	Sub    string `json:"sub"`
	Hash   string `json:"hash"`
}

// statusResult looks at a group, and says whether all of its units run.
func (s *session) statusResult(ctx context.Context, req controller.Request) (result, bool, error) {
	units, err := s.control.GetStatus(ctx, req)
	if err != nil {
		return result{}, false, err
	}
	details, err := s.details(ctx, units)
	if err != nil {
		return result{}, false, err
	}
	grouped, err := controller.UnitStatusList(units).Group()
	if err != nil {
		return result{}, false, err
	}
	r := result{
		header: []string{"GROUP", "UNIT", "DESIRED", "CURRENT", "ACTIVE", "SUB", "IP", "MACHINE"},
		wide:   []string{"GROUP", "UNIT", "STATUS", "DESIRED", "CURRENT", "ACTIVE", "SUB", "IP", "MACHINE", "HASH"},
	}
	for _, unit := range grouped {
		r.rows = append(r.rows, statusRows(req.Group, unit)...)
	}
	running := true
	data := make([]unitStatus, 0, len(units))
	for _, unit := range units {
		r.wideRows = append(r.wideRows, wideRows(req.Group, unit)...)
		runs := isRunning(unit, details[unit.Name])
		running = running && runs
		data = append(data, unitData(req.Group, unit, runs))
	}
	r.data = data
	for _, id := range slicesOf(units) {
		r.names = append(r.names, groupName(req.Group, id))
	}
	return r, running, nil
}

// machinesOf gives a unit's machines, or one without anything for a unit that has none, so that it has a line.
func machinesOf(unit fleet.UnitStatus) []fleet.MachineStatus {
	if len(unit.Machine) == 0 {
		return []fleet.MachineStatus{{}}
	}
	return unit.Machine
}

func statusRows(group string, unit fleet.UnitStatus) [][]string {
	var rows [][]string
	for _, machine := range machinesOf(unit) {
		rows = append(rows, []string{groupName(group, unit.SliceID), unit.Name, unit.Desired, unit.Current,
			machine.SystemdActive, machine.SystemdSub, addressOf(machine.IP), shortID(machine.ID)})
	}
	return rows
}

func wideRows(group string, unit fleet.UnitStatus) [][]string {
	var rows [][]string
	for _, machine := range machinesOf(unit) {
		rows = append(rows, []string{groupName(group, unit.SliceID), unit.Name, statusOf(unit), unit.Desired, unit.Current,
			machine.SystemdActive, machine.SystemdSub, addressOf(machine.IP), machine.ID, machine.UnitHash})
	}
	return rows
}

func unitData(group string, unit fleet.UnitStatus, running bool) unitStatus {
	data := unitStatus{
		Name: unit.Name, Group: group, Slice: unit.SliceID, Status: statusOf(unit), Running: running,
		Desired: unit.Desired, Current: unit.Current, Machines: []machineStatus{},
	}
	for _, machine := range unit.Machine {
		data.Machines = append(data.Machines, machineStatus{
			ID: machine.ID, IP: addressOf(machine.IP), Active: machine.SystemdActive, Sub: machine.SystemdSub, Hash: machine.UnitHash,
		})
	}
	return data
}

func addressOf(ip net.IP) string {
	if ip == nil {
		return ""
	}
	return ip.String()
}

// shortID cuts a machine's ID as fleetctl does.
func shortID(id string) string {
	const shown = 8
	if len(id) <= shown {
		return id
	}
	return strings.ToValidUTF8(id[:shown], "") + "..."
}
