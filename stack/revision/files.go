package revision

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// lockPause is between two attempts to get a lock that another process, or goroutine, holds.
const lockPause = 5 * time.Millisecond

const (
	lockName      = ".lock"
	writtenPrefix = ".written-"
	removedPrefix = ".removed-"
)

// locked calls f while no other writer of the owner's revisions is at work, in this process or in another one.
func (d *Directory) locked(ctx context.Context, owner string, f func() error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	dir, err := d.ownerDir(owner)
	if err != nil {
		return err
	}
	if err := makeDirectory(dir); err != nil {
		return err
	}
	file, err := os.OpenFile(filepath.Join(dir, lockName), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	defer file.Close() // which gives the lock back
	if err := lock(ctx, file); err != nil {
		return err
	}
	return f()
}

func lock(ctx context.Context, file *os.File) error {
	for {
		err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return nil
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) && !errors.Is(err, syscall.EINTR) {
			return &fs.PathError{Op: "lock", Path: file.Name(), Err: err}
		}
		timer := time.NewTimer(lockPause)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return ctx.Err()
		}
	}
}

// makeDirectory makes a directory and those above it that are missing, and has their names on disk when it returns.
func makeDirectory(dir string) error {
	if info, err := os.Stat(dir); err == nil && info.IsDir() {
		return nil
	}
	if parent := filepath.Dir(dir); parent != dir {
		if err := makeDirectory(parent); err != nil {
			return err
		}
	}
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return syncDirectory(filepath.Dir(dir))
}

// writeFile makes a file that is there as a whole or not at all, and on disk when it returns. What an earlier writer was
// ended at is removed: no other one is at work.
func writeFile(dir, name, text string) error {
	removeLeftovers(dir, writtenPrefix)
	file, err := os.CreateTemp(dir, writtenPrefix+"*")
	if err != nil {
		return err
	}
	_, err = file.WriteString(text)
	if err == nil {
		err = file.Sync()
	}
	if closeErr := file.Close(); err == nil {
		err = closeErr
	}
	if err == nil {
		err = os.Rename(file.Name(), filepath.Join(dir, name))
	}
	if err != nil {
		_ = os.Remove(file.Name()) // or the next writer does
		return err
	}
	return syncDirectory(dir)
}

// removeDirectory removes a directory in one step, as far as readers can tell. What is left of it, should the process end, is
// removed the next time.
func removeDirectory(dir string) error {
	parent := filepath.Dir(dir)
	removeLeftovers(parent, removedPrefix)
	aside, err := os.MkdirTemp(parent, removedPrefix+"*")
	if err != nil {
		return err
	}
	err = os.Rename(dir, filepath.Join(aside, "stack"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := syncDirectory(parent); err != nil {
		return err
	}
	return os.RemoveAll(aside)
}

// removeLeftovers removes what begins with a prefix. What can't be removed is hidden from readers anyway.
func removeLeftovers(dir, prefix string) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	for _, entry := range entries {
		if strings.HasPrefix(entry.Name(), prefix) {
			_ = os.RemoveAll(filepath.Join(dir, entry.Name()))
		}
	}
}

func syncDirectory(dir string) error {
	file, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer file.Close()
	return file.Sync()
}
