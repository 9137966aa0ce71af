package faults_test

import (
	"context"
	"time"

	"github.com/squadronctl/squadron/integration/cluster"
	"github.com/squadronctl/squadron/integration/groups/bench"
)

// fault is one way to break a cluster.
type fault struct {
	name string
	// strike breaks the cluster, heal mends it: it returns when all is there again.
	strike, heal func(ctx context.Context, s *bench.Site) error
	// lasts is how long the fault lasts; 0: until all operations have ended.
	lasts time.Duration
	// waitTimeout is the controller's. Where it is shorter than the fault, operations fail for it.
	waitTimeout time.Duration
}

const (
	// patient is a WaitTimeout that outlasts every fault that heals by itself, the loss of a machine included.
	patient = 2 * time.Minute
	// hasty is one that some faults outlast.
	hasty = 5 * time.Second
)

// faults: machine 1 is the one that the client speaks to. A fault of etcd's lasts less than the 15 s after which a machine
// may be taken for lost, since then it would be a fault of all machines.
var faults = []fault{
	{"machine paused until it is lost", onMachine(3, pauseMachine), onMachine(3, resumeMachine), 45 * time.Second, 20 * time.Second},
	{"machine killed", onMachine(3, killMachine), onMachine(3, startMachine), 0, patient},
	{"machine killed, hasty", onMachine(3, killMachine), onMachine(3, startMachine), 0, hasty},
	{"client's machine killed", onMachine(1, killMachine), onMachine(1, startMachine), 0, hasty},
	{"machine paused", onMachine(3, pauseMachine), onMachine(3, resumeMachine), 8 * time.Second, patient},
	{"client's machine paused", onMachine(1, pauseMachine), onMachine(1, resumeMachine), 8 * time.Second, patient},
	{"etcd restarted", stopEtcd, startEtcd, time.Millisecond, patient},
	{"etcd paused", pauseEtcd, resumeEtcd, 6 * time.Second, patient},
	{"etcd paused, hasty", pauseEtcd, resumeEtcd, 11 * time.Second, hasty},
	{"fleetd stopped and started", onMachine(3, stopFleetd), onMachine(3, startFleetd), 10 * time.Second, patient},
	{"client's fleetd restarted", onMachine(1, stopFleetd), onMachine(1, startFleetd), 3 * time.Second, patient},
	{"client's fleetd paused, hasty", onMachine(1, pauseFleetd), onMachine(1, resumeFleetd), 15 * time.Second, hasty},
}

type onCluster = func(ctx context.Context, s *bench.Site) error

func onMachine(n int, act func(ctx context.Context, m *cluster.Machine) error) onCluster {
	return func(ctx context.Context, s *bench.Site) error { return act(ctx, s.Cluster.Machines()[n-1]) }
}

func killMachine(_ context.Context, m *cluster.Machine) error    { return m.Kill() }
func startMachine(ctx context.Context, m *cluster.Machine) error { return m.Start(ctx) }
func pauseMachine(_ context.Context, m *cluster.Machine) error   { return m.Pause() }
func resumeMachine(_ context.Context, m *cluster.Machine) error  { return m.Resume() }
func stopFleetd(ctx context.Context, m *cluster.Machine) error   { return m.StopFleetd(ctx) }
func startFleetd(ctx context.Context, m *cluster.Machine) error  { return m.StartFleetd(ctx) }
func pauseFleetd(_ context.Context, m *cluster.Machine) error    { return m.PauseFleetd() }
func resumeFleetd(_ context.Context, m *cluster.Machine) error   { return m.ResumeFleetd() }

func stopEtcd(ctx context.Context, s *bench.Site) error  { return s.Cluster.StopEtcd(ctx) }
func startEtcd(ctx context.Context, s *bench.Site) error { return s.Cluster.StartEtcd(ctx) }
func pauseEtcd(_ context.Context, s *bench.Site) error   { return s.Cluster.PauseEtcd() }
func resumeEtcd(_ context.Context, s *bench.Site) error  { return s.Cluster.ResumeEtcd() }
