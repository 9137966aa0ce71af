package cluster

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// Logs gives the last lines, as many as given of each, of the machine's console, of its fleetd's log, and of its journal.
// It can be read while the machine is off, too.
func (m *Machine) Logs(lines int) string {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	journal := filepath.Join(m.Root(), "var/log/journal", m.ID)
	text, err := exec.CommandContext(ctx, "journalctl", "-D", journal, "-n", strconv.Itoa(lines), "-q", "--no-pager").CombinedOutput()
	if err != nil {
		text = append(text, err.Error()+"\n"...)
	}
	return tail(m.place.path(m.Name, "console.log"), lines) + tail(filepath.Join(m.shared(), "fleetd.log"), lines) +
		headed("journal of "+m.Name, string(text))
}

// tail gives a file's last lines below its name.
func tail(path string, lines int) string {
	text, err := os.ReadFile(path)
	if err != nil {
		return headed(path, err.Error())
	}
	all := strings.Split(strings.TrimRight(string(text), "\n"), "\n")
	return headed(path, strings.Join(all[max(0, len(all)-lines):], "\n"))
}

func headed(title, text string) string {
	return fmt.Sprintf("---- %s\n%s\n", title, strings.TrimRight(text, "\n"))
}
