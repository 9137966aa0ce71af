package cluster

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/squadronctl/squadron/integration/cluster/remains"
	"github.com/squadronctl/squadron/integration/sigstop"
)

// idBase plus n is machine n's ID.
const idBase = 0xf1ee70

// IDOf gives the ID that machine n has in every cluster, n from 1.
func IDOf(n int) string { return fmt.Sprintf("%032x", idBase+n) }

// Machine is one host of the cluster: a systemd of its own that runs fleetd. It shares the network with the host.
type Machine struct {
	// Name is mN; the metadata name has it as well.
	Name string
	// ID is the machine's ID, the same over restarts.
	ID string
	// Zone is its metadata zone: a, b or c.
	Zone string

	place   place
	number  int
	etcd    url.URL
	running *process
}

func newMachine(p place, n int, etcd url.URL) *Machine {
	return &Machine{
		Name: "m" + strconv.Itoa(n), ID: IDOf(n), Zone: string("abc"[(n-1)%3]),
		place: p, number: n, etcd: etcd,
	}
}

// Endpoint gives the machine's fleet API over TCP. Its port stays the same over restarts.
func (m *Machine) Endpoint() url.URL { return localURL(m.place.port(1 + m.number)) }

// Socket gives the machine's fleet API as a unix socket of the host's, unix:///path. The path stays the same over restarts.
// Inside the machine the socket is /run/fleet.sock.
func (m *Machine) Socket() url.URL {
	return url.URL{Scheme: "unix", Path: filepath.Join(m.shared(), "fleet.sock")}
}

// Root gives the directory that is the machine's /, seen from the host. Of what the machine has mounted, such as /run and
// /tmp, it shows nothing.
func (m *Machine) Root() string { return m.place.path(m.Name, "root") }

// shared is the directory that the machine has as sharedInside.
func (m *Machine) shared() string { return m.place.path(m.Name, "shared") }

// Start boots a machine that was killed or shut down, from the disk that it had, and returns when its fleetd answers and
// lists it.
//
// After Kill that takes up to half a minute: fleetd serves nothing until the machine's old registration has run out, which
// is 30 s after it was last renewed.
func (m *Machine) Start(ctx context.Context) error {
	if m.running.alive() {
		return fmt.Errorf("start %s: it runs already", m.Name)
	}
	if err := m.spawn(); err != nil {
		return fmt.Errorf("start %s: %w", m.Name, err)
	}
	return m.waitListed(ctx, m)
}

// waitListed waits until the machine's fleetd lists these machines.
func (m *Machine) waitListed(ctx context.Context, others ...*Machine) error {
	endpoint := m.Endpoint()
	err := m.running.poll(ctx, func(ctx context.Context) error {
		var page struct{ Machines []struct{ ID string } }
		if err := get(ctx, endpoint.String()+"/fleet/v1/machines", &page); err != nil {
			return err
		}
		for _, other := range others {
			if !slices.Contains(page.Machines, struct{ ID string }{other.ID}) {
				return fmt.Errorf("%s does not list %s", m.Name, other.Name)
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("wait for fleetd on %s: %w\n%s", m.Name, err, m.Logs(20))
	}
	return nil
}

// Kill ends all of the machine's processes at once, as if its power went. What it had on its disk stays for Start. The
// cluster lists it until its registration's TTL of 30 s has run out.
func (m *Machine) Kill() error {
	pids, err := m.processes()
	if err != nil {
		return fmt.Errorf("kill %s: %w", m.Name, err)
	}
	for _, pid := range pids {
		m.signal(pid, unix.SIGKILL)
	}
	if err := m.running.signal(syscall.SIGKILL); err != nil && len(pids) == 0 {
		return fmt.Errorf("kill %s: %w", m.Name, err)
	}
	m.reap()
	return m.waitGone()
}

// waitGone waits for the processes that were killed.
func (m *Machine) waitGone() error {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	for {
		pids, err := m.processes()
		if err != nil || len(pids) == 0 {
			return err
		}
		if err := pause(ctx, 10*time.Millisecond); err != nil {
			return fmt.Errorf("processes of %s don't end: %v: %w", m.Name, pids, err)
		}
	}
}

// Shutdown powers the machine off in good order: its units are stopped, and fleetd takes back its registration. It returns
// when the machine is off.
func (m *Machine) Shutdown(ctx context.Context) error {
	err := m.running.signal(syscall.SIGTERM)
	if err == nil {
		err = m.running.wait(ctx)
	}
	if err != nil {
		return fmt.Errorf("shut down %s: %w", m.Name, err)
	}
	return nil
}

// Pause stops all processes of the machine where they stand (SIGSTOP), as if its host hung: connections to it are accepted
// and not answered. After 30 s the cluster takes it for lost.
func (m *Machine) Pause() error {
	stopped := map[int]bool{}
	// One that was not stopped yet may have started another meanwhile.
	for {
		pids, err := m.processes()
		if err != nil {
			return fmt.Errorf("pause %s: %w", m.Name, err)
		}
		fresh := slices.DeleteFunc(pids, func(pid int) bool { return stopped[pid] })
		if len(fresh) == 0 {
			break
		}
		for _, pid := range fresh {
			m.signal(pid, unix.SIGSTOP)
			stopped[pid] = true
		}
	}
	if len(stopped) == 0 {
		return fmt.Errorf("pause %s: it does not run", m.Name)
	}
	for pid := range stopped {
		if err := sigstop.Wait(pid); err != nil {
			return fmt.Errorf("pause %s: %w", m.Name, err)
		}
	}
	return nil
}

// Resume lets a paused machine go on.
func (m *Machine) Resume() error {
	pids, err := m.processes()
	if err == nil && len(pids) == 0 {
		err = errors.New("it does not run")
	}
	if err != nil {
		return fmt.Errorf("resume %s: %w", m.Name, err)
	}
	for _, pid := range pids {
		m.signal(pid, unix.SIGCONT)
	}
	return nil
}

// processes gives the IDs, as the host counts, of the machine's processes.
func (m *Machine) processes() ([]int, error) {
	return remains.ProcessesInside(m.place.path(m.Name))
}

// signal sends a signal to one of these, which may have ended.
func (m *Machine) signal(pid int, number unix.Signal) {
	remains.SignalInside(pid, m.place.path(m.Name), number)
}

// Command gives a command that runs inside the machine, with standard streams and exit status its own; the program is
// looked for in the machine. Its Env, unless set, is the caller's.
func (m *Machine) Command(ctx context.Context, name string, args ...string) *exec.Cmd {
	leader, err := m.leader()
	if err != nil {
		cmd := exec.CommandContext(ctx, name, args...)
		cmd.Err = fmt.Errorf("run %s in %s: %w", name, m.Name, err)
		return cmd
	}
	return exec.CommandContext(ctx, "nsenter", append([]string{"-a", "-t", strconv.Itoa(leader), "--", name}, args...)...)
}

// run runs a command inside the machine; its error carries what it printed.
func (m *Machine) run(ctx context.Context, name string, args ...string) error {
	text, err := m.Command(ctx, name, args...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s on %s: %w: %.500s", name, m.Name, err, text)
	}
	return nil
}

// reap waits for a process that was killed.
func (m *Machine) reap() {
	if m.running != nil {
		<-m.running.done
	}
}
