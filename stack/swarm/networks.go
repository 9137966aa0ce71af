package swarm

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/containerd/errdefs"
	"github.com/moby/moby/api/types/network"
	"github.com/moby/moby/client"

	"github.com/squadronctl/squadron/internal/errmask"
)

// scopeSwarm is the scope of the networks that services can be attached to.
const scopeSwarm = "swarm"

// namesMaxAge is for how long a listing of networks answers which ID a declared network has: one listing for a pass over many
// stacks. What the engine makes or removes itself ends it at once.
const namesMaxAge = 5 * time.Second

// networkNames keeps the last listing of networks, and the names of those that no listing has.
type networkNames struct {
	mutex      sync.Mutex
	at         time.Time
	list       networkList
	predefined map[string]string // names by ID; Docker never changes them
}

// networkList is the swarm's networks.
type networkList struct {
	byName map[string]network.Summary // those of the swarm
	byID   map[string]string          // the names of all
}

// readNetworks lists the networks.
func (c *core) readNetworks(ctx context.Context) (networkList, error) {
	found, err := c.api.NetworkList(ctx, client.NetworkListOptions{})
	if err != nil {
		return networkList{}, errmask.Maskf(err, "list the networks")
	}
	list := networkList{byName: map[string]network.Summary{}, byID: map[string]string{}}
	for _, n := range found.Items {
		list.byID[n.ID] = n.Name
		if n.Scope == scopeSwarm {
			list.byName[n.Name] = n
		}
	}
	c.networks.mutex.Lock()
	defer c.networks.mutex.Unlock()
	c.networks.at, c.networks.list = time.Now(), list
	maps.Copy(list.byID, c.networks.predefined)
	return list, nil
}

// recentNetworks gives the last listing, where it is not too old.
func (c *core) recentNetworks(ctx context.Context) (networkList, error) {
	c.networks.mutex.Lock()
	at, list := c.networks.at, c.networks.list
	c.networks.mutex.Unlock()
	if !at.IsZero() && time.Since(at) < namesMaxAge {
		return list, nil
	}
	return c.readNetworks(ctx)
}

// known gives the names of networks that no listing has, as far as they have been asked for.
func (n *networkNames) known() map[string]string {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	return maps.Clone(n.predefined)
}

// forgetNetworks has the networks listed anew.
func (c *core) forgetNetworks() {
	c.networks.mutex.Lock()
	defer c.networks.mutex.Unlock()
	c.networks.at = time.Time{}
}

// namePredefined gives the name of a network that services are attached to and that no listing has: a swarm has a side of its own of
// the networks that every engine has, such as host, and does not list it. It is empty where there is no such network.
func (c *core) namePredefined(ctx context.Context, id string) (string, error) {
	c.networks.mutex.Lock()
	name, known := c.networks.predefined[id]
	c.networks.mutex.Unlock()
	if known {
		return name, nil
	}
	found, err := c.api.NetworkInspect(ctx, id, client.NetworkInspectOptions{})
	switch {
	case errdefs.IsNotFound(err):
		return "", nil
	case err != nil:
		return "", errmask.Maskf(err, "read network %s", id)
	case !slices.Contains(predefinedNetworks, found.Network.Name):
		return "", nil // it has come since the listing
	}
	c.networks.mutex.Lock()
	defer c.networks.mutex.Unlock()
	if c.networks.predefined == nil {
		c.networks.predefined = map[string]string{}
	}
	c.networks.predefined[id] = found.Network.Name
	return found.Network.Name, nil
}

// predefinedNetworks are those that every engine has.
var predefinedNetworks = []string{network.NetworkHost, network.NetworkBridge, network.NetworkNone}

// isNetworkID says whether a text can be a network's ID: the swarm's have 25 characters, those of the nodes themselves 64 digits.
func isNetworkID(text string) bool {
	digits := map[int]string{25: "0123456789abcdefghijklmnopqrstuvwxyz", 64: "0123456789abcdef"}[len(text)]
	return digits != "" && strings.Trim(text, digits) == ""
}

// attachment gives how a network that a service is attached to is compared: by its ID where the swarm lists it, by its name where
// it is one that every engine has, and else as it is written.
func (c *core) attachment(ctx context.Context, list networkList, target string) (string, error) {
	if n, listed := list.byName[target]; listed {
		return n.ID, nil
	}
	name, listed := list.byID[target]
	switch {
	case listed && slices.Contains(predefinedNetworks, name):
		return name, nil
	case listed || slices.Contains(predefinedNetworks, target) || !isNetworkID(target):
		return target, nil
	}
	name, err := c.namePredefined(ctx, target)
	if err != nil || name == "" {
		return target, err
	}
	return name, nil
}

// LiveNetworkNames implements capability.NetworkNamer. Docker's own networks are among them.
func (e *Engine) LiveNetworkNames(ctx context.Context) (map[string]string, error) {
	list, err := e.readNetworks(ctx)
	return maps.Clone(list.byID), errmask.Maskf(classed(ctx, err), "name the networks")
}
