package systemd

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const (
	repository = "../.."
	// pageAddress is where the example serves; the machine shares the host's network, so that tests take a free port.
	pageAddress = "127.0.0.1:8080"
	// home is where the page has its copy of the example.
	home = "/root/single-host"
)

// buildExample builds what the page does into the machine.
func buildExample(ctx context.Context) error {
	for program, source := range map[string]string{"squadronctl": "./cmd/squadronctl", "greet": "./examples/single-host/server"} {
		to := filepath.Join(machine.Root(), "usr/local/bin", program)
		build := exec.CommandContext(ctx, "go", "build", "-buildvcs=false", "-o", to, source)
		build.Dir, build.Env = repository, append(os.Environ(), "CGO_ENABLED=0")
		if text, err := build.CombinedOutput(); err != nil {
			return fmt.Errorf("build %s: %w\n%s", program, err, text)
		}
	}
	return nil
}

// copyExample copies the example into the machine, to serve at an address that is free.
func copyExample(t *testing.T) (address string) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	address = listener.Addr().String()
	require.NoError(t, listener.Close())
	to := filepath.Join(machine.Root(), home)
	require.NoError(t, os.RemoveAll(to))
	require.NoError(t, os.CopyFS(to, os.DirFS(filepath.Join(repository, "examples/single-host"))))
	socket := filepath.Join(to, "front/front.socket")
	text, err := os.ReadFile(socket)
	require.NoError(t, err)
	require.Contains(t, string(text), pageAddress)
	require.NoError(t, os.WriteFile(socket, []byte(strings.ReplaceAll(string(text), pageAddress, address)), 0o644))
	return address
}

// shell runs a script in the machine, in the example's directory, and gives what it prints.
func shell(t *testing.T, script string) string {
	t.Helper()
	out, err := tryShell(t, script)
	require.NoError(t, err)
	return out
}

// tryShell does the same with a script that may fail.
func tryShell(t *testing.T, script string) (string, error) {
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	defer cancel()
	cmd := machine.Command(ctx, "/bin/sh", "-e", "-c", "cd "+home+"; export SQUADRON_ENDPOINT=systemd:\n"+script)
	cmd.Env = []string{"PATH=/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/root"}
	var out, problems strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &problems
	err := cmd.Run()
	if err != nil {
		err = fmt.Errorf("%s: %w\n%s%s", script, err, out.String(), problems.String())
	}
	return out.String(), err
}

// removeExample leaves nothing of the example.
func removeExample(t *testing.T) {
	shell(t, "squadronctl destroy web --yes || [ $? = 3 ]; squadronctl destroy front --yes || [ $? = 3 ]")
	check(t, "", "clean")
}

var (
	consoleBlock = regexp.MustCompile("(?ms)^```console\n(.*?)^```$")
	sliceID      = regexp.MustCompile(`@[0-9a-f]{3}\b`)
)

// The commands of docs/single-host.md give what the page says, one after the other.
func TestSingleHostPage(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(repository, "docs/single-host.md"))
	require.NoError(t, err)
	address := copyExample(t)
	var commands, want []string
	for _, block := range consoleBlock.FindAllStringSubmatch(string(page), -1) {
		for line := range strings.Lines(block[1]) {
			if command, ok := strings.CutPrefix(line, "# "); ok {
				commands, want = append(commands, command), append(want, "")
			} else {
				want[len(want)-1] += line
			}
		}
	}
	require.Greater(t, len(commands), 8)
	const mark = "-- next --\n"
	script := strings.ReplaceAll(strings.Join(commands, "echo '"+strings.TrimSpace(mark)+"'\n"), pageAddress, address)
	got := strings.Split(shell(t, script), mark)
	require.Len(t, got, len(commands))
	for i, command := range commands {
		anyID := func(text string) string { return sliceID.ReplaceAllString(text, "@ID") }
		assert.Equal(t, anyID(want[i]), anyID(got[i]), "%s", command)
	}
	check(t, "", "clean")
}
