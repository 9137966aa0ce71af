package sshd

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/squadronctl/squadron/integration/sigstop"
)

// Connection is what the server has running for one connection: a process of root's, one of the user's below it, and
// below that one a process for each session's command.
type Connection struct {
	pid     int
	started string // when, in the kernel's clock: IDs are given again
}

// Connections gives the connections that there are.
func (s *Server) Connections() []Connection {
	var connections []Connection
	for _, pid := range children(s.cmd.Process.Pid) {
		if stat := readStat(pid); stat != nil && stat[1] == strconv.Itoa(s.cmd.Process.Pid) {
			connections = append(connections, Connection{pid, stat[startField]})
		}
	}
	return connections
}

// Open counts what a connection has open.
type Open struct {
	// Files are the file descriptors of its two processes.
	Files int
	// Commands are the processes that its sessions have started.
	Commands int
}

// Open counts what the connection has open at the moment.
func (c Connection) Open() Open {
	var open Open
	own := children(c.pid)
	for _, pid := range append([]int{c.pid}, own...) {
		files, _ := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid)) // none where it has ended
		open.Files += len(files)
	}
	for _, pid := range own {
		open.Commands += len(children(pid))
	}
	return open
}

// Cut ends the connection as if its host had been switched off: nobody says goodbye.
func (c Connection) Cut() { c.signal(syscall.SIGKILL) }

// Pause stops the connection's processes where they stand, and returns when they have stopped.
func (c Connection) Pause() error {
	c.signal(syscall.SIGSTOP)
	for _, pid := range append(descendants(c.pid), c.pid) {
		if err := sigstop.Wait(pid); err != nil {
			return fmt.Errorf("pause a connection: %w", err)
		}
	}
	return nil
}

// Resume lets paused processes go on.
func (c Connection) Resume() { c.signal(syscall.SIGCONT) }

// signal reaches nobody where the connection has ended.
func (c Connection) signal(signal syscall.Signal) {
	process, err := os.FindProcess(c.pid) // holds on to it
	if err != nil {
		return
	}
	defer process.Release()
	if stat := readStat(c.pid); stat == nil || stat[startField] != c.started {
		return
	}
	for _, pid := range descendants(c.pid) {
		_ = syscall.Kill(pid, signal) // it may have ended
	}
	_ = process.Signal(signal)
}

func descendants(pid int) []int {
	var all []int
	for _, child := range children(pid) {
		all = append(append(all, child), descendants(child)...)
	}
	return all
}

// startField is where readStat has the time of a process's start.
const startField = 19

// readStat gives what the kernel tells of a process: state, parent and what follows; nil where it has ended.
func readStat(pid int) []string {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return nil
	}
	// "pid (name) state ppid …", and the name may have anything in it.
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	if len(fields) <= startField || fields[0] == "Z" {
		return nil
	}
	return fields
}

// children gives the processes whose parent a process is, in the order of their numbers.
func children(parent int) []int {
	var pids []int
	entries, _ := os.ReadDir("/proc")
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil {
			continue
		}
		if stat := readStat(pid); stat != nil && stat[1] == strconv.Itoa(parent) {
			pids = append(pids, pid)
		}
	}
	slices.Sort(pids)
	return pids
}
