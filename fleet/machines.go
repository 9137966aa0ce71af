package fleet

import (
	"context"
	"fmt"
	"maps"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/squadronctl/squadron/internal/errmask"
)

// machinesFor is how long a list of machines serves the looks that need no current one.
const machinesFor = time.Minute

// machineList is the list of machines as it was read last.
type machineList struct {
	mutex    sync.Mutex
	machines []Machine // never changed, only replaced
	asked    time.Time // when it was asked for; zero for never
}

// latest gives the list, and whether it is young enough.
func (m *machineList) latest() ([]Machine, bool) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	return m.machines, !m.asked.IsZero() && time.Since(m.asked) < machinesFor
}

func (m *machineList) set(machines []Machine, asked time.Time) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	if !asked.Before(m.asked) {
		m.machines, m.asked = machines, asked
	}
}

// ReadMachines lists the machines that are alive, sorted by ID. It always asks.
func (c *Client) ReadMachines(ctx context.Context) ([]Machine, error) {
	machines, err := c.readMachines(ctx)
	if err != nil {
		return nil, errmask.Maskf(err, "read machines")
	}
	return cloneMachines(machines), nil
}

// MachineIP gives a machine's primary address. A machine that is not listed, or publishes none, gives an error for which
// IsIPNotFound is true. It always asks.
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

// readMachines asks for the list, sorted by ID, and keeps it. What it gives must not be changed.
func (c *Client) readMachines(ctx context.Context) ([]Machine, error) {
	asked := time.Now()
	var mutex sync.Mutex
	byID := map[string]Machine{}
	_, err := c.readPages(ctx, pageList{
		resource: "machines",
		take: func(_ int, body []byte) (string, error) {
			var page machinePage
			if err := decode(body, &page); err != nil {
				return "", err
			}
			mutex.Lock()
			defer mutex.Unlock()
			for _, machine := range page.Machines {
				if machine.ID != "" {
					byID[machine.ID] = machine.machine()
				}
			}
			return page.NextPageToken, nil
		},
	})
	if err != nil {
		return nil, err
	}
	machines := make([]Machine, 0, len(byID))
	for _, machine := range byID {
		machines = append(machines, machine)
	}
	slices.SortFunc(machines, func(a, b Machine) int { return strings.Compare(a.ID, b.ID) })
	c.machines.set(machines, asked)
	return machines, nil
}

func cloneMachines(machines []Machine) []Machine {
	cloned := slices.Clone(machines)
	for i := range cloned {
		cloned[i].IP = slices.Clone(cloned[i].IP)
		cloned[i].Metadata = maps.Clone(cloned[i].Metadata)
	}
	return cloned
}

// withMachines gives the look the list of machines. current says that it was read beside the look. If not, it is read now
// where it is a minute old, where a unit is on a machine that it lacks, so at each look for as long as that is so, and
// where a unit is global: that is due on each machine that is listed now.
func (c *Client) withMachines(ctx context.Context, found look, current bool) (look, error) {
	machines, young := c.machines.latest()
	found.machines = machines
	if current || young && !found.needsMachines() {
		return found, nil
	}
	var err error
	found.machines, err = c.readMachines(ctx)
	return found, err
}
