package remains

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// Hierarchies gives the roots of the control group hierarchies in which systemd keeps track of processes: the one of
// version 2, and where there is one beside it, that of version 1 named systemd.
func Hierarchies() []string {
	var roots []string
	for _, root := range []string{"/sys/fs/cgroup", "/sys/fs/cgroup/unified", "/sys/fs/cgroup/systemd"} {
		if _, err := os.Stat(filepath.Join(root, "cgroup.procs")); err == nil {
			roots = append(roots, root)
		}
	}
	return roots
}

// RemoveControlGroups removes the control groups at the hierarchies' roots whose name matches a pattern, and all below
// them. It fails while one of them has processes.
func RemoveControlGroups(pattern string) error {
	var problems []error
	groups, err := filepath.Glob(filepath.Join("/sys/fs/cgroup", pattern))
	if err != nil {
		return err
	}
	more, _ := filepath.Glob(filepath.Join("/sys/fs/cgroup/*", pattern))
	for _, group := range append(groups, more...) {
		problems = append(problems, removeGroup(group))
	}
	return errors.Join(problems...)
}

// removeGroup removes the directories only: the files in them are the kernel's, and go with them.
func removeGroup(group string) error {
	entries, err := os.ReadDir(group)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if entry.IsDir() {
			if err := removeGroup(filepath.Join(group, entry.Name())); err != nil {
				return err
			}
		}
	}
	return os.Remove(group)
}
