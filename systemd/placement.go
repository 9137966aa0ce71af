package systemd

import (
	"context"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/coreos/go-systemd/v22/unit"

	"github.com/squadronctl/squadron/internal/errclass"
	"github.com/squadronctl/squadron/internal/unitmeta"
)

// peerWait is how long a unit waits for the peer that it shares its machine with: those of one group are submitted side
// by side, in any order.
const peerWait = 2 * time.Second

// requirements are what a unit's section X-Fleet asks of where it runs.
type requirements struct {
	name      string
	machines  []string
	peers     []string
	conflicts []string // patterns
	replaces  []string // patterns
	metadata  unitmeta.Metadata
}

func requirementsOf(name string, options []*unit.UnitOption) requirements {
	r := requirements{name: name, metadata: unitmeta.Metadata{}}
	for _, option := range options {
		if option.Section != "X-Fleet" {
			continue
		}
		values := unitmeta.Values(name, option.Value)
		switch option.Name {
		case "MachineID", "X-ConditionMachineID", "X-ConditionMachineBootID":
			r.machines = append(r.machines, values...)
		case "MachineOf", "X-ConditionMachineOf":
			r.peers = append(r.peers, values...)
		case "Conflicts", "X-Conflicts":
			for _, value := range values {
				r.conflicts = append(r.conflicts, strings.Fields(value)...)
			}
		case "Replaces":
			r.replaces = append(r.replaces, values...)
		case "MachineMetadata", "X-ConditionMachineMetadata":
			for _, value := range values {
				r.metadata.Add(value)
			}
		}
	}
	return r
}

// claims are the requirements of units that are being submitted, so that two of them see one another. The zero value is
// ready for use.
type claims struct {
	mutex   sync.Mutex
	held    map[string]requirements
	arrival chan struct{} // closed when the next one arrives
}

// claim checks what a unit requires of the host and of the other units, and stands for the unit until it is released. It
// gives the names that were here by then. Waiting is called before it waits for another unit.
func (h *Host) claim(ctx context.Context, r requirements, waiting func()) (here hostNames, release func(), err error) {
	if err := h.checkHost(r); err != nil {
		return hostNames{}, nil, err
	}
	if err := h.claims.enter(r); err != nil {
		return hostNames{}, nil, err
	}
	// Once it has entered: one that leaves the claims from now on is among the names.
	here, err = h.lists.ask(ctx, r.name)
	if err == nil {
		err = h.checkOthers(r, here.units)
	}
	for _, peer := range r.peers {
		if err == nil {
			err = h.awaitPeer(ctx, peer, waiting)
		}
	}
	release = func() { h.claims.leave(r.name) }
	if err != nil {
		release()
	}
	return here, release, err
}

// checkHost checks what no other unit changes.
func (h *Host) checkHost(r requirements) error {
	for _, id := range r.machines {
		own, err := h.host.machineID()
		if err != nil {
			return err
		}
		if id != own {
			return unmet(errclass.ErrInvalidRequest, "MachineID=%s: this host is %s", id, own)
		}
	}
	if !r.metadata.Met(h.config.Metadata) {
		return unmet(errclass.ErrInvalidRequest, "MachineMetadata: this host has %v, and the unit wants %v", h.config.Metadata, r.metadata)
	}
	return nil
}

// checkOthers checks a unit against those that are here. What these ask for is what they did at the last look, so that
// many units are not looked at for each one.
func (h *Host) checkOthers(r requirements, names []string) error {
	for _, name := range names {
		file, err := h.facts.last(h.disk, name)
		if err != nil {
			return err
		}
		if file != nil {
			if err := r.against(file.asks); err != nil {
				return err
			}
		}
	}
	return nil
}

// enter checks a unit against those that are coming, and makes it one of them.
func (c *claims) enter(r requirements) error {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	for _, other := range c.held {
		if err := r.against(other); err != nil {
			return err
		}
	}
	if c.held == nil {
		c.held = map[string]requirements{}
	}
	c.held[r.name] = r
	if c.arrival != nil {
		close(c.arrival)
		c.arrival = nil
	}
	return nil
}

func (c *claims) leave(name string) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	delete(c.held, name)
}

// against tells why two units can't be on one host.
func (r requirements) against(other requirements) error {
	if r.name == other.name {
		return nil
	}
	if pattern, found := matching(r.conflicts, other.name); found {
		return unmet(errclass.ErrConflict, "Conflicts=%s: %s is on this host", pattern, other.name)
	}
	if pattern, found := matching(other.conflicts, r.name); found {
		return unmet(errclass.ErrConflict, "%s is on this host, and has Conflicts=%s", other.name, pattern)
	}
	if pattern, found := matching(r.replaces, other.name); found {
		return unmet(errclass.ErrConflict, "Replaces=%s: %s is on this host, and there is no other for it to go to", pattern, other.name)
	}
	return nil
}

// matching finds the first pattern that a name matches. A pattern that is none matches nothing, for fleet too.
func matching(patterns []string, name string) (pattern string, found bool) {
	at := slices.IndexFunc(patterns, func(pattern string) bool {
		matched, _ := path.Match(pattern, name)
		return matched
	})
	if at < 0 {
		return "", false
	}
	return patterns[at], true
}

// awaitPeer returns when a unit is here or being submitted; it calls waiting before it waits.
func (h *Host) awaitPeer(ctx context.Context, peer string, waiting func()) error {
	timer := time.NewTimer(peerWait)
	defer timer.Stop()
	for {
		arrival, coming := h.claims.coming(peer)
		if coming {
			return nil
		}
		if checkName(peer) == nil {
			if file, err := h.facts.read(h.disk, peer); err != nil || file != nil {
				return err
			}
		}
		waiting()
		select {
		case <-arrival:
		case <-timer.C:
			return unmet(errclass.ErrConflict, "MachineOf=%s: there is no such unit here", peer)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// coming says whether a unit is being submitted; the channel is closed when the next one is.
func (c *claims) coming(name string) (arrival <-chan struct{}, coming bool) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.arrival == nil {
		c.arrival = make(chan struct{})
	}
	_, coming = c.held[name]
	return c.arrival, coming
}
