package fleet

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strings"

	"github.com/squadronctl/squadron/internal/errmask"
)

// ReadMachines lists the machines that are alive, sorted by ID.
func (c *Client) ReadMachines(ctx context.Context) ([]Machine, error) {
	machines, err := c.readMachines(ctx)
	return machines, errmask.Maskf(err, "read machines")
}

// MachineIP gives a machine's primary address. A machine that is not listed, or publishes none, gives an error for which
// IsIPNotFound is true.
func (c *Client) MachineIP(ctx context.Context, machineID string) (net.IP, error) {
	machines, err := c.readMachines(ctx)
	if err != nil {
		return nil, errmask.Maskf(err, "find IP of machine %q", machineID)
	}
	if ip := (look{machines: machines}).ip(machineID); ip != nil {
		return ip, nil
	}
	return nil, withClass(errIPNotFound, fmt.Errorf("find IP of machine %q: it is not listed, or publishes none", machineID))
}

func (c *Client) readMachines(ctx context.Context) ([]Machine, error) {
	byID := map[string]Machine{}
	_, err := readPages(ctx, c, "machines", nil, func(page machinePage) string {
		for _, machine := range page.Machines {
			if machine.ID != "" {
				byID[machine.ID] = machine.machine()
			}
		}
		return page.NextPageToken
	})
	if err != nil {
		return nil, err
	}
	machines := make([]Machine, 0, len(byID))
	for _, machine := range byID {
		machines = append(machines, machine)
	}
	slices.SortFunc(machines, func(a, b Machine) int { return strings.Compare(a.ID, b.ID) })
	return machines, nil
}
