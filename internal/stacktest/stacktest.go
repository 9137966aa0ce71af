// Package stacktest is a cluster of stacks in memory, for the tests of packages that know no engine. Its Engine offers
// every capability, and can be had without any one of them.
package stacktest

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync"

	"github.com/squadronctl/squadron/stack"
)

// Cluster is what the engines of all owners work on. It counts what is asked of it. Its methods are safe for use by
// many goroutines at once.
type Cluster struct {
	mu       sync.Mutex
	stacks   map[string]*placed
	networks map[string]string // name to ID, those of no stack too
	nextID   int
	looks    int
	writes   []string
	pulls    map[string]string
	nodes    int

	failRead  func(op string) error
	failWrite func(op string) error
	behave    func(service string) string
	stale     map[string]bool
}

// placed is one stack on the cluster. All of it carries the owner's stamp.
type placed struct {
	owner                      string
	services                   map[string]*service
	networks, configs, secrets map[string]string
}

type service struct {
	id     string
	fields map[string]string
	status string
}

// NewCluster gives an empty cluster of one node.
func NewCluster() *Cluster {
	return &Cluster{
		stacks: map[string]*placed{}, networks: map[string]string{}, pulls: map[string]string{}, stale: map[string]bool{}, nodes: 1,
	}
}

// Looks is how often the cluster has been read so far.
func (c *Cluster) Looks() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.looks
}

// Writes are all the changes that engines have made so far, in order: "create web_app", "update web_app", "remove
// web_app", and the same of networks and the like. Changes by hand are not among them.
func (c *Cluster) Writes() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.writes)
}

// Pulls says whose credential each service's image was pulled with: a user's name, or "host".
func (c *Cluster) Pulls() map[string]string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return maps.Clone(c.pulls)
}

// SetNodes says how many nodes there are.
func (c *Cluster) SetNodes(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.nodes = n
}

// FailReads has each read ask fail for its error; the operation is a method's name, with the stack's behind a space
// where it is about one. nil ends it.
func (c *Cluster) FailReads(fail func(op string) error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.failRead = fail
}

// FailWrites has each write ask fail for its error, with the text that Writes would have. nil ends it.
func (c *Cluster) FailWrites(fail func(op string) error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.failWrite = fail
}

// Behave says which status a service has from its deployment on; running by default.
func (c *Cluster) Behave(status func(service string) string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.behave = status
}

// Stale has the next write to a service lose its compare-and-swap once.
func (c *Cluster) Stale(service string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stale[service] = true
}

// Put makes a service by hand, or replaces its fields.
func (c *Cluster) Put(owner, stackName, name string, fields map[string]string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.place(stackName, owner)
	if there := s.services[name]; there != nil {
		there.fields = maps.Clone(fields)
		return
	}
	s.services[name] = &service{id: c.id("svc"), fields: maps.Clone(fields), status: stack.StatusRunning}
}

// PutNetwork makes a network by hand.
func (c *Cluster) PutNetwork(owner, stackName, name string) (id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	id = c.id("net")
	c.place(stackName, owner).networks[name] = id
	c.networks[name] = id
	return id
}

// Set changes one field of a service by hand. A service that is not there is left so.
func (c *Cluster) Set(stackName, name, field, value string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if s := c.stacks[stackName]; s != nil && s.services[name] != nil {
		s.services[name].fields[field] = value
	}
}

// SetStatus changes the status of a service that is there.
func (c *Cluster) SetStatus(stackName, name, status string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if s := c.stacks[stackName]; s != nil && s.services[name] != nil {
		s.services[name].status = status
	}
}

// Delete removes a service by hand, and the stack with its last.
func (c *Cluster) Delete(stackName, name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.stacks[stackName]
	if s == nil {
		return
	}
	delete(s.services, name)
	c.dropEmpty(stackName)
}

// DeleteStack removes a stack by hand.
func (c *Cluster) DeleteStack(stackName string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.stacks, stackName)
}

// Fields gives the fields of a service, nil where it is not there.
func (c *Cluster) Fields(stackName, name string) map[string]string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if s := c.stacks[stackName]; s != nil && s.services[name] != nil {
		return maps.Clone(s.services[name].fields)
	}
	return nil
}

// Contents lists all that there is, sorted: "owner kind stack name".
func (c *Cluster) Contents() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var all []string
	for name, s := range c.stacks {
		for service := range s.services {
			all = append(all, fmt.Sprintf("%s service %s %s", s.owner, name, service))
		}
		for kind, of := range map[string]map[string]string{"network": s.networks, "config": s.configs, "secret": s.secrets} {
			for resource := range of {
				all = append(all, fmt.Sprintf("%s %s %s %s", s.owner, kind, name, resource))
			}
		}
	}
	slices.Sort(all)
	return all
}

// read counts a look, and asks whether it fails. The caller holds the lock.
func (c *Cluster) read(op string) error {
	c.looks++
	if c.failRead != nil {
		return c.failRead(op)
	}
	return nil
}

// write notes a change, unless it is to fail. The caller holds the lock.
func (c *Cluster) write(op string) error {
	if c.failWrite != nil {
		if err := c.failWrite(op); err != nil {
			return err
		}
	}
	c.writes = append(c.writes, op)
	return nil
}

func (c *Cluster) place(name, owner string) *placed {
	if c.stacks[name] == nil {
		c.stacks[name] = &placed{
			owner: owner, services: map[string]*service{},
			networks: map[string]string{}, configs: map[string]string{}, secrets: map[string]string{},
		}
	}
	return c.stacks[name]
}

// dropEmpty forgets a stack of which nothing is left, and its owner with it.
func (c *Cluster) dropEmpty(name string) {
	s := c.stacks[name]
	if s != nil && len(s.services)+len(s.networks)+len(s.configs)+len(s.secrets) == 0 {
		delete(c.stacks, name)
	}
}

func (c *Cluster) id(kind string) string {
	c.nextID++
	return kind + "-" + strconv.Itoa(c.nextID)
}

func (c *Cluster) states(name string) []stack.ServiceState {
	states := []stack.ServiceState{}
	s := c.stacks[name]
	if s == nil {
		return states
	}
	for _, service := range slices.Sorted(maps.Keys(s.services)) {
		states = append(states, s.services[service].state(service))
	}
	return states
}

func (s *service) state(name string) stack.ServiceState {
	desired := 1
	if n, err := strconv.Atoi(s.fields["replicas"]); err == nil {
		desired = n
	}
	state := stack.ServiceState{Name: name, Desired: desired, Status: s.status}
	if s.status == stack.StatusRunning {
		state.Running = desired
	}
	return state
}
