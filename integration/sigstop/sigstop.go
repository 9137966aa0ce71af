// Package sigstop waits until a process that was sent SIGSTOP has stopped. The signal only asks for it: a thread stops when it
// next returns from the kernel, and on a busy machine a server can answer some requests until then.
package sigstop

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// limit is how long a process may take.
const limit = 10 * time.Second

// Wait returns when no thread of the process runs code of its own any more, or when it has ended. It is an error that one
// still does so after ten seconds.
func Wait(pid int) error { return wait(pid, limit) }

func wait(pid int, limit time.Duration) error {
	for end := time.Now().Add(limit); ; time.Sleep(time.Millisecond) {
		states, err := threads(pid)
		runs := strings.ContainsAny(states, "RS")
		late := time.Now().After(end)
		switch {
		case err != nil:
			return fmt.Errorf("wait until process %d has stopped: %w", pid, err)
		case states == "", !runs && strings.ContainsAny(states, "Tt"):
			return nil
		case !runs && late:
			return nil // it waits in the kernel, as for the child that it has just made, and stops on its way out
		case late:
			return fmt.Errorf("process %d still runs %s after it was told to stop", pid, limit)
		}
	}
}

// threads gives the states of a process's threads, a letter for each as proc_pid_stat(5) has them. Dead ones are left out.
func threads(pid int) (string, error) {
	files, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
	if err != nil {
		return "", err
	}
	var states strings.Builder
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			continue // it has ended
		}
		// "pid (name) state …", and the name may have anything in it.
		_, rest, _ := strings.Cut(string(text[bytes.LastIndexByte(text, ')')+1:]), " ")
		if rest != "" && !strings.ContainsAny(rest[:1], "ZXx") {
			states.WriteString(rest[:1])
		}
	}
	return states.String(), nil
}
