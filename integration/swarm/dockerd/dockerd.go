// Package dockerd starts a real Docker Swarm on this machine for tests: one or two of Debian's engines, each in process,
// mount, network and host name spaces of its own, so that nothing of them is seen outside but a socket.
//
// It needs root and the Debian packages docker.io, iptables and iproute2; Start says in one line what is missing. No registry
// is reachable: images are made of programs by Import. A kernel without IPVS carries no traffic to the virtual addresses of
// services and to published ports in ingress mode: there services need endpoint_mode dnsrr, and ports mode host.
//
// A swarm's files stand below one directory in os.TempDir and are gone after Stop. When the program that started it dies,
// its processes die with it, and the next start of any swarm clears away the rest.
package dockerd

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"slices"
	"sync"
	"time"

	"github.com/moby/moby/api/types/swarm"
	"github.com/moby/moby/client"
	"golang.org/x/sync/errgroup"
)

// startTimeout is for contexts without a deadline.
const startTimeout = 4 * time.Minute

// Config says what swarm to start.
type Config struct {
	// Nodes is how many engines it has: 1 or 2; 0 means 1. The first one is the manager, the other one a worker.
	Nodes int
}

// Swarm is a swarm that Start has started. Its methods may be called by several goroutines, those about one node one after
// the other.
type Swarm struct {
	place place
	nodes []*Node

	stop    sync.Once
	stopErr error
}

// Start starts a swarm and returns when the manager says that all nodes are ready; that takes some seconds. When it fails or
// the context ends first, nothing is left and the error carries the last lines of the logs. The context ends only the start,
// not the swarm; a start that takes more than 4 minutes fails whatever the context.
//
// It begins with clearing away swarms whose program has died.
func Start(ctx context.Context, config Config) (*Swarm, error) {
	if config.Nodes == 0 {
		config.Nodes = 1
	}
	if config.Nodes < 1 || config.Nodes > 2 {
		return nil, fmt.Errorf("start swarm: %d nodes: must be 1 or 2", config.Nodes)
	}
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	s, err := start(ctx, config)
	if err != nil {
		return nil, fmt.Errorf("start swarm: %w", err)
	}
	return s, nil
}

func start(ctx context.Context, config Config) (*Swarm, error) {
	if err := checkRequirements(); err != nil {
		return nil, err
	}
	p, err := settle()
	if err != nil {
		return nil, err
	}
	s := &Swarm{place: p}
	if err := s.boot(ctx, config.Nodes); err != nil {
		err = fmt.Errorf("%w\n%s", err, s.Logs(30))
		return nil, errors.Join(err, s.Stop())
	}
	return s, nil
}

func (s *Swarm) boot(ctx context.Context, nodes int) error {
	for n := range nodes {
		node, err := newNode(s.place, n+1)
		if err != nil {
			return err
		}
		s.nodes = append(s.nodes, node)
	}
	group, groupCtx := errgroup.WithContext(ctx)
	for _, node := range s.nodes {
		group.Go(func() error { return node.launch(groupCtx) })
	}
	if err := group.Wait(); err != nil {
		return err
	}
	if err := s.link(ctx); err != nil {
		return err
	}
	return s.form(ctx)
}

// form makes a swarm of the engines.
func (s *Swarm) form(ctx context.Context) error {
	manager := s.nodes[0]
	begun, err := manager.client.SwarmInit(ctx, client.SwarmInitOptions{
		ListenAddr: manager.address + ":2377", AdvertiseAddr: manager.address,
		// Away from the addresses that machines of tests have.
		DefaultAddrPool: []netip.Prefix{netip.MustParsePrefix("10.78.0.0/16")}, SubnetSize: 24,
	})
	if err != nil {
		return fmt.Errorf("begin a swarm: %w", err)
	}
	manager.ID = begun.NodeID
	found, err := manager.client.SwarmInspect(ctx, client.SwarmInspectOptions{})
	if err != nil {
		return fmt.Errorf("ask for the swarm's tokens: %w", err)
	}
	for _, node := range s.nodes[1:] {
		if _, err := node.client.SwarmJoin(ctx, client.SwarmJoinOptions{
			ListenAddr: node.address + ":2377", AdvertiseAddr: node.address,
			RemoteAddrs: []string{manager.address + ":2377"}, JoinToken: found.Swarm.JoinTokens.Worker,
		}); err != nil {
			return fmt.Errorf("join %s: %w", node.Name, err)
		}
		info, err := node.client.Info(ctx, client.InfoOptions{})
		if err != nil {
			return fmt.Errorf("ask %s for its ID: %w", node.Name, err)
		}
		node.ID = info.Info.Swarm.NodeID
	}
	for _, node := range s.nodes {
		if err := s.WaitState(ctx, node, swarm.NodeStateReady); err != nil {
			return err
		}
	}
	return nil
}

// WaitState waits until the manager says that the node is in that state.
func (s *Swarm) WaitState(ctx context.Context, node *Node, state swarm.NodeState) error {
	err := poll(ctx, s.nodes[0], func(ctx context.Context) error {
		found, err := s.nodes[0].client.NodeInspect(ctx, node.ID, client.NodeInspectOptions{})
		if err == nil && found.Node.Status.State != state {
			err = fmt.Errorf("it is %s", found.Node.Status.State)
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("wait until node %s is %s: %w", node.Name, state, err)
	}
	return nil
}

// Stop ends all processes of the swarm at once, as if the power went, and removes all its files. It returns when nothing is
// left; the error says what could not be removed. It may be called more than once.
func (s *Swarm) Stop() error {
	s.stop.Do(func() {
		for _, node := range s.nodes {
			node.Kill()
			s.stopErr = errors.Join(s.stopErr, node.client.Close())
		}
		if err := s.place.leave(); err != nil {
			s.stopErr = errors.Join(s.stopErr, fmt.Errorf("stop swarm: %w", err))
		}
	})
	return s.stopErr
}

// Nodes gives the nodes, the manager first.
func (s *Swarm) Nodes() []*Node { return slices.Clone(s.nodes) }

// Manager gives the manager.
func (s *Swarm) Manager() *Node { return s.nodes[0] }

// Dir gives the directory that holds all files of the swarm.
func (s *Swarm) Dir() string { return s.place.path() }

// Logs gives the last lines, as many as given of each, of what the engines have logged. It is for tests that failed, to be
// called before Stop.
func (s *Swarm) Logs(lines int) string {
	var text string
	for _, node := range s.nodes {
		text += node.Logs(lines)
	}
	return text
}

func checkRequirements() error {
	if os.Geteuid() != 0 {
		return errors.New("it needs root: it mounts, and starts engines")
	}
	for _, need := range [][2]string{
		{"dockerd", "docker.io"},
		{"docker-init", "docker.io"},
		{cli, "docker.io"},
		{"iptables", "iptables"},
		{"ip", "iproute2"},
		{"nsenter", "util-linux"},
	} {
		if _, err := exec.LookPath(need[0]); err != nil {
			return fmt.Errorf("there is no %s: install the Debian package %s", need[0], need[1])
		}
	}
	return nil
}
