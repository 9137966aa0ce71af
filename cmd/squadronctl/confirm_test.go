package main

import (
	"io"
	"os/exec"
	"testing"

	"github.com/creack/pty"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/squadronctl/squadron/fleet/fleettest"
)

// onTerminal runs a command with a terminal for all its streams, and gives what it shows and what it is typed to.
func onTerminal(t *testing.T, command *exec.Cmd) (shown *lockedBuffer, typed io.Writer, wait func() int) {
	t.Helper()
	command.Stdout, command.Stderr = nil, nil
	terminal, err := pty.Start(command)
	require.NoError(t, err)
	shown = &lockedBuffer{}
	read := make(chan struct{})
	go func() {
		defer close(read)
		_, _ = io.Copy(shown, terminal) // it ends with an error when the other side is closed
	}()
	return shown, terminal, func() int {
		code := exitCodeOf(t, command)
		<-read
		terminal.Close()
		return code
	}
}

// TestDestroyAsks shows that destroy lists on a terminal what it will remove, and does nothing but on a yes.
func TestDestroyAsks(t *testing.T) {
	server := cluster(t, fleettest.Fast(), "a", "b")
	env := []string{"SQUADRON_ENDPOINT=" + server.URL, "NO_COLOR=1"}
	for answer, want := range map[string]int{"\n": exitFailed, "no\n": exitFailed, "\x03": exitInterrupted} {
		command, _, _ := process(t, env, "destroy", "web")
		shown, typed, wait := onTerminal(t, command)
		saysSoon(t, shown, "Destroy these 2 units of web? [y/N]")
		assert.Contains(t, shown.String(), "web-app@a.service (running)")
		_, err := io.WriteString(typed, answer)
		require.NoError(t, err)
		assert.Equal(t, want, wait(), "%q", answer)
		assert.Len(t, server.Cluster.Units(), 2)
	}
	command, _, _ := process(t, env, "destroy", "web@a")
	shown, typed, wait := onTerminal(t, command)
	saysSoon(t, shown, "Destroy these 1 units of web?")
	_, err := io.WriteString(typed, "yes\n")
	require.NoError(t, err)
	assert.Equal(t, exitDone, wait(), shown.String())
	assert.Len(t, server.Cluster.Units(), 1)

	command, _, errs := process(t, env, "destroy", "web")
	controlling, tty, err := pty.Open()
	require.NoError(t, err)
	defer controlling.Close()
	defer tty.Close()
	command.Stdin = tty
	require.Error(t, command.Run())
	assert.Equal(t, exitUsage, command.ProcessState.ExitCode(), "a question nobody sees")
	assert.Contains(t, errs.String(), "--yes")
	assert.Len(t, server.Cluster.Units(), 1)

	command, _, _ = process(t, env, "destroy", "web", "--yes")
	shown, _, wait = onTerminal(t, command)
	assert.Equal(t, exitDone, wait(), shown.String())
	assert.NotContains(t, shown.String(), "[y/N]")
	assert.Empty(t, server.Cluster.Units())
}
