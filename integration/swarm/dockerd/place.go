package dockerd

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/squadronctl/squadron/integration/cluster/remains"
)

const (
	prefix   = "squadron-swarm-"
	lockName = "lock"
)

// place is where a swarm lives: a directory with a file system in memory, since engines on a busy disk are slow.
type place struct {
	dir  string
	lock *os.File // held for as long as the program lives
}

// name tells the swarm's control groups from those of others.
func (p place) name() string { return filepath.Base(p.dir) }

// path gives a path below the swarm's file system.
func (p place) path(elements ...string) string {
	return filepath.Join(append([]string{p.dir, "run"}, elements...)...)
}

// settle clears away what dead swarms left, and takes a place.
func settle() (place, error) {
	temp, err := filepath.EvalSymlinks(os.TempDir())
	if err != nil {
		return place{}, err
	}
	// A place whose lock is not taken yet must not be taken for a dead one.
	gate, err := lock(filepath.Join(temp, prefix+lockName), unix.LOCK_EX)
	if err != nil {
		return place{}, err
	}
	defer gate.Close()
	if err := sweep(temp); err != nil {
		return place{}, fmt.Errorf("clear away a dead swarm: %w", err)
	}
	dir, err := os.MkdirTemp(temp, prefix)
	if err != nil {
		return place{}, err
	}
	p := place{dir: dir}
	if err := p.furnish(); err != nil {
		return place{}, errors.Join(err, p.leave())
	}
	return p, nil
}

func (p *place) furnish() (err error) {
	if p.lock, err = lock(filepath.Join(p.dir, lockName), unix.LOCK_EX); err != nil {
		return err
	}
	if err := os.Mkdir(p.path(), 0o755); err != nil {
		return err
	}
	if err := unix.Mount(p.name(), p.path(), "tmpfs", 0, "mode=755"); err != nil {
		return fmt.Errorf("mount %s: %w", p.path(), err)
	}
	return nil
}

// leave removes all that is in the place, its processes included.
func (p place) leave() error {
	err := remains.Remove(p.dir)
	if p.lock != nil {
		err = errors.Join(err, p.lock.Close())
	}
	return err
}

// sweep removes the places that no program holds any more.
func sweep(temp string) error {
	dirs, err := filepath.Glob(filepath.Join(temp, prefix+"[0-9]*"))
	if err != nil {
		return err
	}
	var problems []error
	for _, dir := range dirs {
		held, err := lock(filepath.Join(dir, lockName), unix.LOCK_EX|unix.LOCK_NB)
		if errors.Is(err, unix.EWOULDBLOCK) {
			continue
		}
		if err != nil {
			problems = append(problems, err)
			continue
		}
		problems = append(problems, remains.Remove(dir), held.Close())
	}
	return errors.Join(problems...)
}

// lock opens a file and takes its lock, which ends with the file's closing or with the program.
func lock(path string, how int) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(file.Fd()), how); err != nil {
		return nil, errors.Join(fmt.Errorf("lock %s: %w", path, err), file.Close())
	}
	return file, nil
}
