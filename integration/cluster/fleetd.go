package cluster

import (
	"context"
	"fmt"
	"os"

	"github.com/squadronctl/squadron/integration/sigstop"
)

// StopFleetd ends the machine's fleetd in good order and returns when it has ended: its registration is taken back, and the
// units that it runs go on running.
func (m *Machine) StopFleetd(ctx context.Context) error {
	return m.control(ctx, "stop fleetd", "stop", "fleetd")
}

// StartFleetd starts the machine's fleetd and returns when it lists the machine.
func (m *Machine) StartFleetd(ctx context.Context) error {
	if err := m.control(ctx, "start fleetd", "start", "fleetd"); err != nil {
		return err
	}
	return m.waitListed(ctx, m)
}

// RestartFleetd is StopFleetd and StartFleetd.
func (m *Machine) RestartFleetd(ctx context.Context) error {
	if err := m.StopFleetd(ctx); err != nil {
		return err
	}
	return m.StartFleetd(ctx)
}

// PauseFleetd stops fleetd's process where it stands (SIGSTOP): it accepts connections and answers nothing.
func (m *Machine) PauseFleetd() error {
	if err := m.control(context.Background(), "pause fleetd", "kill", "--kill-who=main", "--signal=SIGSTOP", "fleetd"); err != nil {
		return err
	}
	pids, err := m.processes()
	for _, pid := range pids {
		// What the main process has started goes on, and is called otherwise.
		if name, _ := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid)); err == nil && string(name) == "fleetd\n" {
			err = sigstop.Wait(pid)
		}
	}
	if err != nil {
		return fmt.Errorf("pause fleetd: %w", err)
	}
	return nil
}

// ResumeFleetd lets a paused fleetd go on.
func (m *Machine) ResumeFleetd() error {
	return m.control(context.Background(), "resume fleetd", "kill", "--kill-who=main", "--signal=SIGCONT", "fleetd")
}

func (m *Machine) control(ctx context.Context, what string, args ...string) error {
	if err := m.run(ctx, "systemctl", args...); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}
