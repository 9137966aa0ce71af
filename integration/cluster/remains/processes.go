package remains

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Processes gives the IDs of the cluster's processes: those that carry its mark in their environment, and those inside its
// machines. Zombies are not among them.
func Processes(dir string) ([]int, error) {
	return find(func(pid int) bool { return marked(pid, dir) || Inside(pid, dir) })
}

// ProcessesInside gives the IDs of the processes, as the host counts them, whose root is a machine's root below dir.
func ProcessesInside(dir string) ([]int, error) {
	return find(func(pid int) bool { return Inside(pid, dir) })
}

func find(match func(pid int) bool) ([]int, error) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, err
	}
	var found []int
	for _, entry := range entries {
		if pid, err := strconv.Atoi(entry.Name()); err == nil && match(pid) {
			found = append(found, pid)
		}
	}
	return found, nil
}

func marked(pid int, dir string) bool {
	text, err := os.ReadFile(procPath(pid, "environ"))
	if err != nil {
		return false
	}
	return slices.ContainsFunc(bytes.Split(text, []byte{0}), func(variable []byte) bool {
		return string(variable) == EnvKey+"="+dir
	})
}

// Inside says whether the process's root is an overlay whose upper directory stands below dir.
func Inside(pid int, dir string) bool {
	namespace, err := os.Readlink(procPath(pid, "ns/mnt"))
	if err != nil {
		return false
	}
	if own, err := os.Readlink("/proc/self/ns/mnt"); err != nil || own == namespace {
		return false
	}
	text, err := os.ReadFile(procPath(pid, "mountinfo"))
	if err != nil {
		return false
	}
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line)
		if len(fields) > 5 && fields[4] == "/" && strings.Contains(fields[len(fields)-1], "upperdir="+dir+"/") {
			return true
		}
	}
	return false
}

func procPath(pid int, name string) string {
	return filepath.Join("/proc", strconv.Itoa(pid), name)
}

// endProcesses kills what is there and gives an error while something is.
func endProcesses(dir string) error {
	pids, err := Processes(dir)
	if err != nil {
		return err
	}
	for _, pid := range pids {
		signal(pid, unix.SIGKILL, func() bool { return marked(pid, dir) || Inside(pid, dir) })
	}
	if len(pids) > 0 {
		return fmt.Errorf("processes of %s don't end: %d", dir, pids)
	}
	return nil
}

// SignalInside sends a signal to a process of those that ProcessesInside gives, unless it has ended meanwhile.
func SignalInside(pid int, dir string, number unix.Signal) {
	signal(pid, number, func() bool { return Inside(pid, dir) })
}

// signal looks at the process again once it holds on to it, as its ID can have gone to another one meanwhile.
func signal(pid int, number unix.Signal, match func() bool) {
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return
	}
	defer unix.Close(fd)
	if match() {
		_ = unix.PidfdSendSignal(fd, number, nil, 0) // it may have ended
	}
}

// IsFirst says whether the process is PID 1 of a PID namespace one below the host's.
func IsFirst(pid int) bool {
	text, err := os.ReadFile(procPath(pid, "status"))
	if err != nil {
		return false
	}
	for line := range strings.Lines(string(text)) {
		if numbers, is := strings.CutPrefix(line, "NSpid:"); is {
			fields := strings.Fields(numbers)
			return len(fields) > 1 && fields[len(fields)-1] == "1"
		}
	}
	return false
}
