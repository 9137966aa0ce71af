package remains_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/squadronctl/squadron/integration/cluster/remains"
)

// newDir gives a directory like a cluster's, with a file in a mount of its own.
func newDir(t *testing.T, name string) (dir, file string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), name)
	run := filepath.Join(dir, "run")
	require.NoError(t, os.MkdirAll(run, 0o755))
	require.NoError(t, unix.Mount("test", run, "tmpfs", 0, ""))
	t.Cleanup(func() { _ = unix.Unmount(run, unix.UMOUNT_NOFOLLOW) })
	file = filepath.Join(run, "file")
	require.NoError(t, os.WriteFile(file, nil, 0o644))
	return dir, file
}

// What is mounted is never removed as files are: below a path that does not stand in the kernel's list, everything stays.
func TestRemoveIsSureOfItsMounts(t *testing.T) {
	dir, file := newDir(t, remains.Prefix+"1")
	link := filepath.Join(filepath.Dir(dir), "link")
	require.NoError(t, os.Symlink(dir, link))
	spaced, inSpaced := newDir(t, remains.Prefix+"1 2")
	t.Chdir(filepath.Dir(dir))
	for _, path := range []string{link, link + "/", filepath.Base(dir), spaced} {
		assert.ErrorContains(t, remains.Remove(path), path+" is kept")
	}
	assert.FileExists(t, file)
	assert.FileExists(t, inSpaced)
	require.NoError(t, remains.Remove(dir))
	assert.NoDirExists(t, dir)
	assert.NoError(t, remains.Remove(dir), "again")
}

// Sweep takes no directory for a cluster's that has not its name and its owner, or whose lock is held.
func TestSweepLeavesOthersAlone(t *testing.T) {
	temp := t.TempDir()
	make := func(number string) string {
		dir := filepath.Join(temp, remains.Prefix+number)
		require.NoError(t, os.Mkdir(dir, 0o755))
		return dir
	}
	dead, locked, others := make("1"), make("2"), make("3")
	require.NoError(t, os.Chown(others, 4242, 4242))
	lock, err := os.Create(filepath.Join(locked, remains.LockName))
	require.NoError(t, err)
	defer lock.Close()
	require.NoError(t, unix.Flock(int(lock.Fd()), unix.LOCK_EX))
	kept := []string{locked, others, make("1.saved"), make("1-logs")}
	require.NoError(t, remains.Sweep(temp))
	assert.NoDirExists(t, dead)
	for _, dir := range kept {
		assert.DirExists(t, dir)
	}
}

// A cluster's processes are those that carry its mark, to the letter; SignalInside reaches none outside of its machines.
func TestOnlyOwnProcesses(t *testing.T) {
	dir, _ := newDir(t, remains.Prefix+"1")
	start := func(mark string) *exec.Cmd {
		cmd := exec.Command("sleep", "1000")
		cmd.Env = []string{"PATH=" + os.Getenv("PATH"), mark}
		require.NoError(t, cmd.Start())
		t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
		return cmd
	}
	own := start(remains.EnvKey + "=" + dir)
	others := []*exec.Cmd{start(remains.EnvKey + "=" + dir + "0"), start("X" + remains.EnvKey + "=" + dir), start("DIR=" + dir)}
	ended := make(chan error, 1)
	go func() { ended <- own.Wait() }()
	pids, err := remains.Processes(dir)
	require.NoError(t, err)
	assert.Equal(t, []int{own.Process.Pid}, pids)
	remains.SignalInside(others[0].Process.Pid, dir, unix.SIGKILL)
	require.NoError(t, remains.Remove(dir))
	assert.ErrorContains(t, <-ended, "killed")
	for _, cmd := range others {
		assert.NoError(t, cmd.Process.Signal(unix.SIGTERM))
		_ = cmd.Wait()
		assert.Equal(t, unix.SIGTERM, cmd.ProcessState.Sys().(syscall.WaitStatus).Signal(), "it was not killed before")
	}
}
