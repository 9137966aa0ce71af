package reconcile

import (
	"context"
	"slices"
	"sync"
)

// hands take what a backend hands over during one deployment.
type hands struct {
	mutex    sync.Mutex
	closed   bool
	held     []func(context.Context) error
	services []string
}

// hold is a capability.DeferSelf. What comes once the deployment has returned is dropped, since nobody would issue it.
func (h *hands) hold(apply func(context.Context) error) {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	if !h.closed {
		h.held = append(h.held, apply)
	}
}

// close gives what is held.
func (h *hands) close() []func(context.Context) error {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	h.closed = true
	return h.held
}

// note takes up a service of which a write lost its compare-and-swap.
func (h *hands) note(service string) {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	if !slices.Contains(h.services, service) {
		h.services = append(h.services, service)
	}
}

// lost gives the services noted so far, sorted.
func (h *hands) lost() []string {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	return slices.Sorted(slices.Values(h.services))
}
