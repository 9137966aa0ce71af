package sshd

import (
	"os/exec"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A connection that has ended is nobody's: what has its ID by now gets no signal.
func TestSignalsReachNoStranger(t *testing.T) {
	cmd := exec.Command("sleep", "1000")
	require.NoError(t, cmd.Start())
	defer func() { _ = cmd.Process.Kill() }()
	stat := readStat(cmd.Process.Pid)
	require.NotNil(t, stat)
	Connection{cmd.Process.Pid, stat[startField] + "0"}.Cut()
	require.NoError(t, cmd.Process.Signal(syscall.SIGSTOP))
	Connection{cmd.Process.Pid, stat[startField]}.Resume()
	require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
	_ = cmd.Wait()
	assert.Equal(t, syscall.SIGTERM, cmd.ProcessState.Sys().(syscall.WaitStatus).Signal())
}
