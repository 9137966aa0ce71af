package sshd

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// Connection is what the server has running for one connection: a process of root's, one of the user's below it, and
// below that one a process for each session's command.
type Connection struct {
	pid int
}

// Connections gives the connections that there are.
func (s *Server) Connections() []Connection {
	var connections []Connection
	for _, pid := range children(s.cmd.Process.Pid) {
		connections = append(connections, Connection{pid})
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

// Pause stops the connection's processes where they stand.
func (c Connection) Pause() { c.signal(syscall.SIGSTOP) }

// Resume lets paused processes go on.
func (c Connection) Resume() { c.signal(syscall.SIGCONT) }

func (c Connection) signal(signal syscall.Signal) {
	for _, pid := range append(descendants(c.pid), c.pid) {
		_ = syscall.Kill(pid, signal) // it may have ended
	}
}

func descendants(pid int) []int {
	var all []int
	for _, child := range children(pid) {
		all = append(append(all, child), descendants(child)...)
	}
	return all
}

// children gives the processes whose parent a process is, in the order of their numbers.
func children(parent int) []int {
	var pids []int
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, stat := range stats {
		text, err := os.ReadFile(stat)
		if err != nil {
			continue
		}
		// "pid (name) state ppid …", and the name may have anything in it.
		_, rest, _ := strings.Cut(string(text[strings.LastIndexByte(string(text), ')')+1:]), " ")
		fields := strings.Fields(rest)
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(stat)))
		if err == nil && len(fields) > 1 && fields[1] == strconv.Itoa(parent) && fields[0] != "Z" {
			pids = append(pids, pid)
		}
	}
	slices.Sort(pids)
	return pids
}
