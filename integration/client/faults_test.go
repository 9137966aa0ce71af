package client_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/squadronctl/squadron/fleet"
	"github.com/squadronctl/squadron/integration/cluster"
)

// Faults of the cluster as the client tells them, on a cluster of their own: fleetd gone and silent, etcd gone, a machine
// lost (R18, R20, R28, R29).
func TestFaults(t *testing.T) {
	t.Parallel()
	own, err := cluster.Start(limited(t), cluster.Config{Machines: 2})
	require.NoError(t, err)
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(own.Logs(30))
		}
		assert.NoError(t, own.Stop())
	})
	m1, m2 := own.Machines()[0], own.Machines()[1]
	once := connectWith(t, fleet.Config{Endpoint: own.Endpoint(), Retries: -1, RequestTimeout: 3 * time.Second})
	patient := connectWith(t, fleet.Config{Endpoint: own.Endpoint(), Retries: 60, RetryWait: time.Second})
	create(t, patient, "fault.service", placed("MachineMetadata=name=m2"))
	settle(t, patient, "fault.service", running)

	require.NoError(t, m1.StopFleetd(limited(t)))
	assertEverythingTemporary(t, once, "refused")
	// R29: what is repeated succeeds as soon as it can.
	late := make(chan error, 1)
	go func() { late <- patient.Stop(limited(t), "fault.service") }()
	require.NoError(t, m1.StartFleetd(limited(t)))
	require.NoError(t, <-late)
	settle(t, patient, "fault.service", stopped)

	require.NoError(t, m1.PauseFleetd())
	assertEverythingTemporary(t, once, "silent")
	require.NoError(t, m1.ResumeFleetd())
	waitWell(t, once)

	require.NoError(t, own.StopEtcd(limited(t)))
	assertEverythingTemporary(t, once, "without etcd")
	require.NoError(t, own.StartEtcd(limited(t)))
	waitWell(t, once)
	settle(t, patient, "fault.service", stopped)

	// A lost machine: its unit has no machine, later, and the listing is without error all the time.
	require.NoError(t, m2.Kill())
	settleWhere(t, patient, "fault.service", "without a machine", func(s fleet.UnitStatus) bool {
		if len(s.Machine) == 1 {
			assert.Equal(t, m2.ID, s.Machine[0].ID)
		}
		return len(s.Machine) == 0 && s.Current == "inactive"
	})
	_, err = patient.MachineIP(limited(t), m2.ID)
	assertClass(t, err, "IPNotFound")
	require.NoError(t, m2.Start(limited(t)))
	settle(t, patient, "fault.service", stopped)
}

func assertEverythingTemporary(t *testing.T, c *fleet.Client, fault string) {
	t.Helper()
	ctx := limited(t)
	_, statusErr := c.GetStatus(ctx, "fault.service")
	_, contentErr := c.ReadContent(ctx, "fault.service")
	_, unitsErr := c.ReadUnits(ctx, fleet.Selector{})
	_, machinesErr := c.ReadMachines(ctx)
	_, matchErr := c.GetStatusWithMatcher(func(string) bool { return true })
	for operation, err := range map[string]error{
		"status": statusErr, "content": contentErr, "units": unitsErr, "machines": machinesErr, "match": matchErr,
		// Not on the unit that is watched: what a silent fleetd was sent, it does once it wakes.
		"submit": c.Submit(ctx, "other.service", sleeper()), "start": c.Start(ctx, "third.service"),
	} {
		t.Log(fault, operation, err)
		assertClass(t, err, "Temporary")
		assert.NotErrorIs(t, err, context.Canceled)
	}
}

// waitWell waits until fleetd answers.
func waitWell(t *testing.T, c *fleet.Client) {
	t.Helper()
	require.Eventually(t, func() bool { _, err := c.ReadMachines(t.Context()); return err == nil }, patience, 200*time.Millisecond)
}
