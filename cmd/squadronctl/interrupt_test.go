package main

import (
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/squadronctl/squadron/fleet/fleettest"
)

// groupDir makes a directory of a group's unit files.
func groupDir(t *testing.T, name string, files map[string]string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.Mkdir(dir, 0o755))
	for file, content := range files {
		require.NoError(t, os.WriteFile(filepath.Join(dir, file), []byte(content), 0o644))
	}
	return dir
}

func saysSoon(t *testing.T, text *lockedBuffer, what string) {
	t.Helper()
	require.Eventually(t, func() bool { return strings.Contains(text.String(), what) }, time.Minute, 2*time.Millisecond, what)
}

func exitCodeOf(t *testing.T, command *exec.Cmd) int {
	t.Helper()
	_ = command.Wait() // the code says how it ended
	return command.ProcessState.ExitCode()
}

// A first Ctrl-C has an update take up nothing new, and say which slices are new and which old. None is lost.
func TestInterruptedUpdate(t *testing.T) {
	server := cluster(t, fleettest.Fast(), "a", "b", "c")
	web := groupDir(t, "web", map[string]string{"web-app@.service": "[Service]\nExecStart=/bin/sleep 2\n"})
	command, out, errs := process(t, []string{"SQUADRON_ENDPOINT=" + server.URL}, "update", web)
	require.NoError(t, command.Start())
	saysSoon(t, errs, "starting")
	require.NoError(t, command.Process.Signal(os.Interrupt))
	assert.Equal(t, exitInterrupted, exitCodeOf(t, command))
	assert.Contains(t, errs.String(), "coming to a clean end")
	assert.Regexp(t, `(?m)^squadronctl: interrupted: update group web: .*old slices: `, errs.String())
	assert.Empty(t, out.String())
	running := 0
	for _, unit := range server.Cluster.Units() {
		if len(unit.On) > 0 && unit.On[0].Active == "active" {
			running++
		}
	}
	assert.GreaterOrEqual(t, running, 3)
}

// A second Ctrl-C leaves at once, and says what was seen last.
func TestInterruptedTwice(t *testing.T) {
	server := cluster(t, fleettest.Fast(), "a", "b")
	web := groupDir(t, "web", map[string]string{"web-app@.service": "[Service]\nExecStart=/bin/sleep 2\n"})
	command, _, errs := process(t, []string{"SQUADRON_ENDPOINT=" + server.URL}, "update", web, "--ready-secs", "600")
	require.NoError(t, command.Start())
	saysSoon(t, errs, "cooling down")
	require.NoError(t, command.Process.Signal(os.Interrupt))
	saysSoon(t, errs, "clean end")
	require.NoError(t, command.Process.Signal(os.Interrupt))
	assert.Equal(t, exitInterrupted, exitCodeOf(t, command))
	assert.Regexp(t, `(?m)^squadronctl: update web: left at once, interrupted: last seen: new, cooling down web@\w+; old, planned web@a, web@b; what was added counts as found by now, so to go on say that 2 slices are wanted, .*"squadronctl scale"$`, errs.String())
}

// Operations that don't know slices by their content end at the next step.
func TestInterruptedStart(t *testing.T) {
	server := cluster(t, fleettest.Fast())
	require.NoError(t, server.Cluster.Put("web-app@a.service", "[Service]\nExecStart=/bin/sleep 1\n[X-Fleet]\nMachineMetadata=zone=moon\n", "loaded"))
	command, _, errs := process(t, []string{"SQUADRON_ENDPOINT=" + server.URL}, "start", "web")
	require.NoError(t, command.Start())
	saysSoon(t, errs, "web@a")
	require.NoError(t, command.Process.Signal(os.Interrupt))
	assert.Equal(t, exitInterrupted, exitCodeOf(t, command))
	assert.Regexp(t, `squadronctl: interrupted: start group web: .*last seen: `, errs.String())
}

