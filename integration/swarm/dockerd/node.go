package dockerd

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/moby/moby/client"

	"github.com/squadronctl/squadron/integration/cluster/remains"
)

// cli is Debian's docker command; another client may stand before it in PATH.
const cli = "/usr/bin/docker"

// Node is one engine of a swarm.
type Node struct {
	// Name is the host name that the engine sees: m1 is the manager, m2 the worker.
	Name string
	// ID is the node's ID in the swarm.
	ID string

	place   place
	address string // within the swarm
	client  *client.Client
	cmd     *exec.Cmd     // the first process of the node's space of processes
	ended   chan struct{} // closed when that has ended
}

func newNode(p place, number int) (*Node, error) {
	n := &Node{Name: "m" + strconv.Itoa(number), place: p, address: "10.77.0." + strconv.Itoa(number)}
	if err := os.MkdirAll(p.path(n.Name), 0o755); err != nil {
		return nil, err
	}
	var err error
	n.client, err = client.New(client.WithHost(n.Host()))
	return n, err
}

// Socket gives the path of the engine's socket, which stays the same over restarts.
func (n *Node) Socket() string { return n.place.path(n.Name, "sock") }

// Host gives the engine's address as DOCKER_HOST takes it.
func (n *Node) Host() string { return (&url.URL{Scheme: "unix", Path: n.Socket()}).String() }

// Client gives a client of the engine's API, which Stop closes.
func (n *Node) Client() *client.Client { return n.client }

// script furnishes the node's spaces and becomes what follows in the arguments. Memory stands in for what an engine keeps
// outside of its data, so that this is gone with the node as it is with a machine.
const script = `set -e
mount --make-rprivate /
mount --make-rshared /
mount -t proc proc /proc
mount -t tmpfs -o mode=755 run /run
mkdir -p /etc/docker
mount -t tmpfs docker /etc/docker
hostname "$1"
ip link set lo up
ip link add swarm0 type bridge
ip address add "$2/24" dev swarm0
ip link set swarm0 up
shift 2
exec "$@"`

// launch starts the engine and waits until it answers.
func (n *Node) launch(ctx context.Context) error {
	log, err := os.OpenFile(n.log(), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o644)
	if err != nil {
		return err
	}
	defer log.Close()
	n.cmd = exec.Command("/bin/sh", "-c", script, "sh", n.Name, n.address,
		"docker-init", "--", "dockerd", "--data-root", n.place.path(n.Name, "data"), "--host", n.Host(),
		"--exec-opt", "native.cgroupdriver=cgroupfs", "--cgroup-parent", "/"+n.place.name()+"-"+n.Name)
	n.cmd.Stdout, n.cmd.Stderr = log, log
	n.cmd.Env = []string{"PATH=" + os.Getenv("PATH"), remains.EnvKey + "=" + n.place.dir}
	n.cmd.SysProcAttr = &syscall.SysProcAttr{
		Setsid:     true,
		Pdeathsig:  syscall.SIGKILL, // and with the first process all others of the space
		Cloneflags: syscall.CLONE_NEWNS | syscall.CLONE_NEWPID | syscall.CLONE_NEWNET | syscall.CLONE_NEWUTS,
	}
	if err := n.cmd.Start(); err != nil {
		return fmt.Errorf("start %s: %w", n.Name, err)
	}
	n.ended = make(chan struct{})
	go func() {
		_ = n.cmd.Wait() // how it ended stands in ProcessState
		close(n.ended)
	}()
	err = poll(ctx, n, func(ctx context.Context) error {
		_, err := n.client.Ping(ctx, client.PingOptions{})
		return err
	})
	if err != nil {
		return fmt.Errorf("start %s: %w", n.Name, err)
	}
	return nil
}

// alive says whether the engine was started and has not ended.
func (n *Node) alive() bool {
	if n.ended == nil {
		return false
	}
	select {
	case <-n.ended:
		return false
	default:
		return true
	}
}

// Kill ends all processes of the node at once, its containers' included, as if the power went, and returns when they have
// ended. A node that does not run stays so.
func (n *Node) Kill() {
	if !n.alive() {
		return
	}
	_ = n.cmd.Process.Kill() // it has ended, or it does now
	<-n.ended
}

// Restart starts a node that was killed, with the data it had, and returns when its engine answers. The manager may take
// a moment more until it says that the node is ready: see WaitState.
func (s *Swarm) Restart(ctx context.Context, n *Node) error {
	n.Kill()
	if err := n.launch(ctx); err != nil {
		return err
	}
	return s.link(ctx)
}

// Docker gives a command of Debian's docker client to the node's engine.
func (n *Node) Docker(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, cli, append([]string{"--host", n.Host(), "--config", n.place.path("config")}, args...)...)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + n.place.path()}
	return cmd
}

// Command gives a command that sees the node's network, where ports are published.
func (n *Node) Command(ctx context.Context, name string, args ...string) *exec.Cmd {
	return exec.CommandContext(ctx, "nsenter", append([]string{"-t", n.pid(), "-n", name}, args...)...)
}

func (n *Node) pid() string { return strconv.Itoa(n.cmd.Process.Pid) }

func (n *Node) log() string { return n.place.path(n.Name, "log") }

// Logs gives the last lines of what the engine has logged.
func (n *Node) Logs(lines int) string {
	text, err := os.ReadFile(n.log())
	if err != nil {
		return fmt.Sprintf("---- %s\n%v\n", n.Name, err)
	}
	all := strings.Split(strings.TrimRight(string(text), "\n"), "\n")
	return fmt.Sprintf("---- %s\n%s\n", n.Name, strings.Join(all[max(0, len(all)-lines):], "\n"))
}

// link connects two nodes that run and are not connected.
func (s *Swarm) link(ctx context.Context) error {
	if len(s.nodes) < 2 {
		return nil
	}
	first, second := s.nodes[0], s.nodes[1]
	steps := [][]string{
		{"ip", "link", "add", "wire", "netns", first.pid(), "type", "veth", "peer", "name", "wire", "netns", second.pid()},
	}
	for _, n := range s.nodes {
		steps = append(steps, []string{"nsenter", "-t", n.pid(), "-n", "ip", "link", "set", "wire", "master", "swarm0", "up"})
	}
	for _, step := range steps {
		if text, err := exec.CommandContext(ctx, step[0], step[1:]...).CombinedOutput(); err != nil {
			return fmt.Errorf("%s: %w: %s", strings.Join(step, " "), err, text)
		}
	}
	return nil
}

// poll asks until the answer is good, the node has ended or the context has; the error then carries the last one asked.
func poll(ctx context.Context, n *Node, ask func(context.Context) error) error {
	for {
		limited, cancel := context.WithTimeout(ctx, 10*time.Second)
		err := ask(limited)
		cancel()
		if err == nil {
			return nil
		}
		select {
		case <-n.ended:
			return fmt.Errorf("it has ended: %v", n.cmd.ProcessState)
		case <-ctx.Done():
			return errors.Join(context.Cause(ctx), err)
		case <-time.After(50 * time.Millisecond):
		}
	}
}
