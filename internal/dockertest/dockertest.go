// Package dockertest is a Docker Swarm in memory, with as much of the Docker API as the Swarm engine uses, for tests.
//
// A Swarm is reached by the real client, without a network, so that its tests run in testing/synctest bubbles. It answers
// as dockerd 20.10 does (API 1.41): the same fields filled in where a spec leaves them out, the same statuses and texts of
// errors. It has no goroutines and nothing to close: what happened since the last look at it is worked out by the next one,
// by time.Now.
//
// A service's tasks go through their states to running, within Timing.Start, each on a node that is up and meets the
// service's constraints. Those of an image that fails by Config.Behave fail and are restarted by the service's policy. An
// update replaces tasks by the service's update_config, and is paused, or rolled back to PreviousSpec, by its
// failure_action.
//
// Beside what the API can do, a Swarm has controls for what a test needs: errors, answers that get lost, what somebody else
// does by hand or between a read and a write, nodes that come and go; and it tells what there is, what was asked and with
// which credentials.
//
// Time passes where Swarm takes it: a new service has no tasks for a moment, an update no status; each change of its status
// is another version of the service; a removed network is still listed while containers on the node that answers use it.
//
// What it does not do: jobs, plugins, resources and host ports of nodes, anything of volumes, containers, images, logs and
// events, insertDefaults, services without a name, and filters other than those named at the lists. Images always exist,
// unless Behave says otherwise. A change of constraints alone replaces tasks (Swarm keeps those whose node still fits).
// MaxAttempts is counted without regard to its window. With start-first, a task that fails is not started again as long as
// its predecessor runs. A network has its addresses, and a service its ports, at once, where Swarm takes some milliseconds.
package dockertest

import (
	"container/heap"
	"net/http"
	"sync"
	"time"

	"github.com/moby/moby/api/types/network"
	"github.com/moby/moby/api/types/swarm"
	"github.com/moby/moby/client"

	"github.com/squadronctl/squadron/fleet/fleettest"
)

// APIVersion is the version of the Docker API that a Swarm speaks.
const APIVersion = "1.41"

// Labels that Contents goes by.
const (
	NamespaceLabel = "com.docker.stack.namespace"
	OwnerLabel     = "squadron.owner"
	RevisionLabel  = "squadron.revision"
)

// Config is what a Swarm is made of. The zero Config is one of a single manager, where every image runs.
type Config struct {
	// Nodes are the machines. None: one manager named node1. Where none is a manager, the first one becomes it.
	Nodes []Node
	// Timing says how long things take.
	Timing Timing
	// Behave says what becomes of containers of an image. It is called with the Swarm locked, so it must not use it, and may
	// change its mind. nil: all run.
	Behave func(image string) Outcome
}

// Node is a machine.
type Node struct {
	Hostname string // also the node's name in filters
	Manager  bool
	Labels   map[string]string
}

// Timing says how long things take. Each zero means its default.
type Timing struct {
	Start time.Duration // from a task's creation until it runs; default 1 s
	Run   time.Duration // how long a failing container runs before it ends; default 500 ms
	Stop  time.Duration // from the wish that a task ends until it has ended; default 1 s
}

// Outcome is what becomes of a container.
type Outcome int

// The outcomes.
const (
	Runs      Outcome = iota // until it is stopped
	Fails                    // it starts, and exits with code 1 after Timing.Run
	Completes                // it starts, and exits with code 0 after Timing.Run
	Rejected                 // its image is not there: the task is rejected and never runs
	Hangs                    // it stays in state starting
)

// Swarm is a simulated Docker Swarm. Make one with New. It is safe for use by many goroutines at once.
type Swarm struct {
	config  Config
	handler http.Handler
	faults  faults

	mu      sync.Mutex
	now     time.Time // how far the simulation has come
	created time.Time
	index   uint64 // of the last version written
	made    uint64 // IDs given out
	events  eventQueue
	seq     uint64

	nodes    map[string]*swarm.Node
	services map[string]*service
	tasks    map[string]*task
	networks map[string]*network.Inspect
	leaving  map[string]*network.Inspect // removed from the Swarm, and on the first manager still in use
	ingress  string                      // the ID of the network that is for published ports
	configs  map[string]*object
	secrets  map[string]*object
	auth     map[string]string // the last registry credential, by the service's name
}

// New makes a Swarm.
func New(config Config) *Swarm {
	if len(config.Nodes) == 0 {
		config.Nodes = []Node{{Hostname: "node1", Manager: true}}
	}
	config.Timing = config.Timing.withDefaults()
	now := time.Now()
	s := &Swarm{
		config: config, now: now, created: now,
		nodes: map[string]*swarm.Node{}, services: map[string]*service{}, tasks: map[string]*task{},
		networks: map[string]*network.Inspect{}, leaving: map[string]*network.Inspect{},
		configs: map[string]*object{}, secrets: map[string]*object{},
		auth: map[string]string{},
	}
	managers := 0
	for i, node := range config.Nodes {
		s.addNode(node)
		if node.Manager {
			managers++
		}
		if i == len(config.Nodes)-1 && managers == 0 {
			s.promote(s.nodeNamed(config.Nodes[0].Hostname))
		}
	}
	s.addPredefinedNetworks()
	s.handler = s.routes()
	return s
}

func (t Timing) withDefaults() Timing {
	for _, of := range []struct {
		value *time.Duration
		or    time.Duration
	}{{&t.Start, time.Second}, {&t.Run, 500 * time.Millisecond}, {&t.Stop, time.Second}} {
		if *of.value == 0 {
			*of.value = of.or
		}
	}
	return t
}

// Client gives a client of the Swarm. It keeps no connections; closing it is not needed.
func (s *Swarm) Client() (*client.Client, error) {
	return client.New(client.WithHTTPClient(&http.Client{Transport: fleettest.Transport(s.Handler())}))
}

// Handler is the Docker API, for a server or a transport of the caller's.
func (s *Swarm) Handler() http.Handler { return s.handler }

// event is something that is going to happen.
type event struct {
	at  time.Time
	seq uint64 // events of one moment come in the order in which they were planned
	do  func()
}

type eventQueue []event

func (q eventQueue) Len() int { return len(q) }
func (q eventQueue) Less(i, j int) bool {
	if !q[i].at.Equal(q[j].at) {
		return q[i].at.Before(q[j].at)
	}
	return q[i].seq < q[j].seq
}
func (q eventQueue) Swap(i, j int) { q[i], q[j] = q[j], q[i] }
func (q *eventQueue) Push(x any)   { *q = append(*q, x.(event)) }
func (q *eventQueue) Pop() any {
	last := (*q)[len(*q)-1]
	*q = (*q)[:len(*q)-1]
	return last
}

// lock locks the Swarm and brings it to the present. Its result unlocks it.
func (s *Swarm) lock() func() {
	s.mu.Lock()
	now := time.Now()
	for len(s.events) > 0 && !s.events[0].at.After(now) {
		next := heap.Pop(&s.events).(event)
		s.now = next.at
		next.do()
	}
	if now.After(s.now) {
		s.now = now
	}
	return s.mu.Unlock
}

// after plans something. It runs with the Swarm locked.
func (s *Swarm) after(d time.Duration, do func()) {
	s.seq++
	heap.Push(&s.events, event{at: s.now.Add(d), seq: s.seq, do: do})
}
