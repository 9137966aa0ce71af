package sigstop

import (
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// What runs or sleeps has not stopped; what was told to has, soon, and what has ended does nothing either.
func TestWait(t *testing.T) {
	t.Parallel()
	for _, command := range []string{"while :; do :; done", "sleep 1000; :"} {
		cmd := exec.Command("sh", "-c", command)
		cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		require.NoError(t, cmd.Start())
		t.Cleanup(func() { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }) // its children as well
		runs := func() bool { return wait(cmd.Process.Pid, 0) != nil }            // but for moments in which it waits for a disk
		require.Eventually(t, runs, 10*time.Second, time.Millisecond)
		require.NoError(t, cmd.Process.Signal(syscall.SIGSTOP))
		require.NoError(t, Wait(cmd.Process.Pid))
		states, err := threads(cmd.Process.Pid)
		require.NoError(t, err)
		assert.Regexp(t, "^T+$", states)
		require.NoError(t, cmd.Process.Signal(syscall.SIGCONT))
		require.Eventually(t, runs, 10*time.Second, time.Millisecond)
		require.NoError(t, syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL))
		_ = cmd.Wait()
		assert.NoError(t, Wait(cmd.Process.Pid))
	}
}
