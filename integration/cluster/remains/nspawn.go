package remains

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// nspawnDir is where systemd-nspawn keeps, for each machine, a lock and a directory. One that was killed leaves them.
const nspawnDir = "/run/systemd/nspawn"

// removeNspawnFiles removes them for the machines of the cluster, whose processes have ended and whose roots are still mounted:
// a lock has its name from the root.
func removeNspawnFiles(dir string) error {
	files, err := filepath.Glob(filepath.Join(nspawnDir, "propagate", filepath.Base(dir)+"-m*"))
	if err != nil {
		return err
	}
	points, err := mountsBelow(dir)
	if err != nil {
		return err
	}
	for _, point := range points {
		var status unix.Stat_t
		if unix.Stat(point, &status) == nil {
			files = append(files, filepath.Join(nspawnDir, "locks", fmt.Sprintf("inode-%d:%d", status.Dev, status.Ino)))
		}
	}
	var problems []error
	for _, file := range files {
		if err := os.Remove(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
			problems = append(problems, err)
		}
	}
	return errors.Join(problems...)
}