// What only looks ends with the first Ctrl-C; a watch has done its duty then.
func TestInterruptedLooks(t *testing.T) {
	server := cluster(t, fleettest.Fast(), "a")
	command, out, _ := process(t, []string{"SQUADRON_ENDPOINT=" + server.URL}, "watch", "web")
	require.NoError(t, command.Start())
	saysSoon(t, out, "running")
	server.Cluster.FailUnit("web-app@a.service")
	saysSoon(t, out, "failed")
	server.Cluster.Remove("web-app@a.service")
	saysSoon(t, out, "web is not there any more")
	server.Faults.Set(fleettest.Always(fleettest.HTML()))
	saysSoon(t, out, "the last look failed: ")
	require.NoError(t, command.Process.Signal(os.Interrupt))
	assert.Equal(t, exitDone, exitCodeOf(t, command))

	asked := make(chan struct{}, 100)
	server.Faults.Set(func(*http.Request) fleettest.Action { asked <- struct{}{}; return fleettest.Hang() })
	command, _, errs := process(t, []string{"SQUADRON_ENDPOINT=" + server.URL}, "list")
	require.NoError(t, command.Start())
	<-asked
	require.NoError(t, command.Process.Signal(os.Interrupt))
	assert.Equal(t, exitInterrupted, exitCodeOf(t, command))
	assert.Contains(t, errs.String(), "squadronctl: interrupted")
}

// A watch of what is not there is an error: it may be a mistyped name.
func TestWatchOfNothing(t *testing.T) {
	server := cluster(t, fleettest.Fast())
	code, out, errs := runHere([]string{"SQUADRON_ENDPOINT=" + server.URL}, "watch", "web")
	assert.Equal(t, exitNotFound, code)
	assert.Empty(t, out)
	assert.Contains(t, errs, "not found")
}

// The end of the terminal asks for a clean end, too.
func TestHangup(t *testing.T) {
	server := cluster(t, fleettest.Fast(), "a", "b", "c")
	web := groupDir(t, "web", map[string]string{"web-app@.service": "[Service]\nExecStart=/bin/sleep 2\n"})
	command, _, errs := process(t, []string{"SQUADRON_ENDPOINT=" + server.URL}, "update", web, "--ready-secs", "1")
	require.NoError(t, command.Start())
	saysSoon(t, errs, "starting")
	require.NoError(t, command.Process.Signal(syscall.SIGHUP))
	assert.Equal(t, exitInterrupted, exitCodeOf(t, command))
	assert.Regexp(t, `(?m)^squadronctl: interrupted: update group web: .*; the same command goes on from here$`, errs.String())
}

// An update goes on when nobody reads any more how far it is, and a result that nobody reads is no error to speak of.
func TestReaderGone(t *testing.T) {
	server := cluster(t, fleettest.Fast(), "a")
	web := groupDir(t, "web", map[string]string{"web-app@.service": "[Service]\nExecStart=/bin/sleep 2\n"})
	gone := func() *os.File {
		reader, writer, err := os.Pipe()
		require.NoError(t, err)
		require.NoError(t, reader.Close())
		t.Cleanup(func() { writer.Close() })
		return writer
	}
	command, out, _ := process(t, []string{"SQUADRON_ENDPOINT=" + server.URL}, "update", web)
	command.Stderr = gone()
	require.NoError(t, command.Start())
	assert.Equal(t, exitDone, exitCodeOf(t, command))
	assert.Regexp(t, `^web@a (replaced|removed)\n`, out.String())

	for _, looking := range []string{"status", "watch"} {
		command, _, errs := process(t, []string{"SQUADRON_ENDPOINT=" + server.URL}, looking, "web")
		command.Stdout = gone()
		require.NoError(t, command.Start())
		assert.Equal(t, exitPipe, exitCodeOf(t, command), looking)
		assert.Empty(t, errs.String(), looking)
	}
}
