// Package remains finds and removes what a cluster leaves: processes, mounts, control groups and files. It works from the
// cluster's directory alone, and tells processes by marks that only those of this cluster have, never by name.
package remains

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// Prefix is what the name of a cluster's directory begins with; a number follows.
	Prefix = "squadron-cluster-"
	// LockName is the file in it that its keeper holds a lock on.
	LockName = "keeper.lock"
	// EnvKey is the environment variable that holds the cluster's directory in each process that is started on this side
	// of the machines.
	EnvKey = "SQUADRON_CLUSTER"

	// patience is how long a killed process may take to be gone, and what it held with it.
	patience = 20 * time.Second
	interval = 10 * time.Millisecond
)

// Remove ends all processes of the cluster in dir, and removes its mounts, its control groups, what systemd-nspawn keeps
// of its machines in /run, and dir itself. It returns when all that is done, or with an error when one of these has not come
// about in 20 s. It does nothing to a dir for which CheckDir has an error.
func Remove(dir string) error {
	if err := CheckDir(dir); err != nil {
		return fmt.Errorf("%s is kept: %w", dir, err)
	}
	return errors.Join(
		within(func() error { return endProcesses(dir) }),
		removeNspawnFiles(dir),
		within(func() error { return unmount(dir) }),
		within(func() error { return RemoveControlGroups(filepath.Base(dir) + "-m*") }),
		removeFiles(dir),
	)
}

// CheckDir refuses paths that the kernel does not write as they are given when it lists mounts, or that mount options can't
// have in them: what is mounted below such a directory would not be found, and removed like files.
func CheckDir(dir string) error {
	if !filepath.IsAbs(dir) || filepath.Clean(dir) != dir {
		return errors.New("its path is not absolute and clean")
	}
	if strings.ContainsAny(dir, " \t\n\\,:\"'*?[") {
		return errors.New("its path has a character that paths of mounts can't have")
	}
	resolved, err := filepath.EvalSymlinks(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil && resolved != dir {
		err = errors.New("its path leads over a symbolic link, to " + resolved)
	}
	return err
}

// within repeats until there is no error or the patience is over.
func within(do func() error) error {
	deadline := time.Now().Add(patience)
	for {
		err := do()
		if err == nil || time.Now().After(deadline) {
			return err
		}
		time.Sleep(interval)
	}
}

// removeFiles removes dir, unless something is still mounted below it: what is mounted may be the host's own root.
func removeFiles(dir string) error {
	mounts, err := mountsBelow(dir)
	if err != nil {
		return err
	}
	if len(mounts) > 0 {
		return fmt.Errorf("%s is kept: still mounted: %q", dir, mounts)
	}
	return os.RemoveAll(dir)
}

// Sweep removes the clusters below tmp whose keeper has died. The caller sees to it that no cluster is being made meanwhile.
// Directories with other names than a cluster's, such as copies of one, and those of other users stay.
func Sweep(tmp string) error {
	dirs, err := filepath.Glob(filepath.Join(tmp, Prefix+"[0-9]*"))
	if err != nil {
		return err
	}
	var problems []error
	for _, dir := range dirs {
		number := strings.TrimPrefix(filepath.Base(dir), Prefix)
		if strings.Trim(number, "0123456789") == "" && dead(dir) {
			problems = append(problems, Remove(dir))
		}
	}
	return errors.Join(problems...)
}

// dead says whether nobody holds the cluster's lock.
func dead(dir string) bool {
	info, err := os.Lstat(dir)
	if err != nil || !info.IsDir() {
		return false
	}
	if status, ok := info.Sys().(*syscall.Stat_t); !ok || int(status.Uid) != os.Geteuid() {
		return false
	}
	lock, err := os.Open(filepath.Join(dir, LockName))
	if err != nil {
		return errors.Is(err, fs.ErrNotExist)
	}
	defer lock.Close()
	return unix.Flock(int(lock.Fd()), unix.LOCK_SH|unix.LOCK_NB) == nil
}
