// Package systemd is the backend for one host: it keeps the contract of package fleet on the host's own systemd, over
// D-Bus, so that groups, updates and squadronctl work on a single machine without a cluster.
//
// # What is where
//
// A unit's file stands in a directory of the package's own (Config.Directory), is linked into systemd from there, and
// begins with one comment line that tells by whom it was written and which text follows. That a unit is launched is
// told by one link in the directory squadron.target.wants, and by nothing else: the link is there before the unit is
// started and gone before it is stopped, and after a reboot systemd starts what has one. So launched units come back,
// and loaded ones stay stopped, whether or not a program of ours runs. Each change of a file or link is atomic and on
// disk when the operation returns; an operation that was killed half-way is done by repeating it.
//
// # What is left alone
//
// A unit that the package did not write is never touched. A name that systemd has from elsewhere is refused
// (IsForeignUnit), drop-ins are neither read nor written, and a file in the directory that was put there by others is
// no unit. A file of ours that was changed by hand since is reported at WARNING before it is replaced; until then its
// hash is that of the text as it is now, so that an update sees that it differs.
//
// # One host is the cluster
//
// The host is the one machine there is. Options of X-Fleet are checked when a unit is submitted, and one that can't
// hold here is refused (IsUnmetRequirement): MachineID and MachineMetadata have to be this host's, MachineOf has to
// name a unit that is here or being submitted, Conflicts must not match a unit that is here, in either direction, and
// Replaces must not either, since what is replaced could go nowhere. Global means this host.
package systemd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"sync"
	"time"

	"github.com/squadronctl/squadron/fleet"
	"github.com/squadronctl/squadron/internal/errclass"
	"github.com/squadronctl/squadron/internal/errmask"
	"github.com/squadronctl/squadron/internal/namelock"
	"github.com/squadronctl/squadron/logging"
)

// Config is what New needs. The zero Config is for the system's manager, with units that outlast a reboot.
type Config struct {
	// User selects the manager of the user that runs the program, instead of the system's. It runs while the user is
	// logged in, and always where the user lingers (loginctl enable-linger).
	User bool
	// Directory holds the unit files. It is made when the first unit is submitted, and has to be an absolute path.
	// Default: /etc/squadron/units, and squadron/units in $XDG_CONFIG_HOME for a user; see Runtime, too.
	Directory string
	// Runtime keeps everything below /run, so that nothing is left after a reboot. Directory is then by default
	// /run/squadron/units, and squadron/units in $XDG_RUNTIME_DIR for a user.
	Runtime bool
	// Metadata is what MachineMetadata in a unit file is matched against; none by default.
	Metadata map[string]string
	// Logger is told, at WARNING, of files changed by hand and of users that don't linger, and at DEBUG of each change;
	// nil means silence.
	Logger logging.Logger
	// Timeouts bound what systemd may take.
	Timeouts Timeouts
}

// Timeouts bound what systemd may take; a zero field means its default.
type Timeouts struct {
	// Call bounds a single call, a daemon-reload included: 30 seconds by default. A call that takes longer is an error
	// of fleet.IsTemporary.
	Call time.Duration
	// Job is how long Start, Stop and SubmitLaunched wait for the result of their job: 10 seconds by default. A job
	// that takes longer goes on, and the unit's state tells how it ends.
	Job time.Duration
	// Stop bounds the end of a unit that is about to be replaced or destroyed: 3 minutes by default, twice of what
	// systemd gives a service. One that takes longer is an error of fleet.IsTemporary, and the unit stays.
	Stop time.Duration
}

// Host is the backend that New gives. Beyond fleet.Fleet it offers fleet.UnitReader, fleet.ContentReader,
// fleet.MachineReader, fleet.Launcher, fleet.UnitWatcher, fleet.ConcurrencyAdviser and io.Closer.
type Host struct {
	config  Config
	disk    disk
	manager manager
	logger  logging.Logger
	host    hostFacts

	reloads *batch[struct{}]  // daemon-reloads
	syncs   *batch[struct{}]  // writing out the directories
	lists   *batch[hostNames] // the names that are here
	knowns  *batch[unitState] // what systemd has in memory
	loads   *batch[error]     // seeing to it that systemd has the files of units
	names   namelock.Locks
	claims  claims
	facts   factCache
	watches watches

	target   sync.Mutex // held while squadron.target is made
	lingers  sync.Once
	searched searchPath
	life     lifetime
	step     func(string) // called between any two steps of a change
}

var (
	_ fleet.Fleet         = (*Host)(nil)
	_ fleet.UnitReader    = (*Host)(nil)
	_ fleet.ContentReader = (*Host)(nil)
	_ fleet.MachineReader = (*Host)(nil)
	_ fleet.Launcher      = (*Host)(nil)
	_ fleet.UnitWatcher   = (*Host)(nil)
	_ io.Closer           = (*Host)(nil)

	_ fleet.ConcurrencyAdviser = (*Host)(nil)
)

