package systemd

import (
	"os"
	"sync"
	"syscall"
)

// fileWatch hears of changes of directories by inotify. It tells of other programs' changes; what it can't watch, since
// it is not there yet or the kernel has no more watches to give, is told by systemd's own signals alone.
type fileWatch struct {
	file *os.File // nil where there is nothing to hear
	wait sync.WaitGroup
}

// watchFiles calls changed after each change in one of the directories, until it is closed.
func watchFiles(changed func(), dirs ...string) *fileWatch {
	w := &fileWatch{}
	fd, err := syscall.InotifyInit1(syscall.IN_CLOEXEC | syscall.IN_NONBLOCK)
	if err != nil {
		return w
	}
	const events = syscall.IN_CLOSE_WRITE | syscall.IN_MOVED_FROM | syscall.IN_MOVED_TO | syscall.IN_CREATE | syscall.IN_DELETE
	for _, dir := range dirs {
		_, _ = syscall.InotifyAddWatch(fd, dir, events|syscall.IN_ONLYDIR)
	}
	w.file = os.NewFile(uintptr(fd), "inotify")
	w.wait.Go(func() {
		events := make([]byte, 64<<10)
		for {
			if _, err := w.file.Read(events); err != nil {
				return
			}
			changed()
		}
	})
	return w
}

func (w *fileWatch) close() {
	if w.file != nil {
		_ = w.file.Close()
	}
	w.wait.Wait()
}
