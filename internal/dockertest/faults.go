package dockertest

import (
	"maps"
	"slices"
	"sync"
)

// faults are what goes wrong on purpose, and the record of what was asked.
type faults struct {
	mu         sync.Mutex
	failReads  func(op string) error
	failWrites func(op string) error
	onWrite    func(op string)
	requests   map[string]int
	writes     []string
}

// FailReads has f decide about each read, which is a method of the client with the name of the thing, where it is about one:
// "ServiceList", "ServiceInspect shop_web". nil: it is answered; a *StatusError is the answer; ErrHang gives none; any other
// error breaks the connection. A nil f ends it. Pings are not asked about.
func (s *Swarm) FailReads(f func(op string) error) {
	s.faults.mu.Lock()
	defer s.faults.mu.Unlock()
	s.faults.failReads = f
}

// FailWrites has f decide about each write, such as "ServiceUpdate shop_web" or "ConfigCreate shop_conf". It goes as with
// FailReads; with ErrLost the write is done all the same.
func (s *Swarm) FailWrites(f func(op string) error) {
	s.faults.mu.Lock()
	defer s.faults.mu.Unlock()
	s.faults.failWrites = f
}

// OnWrite has f called before each write, named as with FailWrites: what f writes by the controls comes between the caller's
// read and its write. The Swarm is not locked then. A nil f ends it.
func (s *Swarm) OnWrite(f func(op string)) {
	s.faults.mu.Lock()
	defer s.faults.mu.Unlock()
	s.faults.onWrite = f
}

// Requests counts the requests since the last ResetRequests by method and path: "GET /services/{id}".
func (s *Swarm) Requests() map[string]int {
	s.faults.mu.Lock()
	defer s.faults.mu.Unlock()
	return maps.Clone(s.faults.requests)
}

// Writes gives the writes that were answered with success since the last ResetRequests, in their order, named as with
// FailWrites. What is done by the controls is not among them.
func (s *Swarm) Writes() []string {
	s.faults.mu.Lock()
	defer s.faults.mu.Unlock()
	return slices.Clone(s.faults.writes)
}

// ResetRequests forgets what Requests and Writes gave.
func (s *Swarm) ResetRequests() {
	s.faults.mu.Lock()
	defer s.faults.mu.Unlock()
	s.faults.requests, s.faults.writes = nil, nil
}

// meet counts a request, and gives what is to go wrong with it.
func (f *faults) meet(op, pattern string, isWrite bool) error {
	f.mu.Lock()
	if f.requests == nil {
		f.requests = map[string]int{}
	}
	f.requests[pattern]++
	hook, fail := f.onWrite, f.failWrites
	if !isWrite {
		hook, fail = nil, f.failReads
	}
	f.mu.Unlock()
	if op == opPing {
		return nil
	}
	if hook != nil {
		hook(op)
	}
	if fail != nil {
		return fail(op)
	}
	return nil
}

func (f *faults) wrote(op string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.writes = append(f.writes, op)
}