// New gives the backend for this host; the value is a *Host. It does not talk to systemd yet: what is missing of it
// shows with the first call, as an error of IsUnavailable or IsNotPermitted. A directory that can't be one gives an
// error for which fleet.IsInvalidRequest is true.
func New(config Config) (fleet.Fleet, error) {
	places, err := placesOf(config)
	if err != nil {
		return nil, errmask.Maskf(err, "systemd backend")
	}
	return newHost(config, newDisk(places), newBus(config.User, config.Timeouts.withDefaults().Call), thisHost), nil
}

func newHost(config Config, d disk, m manager, facts hostFacts) *Host {
	config.Metadata = maps.Clone(config.Metadata)
	config.Timeouts = config.Timeouts.withDefaults()
	h := &Host{config: config, disk: d, manager: m, logger: logging.OrSilent(config.Logger), host: facts, step: func(string) {}}
	h.reloads = &batch[struct{}]{life: &h.life, run: forAll(m.Reload)}
	h.syncs = &batch[struct{}]{life: &h.life, run: forAll(func(context.Context) error { return h.disk.sync() })}
	h.lists = &batch[hostNames]{life: &h.life, run: h.listNames}
	h.knowns = &batch[unitState]{life: &h.life, run: m.Known}
	h.loads = &batch[error]{life: &h.life, run: h.refresh}
	h.disk.removeLeftovers()
	return h
}

func (t Timeouts) withDefaults() Timeouts {
	for _, timeout := range []struct {
		value *time.Duration
		by    time.Duration
	}{{&t.Call, 30 * time.Second}, {&t.Job, 10 * time.Second}, {&t.Stop, 3 * time.Minute}} {
		if *timeout.value <= 0 {
			*timeout.value = timeout.by
		}
	}
	return t
}

// Submit writes the unit, or replaces its content, and has systemd load it; its desired state is loaded. It returns
// when systemd has it. A unit that runs is stopped first. Errors are those of fleet.IsInvalidRequest for a name or
// content that can't be one, and for a requirement that this host never meets; of fleet.IsConflict for a foreign unit
// (IsForeignUnit) and for a requirement that fails on what else is here (IsUnmetRequirement).
func (h *Host) Submit(ctx context.Context, name, content string) error {
	return errmask.Maskf(h.submit(ctx, name, content, false), "submit %s", short(name))
}

// SubmitLaunched does what Submit followed by Start does. A unit of the same content that runs already keeps running.
func (h *Host) SubmitLaunched(ctx context.Context, name, content string) error {
	return errmask.Maskf(h.submit(ctx, name, content, true), "submit %s launched", short(name))
}

// Start sets the unit's desired state to launched, starts it, and waits for the job's result, Timeouts.Job at most. A
// unit that fails to start is no error: its state tells. An error is that systemd did not take the request, or that the
// job came to an end that the unit's state does not tell, such as the failure of another unit that this one requires;
// the desired state is launched then, too.
func (h *Host) Start(ctx context.Context, name string) error {
	return errmask.Maskf(h.change(ctx, name, h.launch), "start %s", short(name))
}

// Stop sets the unit's desired state to loaded, stops it, and waits until it has stopped, Timeouts.Job at most.
func (h *Host) Stop(ctx context.Context, name string) error {
	return errmask.Maskf(h.change(ctx, name, h.unload), "stop %s", short(name))
}

// Destroy stops the unit, takes it from systemd, forgets that it has failed, and removes its file. It returns when the
// unit is gone.
func (h *Host) Destroy(ctx context.Context, name string) error {
	return errmask.Maskf(h.destroy(ctx, name), "destroy %s", short(name))
}

// concurrency is so high that what many units have in common is done for them in few goes: writing out directories, and
// having systemd read its directories and load the units.
const concurrency = 512

// Concurrency says that a few hundred operations are best done side by side.
func (h *Host) Concurrency() int { return concurrency }

// Close ends the connections to systemd, and all watches. It waits for what is under way in the background. Calls after
// it fail.
func (h *Host) Close() error {
	h.life.refuse() // first, so that a watch that begins meanwhile is either refused or among those that end
	err := h.manager.Close()
	h.watches.close()
	h.life.end()
	return errmask.Maskf(err, "close the systemd backend")
}

// lifetime owns the goroutines of a Host.
type lifetime struct {
	mutex sync.Mutex
	ended bool
	wait  sync.WaitGroup
}

var errClosed = errors.New("the backend is closed")

// spawn runs f in a goroutine that end waits for.
func (l *lifetime) spawn(f func()) error {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if l.ended {
		return errClosed
	}
	l.wait.Go(f)
	return nil
}

// refuse lets no goroutine begin from now on.
func (l *lifetime) refuse() {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.ended = true
}

// end returns when no goroutine runs any more, and none can begin.
func (l *lifetime) end() {
	l.refuse()
	l.wait.Wait()
}

// checkDirectory refuses a directory that can't hold unit files of ours.
func checkDirectory(directory, links string) error {
	switch {
	case !filepath.IsAbs(directory):
		return errclass.With(errclass.ErrInvalidRequest, fmt.Errorf("directory %q is not an absolute path", directory))
	case directory == links:
		return errclass.With(errclass.ErrInvalidRequest, fmt.Errorf("directory %s is systemd's own", directory))
	}
	return nil
}
