// Package cluster starts a real fleet cluster on this machine for tests: etcd, and machines that each run a systemd of
// their own (systemd-nspawn) and fleetd on it.
//
// It needs root and the Debian packages etcd-server, systemd-container and dbus; Start says in one line what is missing.
// Everything listens on loopback. A cluster's files stand below one directory in os.TempDir and are gone after Stop, and
// also when the program that started the cluster has died, however it died: a small program of its own, the keeper, notices
// and cleans up. Several clusters can be up at once, in one program and in several. One thing stays: the kernel's limit
// fs.inotify.max_user_instances, raised to 4096.
//
// Machine n, counted from 1, is named mN, has the ID IDOf(n), publishes the address 127.0.0.N, and has the metadata
// name=mN and zone=a, b or c in turn.
package cluster

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
)

// MaxMachines is how many machines a cluster can have.
const MaxMachines = 16

// startTimeout is for contexts without a deadline: a machine that hangs at its start is told by nothing else.
const startTimeout = 5 * time.Minute

// Config says what cluster to start.
type Config struct {
	// Machines is how many machines it has: 1 to MaxMachines; 0 means 3.
	Machines int
}

// Cluster is a fleet cluster that Start has started. Its methods may be called by several goroutines, those about etcd and
// those about one machine one after the other.
type Cluster struct {
	place    place
	keeper   *keeper
	etcd     *etcd
	machines []*Machine

	stop    sync.Once
	stopErr error
}

// Start starts a cluster and returns when each of its machines' fleetd lists all machines; that takes a few seconds. When
// it fails or the context ends first, nothing is left and the error carries the last lines of the logs. The context ends
// only the start, not the cluster; a start that takes more than 5 minutes fails whatever the context.
//
// It begins with clearing away clusters whose keeper has died.
func Start(ctx context.Context, config Config) (*Cluster, error) {
	if config.Machines == 0 {
		config.Machines = 3
	}
	if config.Machines < 1 || config.Machines > MaxMachines {
		return nil, fmt.Errorf("start cluster: %d machines: must be 1 to %d", config.Machines, MaxMachines)
	}
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	c, err := start(ctx, config)
	if err != nil {
		return nil, fmt.Errorf("start cluster: %w", err)
	}
	return c, nil
}

func start(ctx context.Context, config Config) (*Cluster, error) {
	if err := checkRequirements(); err != nil {
		return nil, err
	}
	if err := provideInotify(); err != nil {
		return nil, err
	}
	fleetd, err := Build(ctx, "fleetd")
	if err != nil {
		return nil, err
	}
	c := &Cluster{}
	if c.place, c.keeper, err = settle(ctx, 2+config.Machines); err != nil {
		return nil, err
	}
	if err := c.boot(ctx, fleetd, config.Machines); err != nil {
		err = fmt.Errorf("%w\n%s", err, c.Logs(30))
		return nil, errors.Join(err, c.Stop())
	}
	return c, nil
}

func (c *Cluster) boot(ctx context.Context, fleetd string, machines int) error {
	// A copy, so that a build of others changes nothing under running machines.
	if err := copyFile(c.place.path("fleetd"), fleetd); err != nil {
		return err
	}
	c.etcd = newEtcd(c.place)
	if err := c.etcd.start(ctx); err != nil {
		return err
	}
	for n := range machines {
		c.machines = append(c.machines, newMachine(c.place, n+1, c.etcd.endpoint()))
	}
	return c.eachMachine(ctx, func(ctx context.Context, m *Machine) error {
		if err := m.makeRoot(); err != nil {
			return err
		}
		if err := m.Start(ctx); err != nil {
			return err
		}
		return m.waitListed(ctx, c.machines...)
	})
}

func (c *Cluster) eachMachine(ctx context.Context, do func(context.Context, *Machine) error) error {
	group, groupCtx := errgroup.WithContext(ctx)
	for _, m := range c.machines {
		group.Go(func() error { return do(groupCtx, m) })
	}
	return group.Wait()
}

// Stop ends all processes of the cluster at once, as if the power went, and removes all its files. It returns when nothing
// is left; the error says what could not be removed. It may be called more than once.
func (c *Cluster) Stop() error {
	c.stop.Do(func() {
		if err := c.keeper.release(); err != nil {
			c.stopErr = fmt.Errorf("stop cluster: %w", err)
		}
		if c.etcd != nil {
			c.etcd.reap()
		}
		for _, m := range c.machines {
			m.reap()
		}
	})
	return c.stopErr
}

// Machines gives the machines, mN at index N-1.
func (c *Cluster) Machines() []*Machine { return append([]*Machine(nil), c.machines...) }

// Endpoint gives the fleet API of machine 1, over TCP.
func (c *Cluster) Endpoint() url.URL { return c.machines[0].Endpoint() }

// Etcd gives the address of etcd's client API.
func (c *Cluster) Etcd() url.URL { return c.etcd.endpoint() }

// Dir gives the directory that holds all files of the cluster; its logs are *.log in it and in its directories mN.
func (c *Cluster) Dir() string { return c.place.path() }

// Logs gives the last lines, as many as given of each, of what etcd, the machines and their fleetds have logged, and of the
// machines' journals. It is for tests that failed, to be called before Stop.
func (c *Cluster) Logs(lines int) string {
	text := tail(c.place.path("etcd.log"), lines)
	for _, m := range c.machines {
		text += m.Logs(lines)
	}
	return text
}

// StopEtcd ends etcd in good order and returns when it has ended.
func (c *Cluster) StopEtcd(ctx context.Context) error { return c.etcd.stop(ctx) }

// StartEtcd starts an etcd that was stopped, with the data it had and on the same port, and returns when it answers.
func (c *Cluster) StartEtcd(ctx context.Context) error { return c.etcd.start(ctx) }

// RestartEtcd is StopEtcd and StartEtcd.
func (c *Cluster) RestartEtcd(ctx context.Context) error {
	if err := c.StopEtcd(ctx); err != nil {
		return err
	}
	return c.StartEtcd(ctx)
}

// PauseEtcd stops etcd's process where it stands (SIGSTOP): it accepts connections and answers nothing.
func (c *Cluster) PauseEtcd() error { return c.etcd.pause() }

// ResumeEtcd lets a paused etcd go on.
func (c *Cluster) ResumeEtcd() error { return c.etcd.resume() }

func copyFile(to, from string) error {
	text, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, text, 0o755)
}

// provideInotify sees to it that all machines can start: each takes about eight of the inotify instances of which the kernel
// gives a user 128 by default, and a systemd that gets none hangs at its start.
func provideInotify() error {
	const path, enough = "/proc/sys/fs/inotify/max_user_instances", 4096
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if limit, err := strconv.Atoi(strings.TrimSpace(string(text))); err == nil && limit >= enough {
		return nil
	}
	return os.WriteFile(path, []byte(strconv.Itoa(enough)), 0)
}

func checkRequirements() error {
	if os.Geteuid() != 0 {
		return errors.New("it needs root: it mounts, and starts machines")
	}
	for _, need := range [][2]string{
		{"etcd", "etcd-server"},
		{"systemd-nspawn", "systemd-container"},
		{"nsenter", "util-linux"},
		{"dbus-daemon", "dbus"},
	} {
		if _, err := exec.LookPath(need[0]); err != nil {
			return fmt.Errorf("there is no %s: install the Debian package %s", need[0], need[1])
		}
	}
	return nil
}

// path gives a path below the cluster's file system.
func (p place) path(elements ...string) string {
	return filepath.Join(append([]string{p.dir, "run"}, elements...)...)
}
