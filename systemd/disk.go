package systemd

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// targetName is the target that wants all launched units. It orders nothing: a unit that takes long to start holds up
// no other, and one that is to start late in the boot makes no circle.
const targetName = "squadron.target"

const targetContent = `[Unit]
Description=Units launched by squadron
DefaultDependencies=no
Conflicts=shutdown.target
Before=shutdown.target
`

// disk is the files and links of a backend. What it changes it changes in one step; sync makes sure that the steps
// last.
type disk struct {
	places
	wants string // the links that tell which units are launched
}

func newDisk(p places) disk {
	return disk{places: p, wants: filepath.Join(p.links, targetName+".wants")}
}

func (d disk) file(name string) string { return filepath.Join(d.units, name) }
func (d disk) link(name string) string { return filepath.Join(d.links, name) }
func (d disk) want(name string) string { return filepath.Join(d.wants, name) }

// linked says whether systemd is led to the unit's file.
func (d disk) linked(name string) bool { return leadsTo(d.link(name), d.file(name)) }

// launched says whether the unit is to run.
func (d disk) launched(name string) bool { return leadsTo(d.want(name), d.file(name)) }

func leadsTo(link, target string) bool {
	to, err := os.Readlink(link)
	return err == nil && to == target
}

// load makes the link that leads systemd to the unit's file.
func (d disk) load(name string) error { return makeLink(d.link(name), d.file(name)) }

// launch makes the link that tells that the unit is to run.
func (d disk) launch(name string) error { return makeLink(d.want(name), d.file(name)) }

// unlaunch removes the link that tells that the unit is to run.
func (d disk) unlaunch(name string) error { return removeLink(d.want(name), d.file(name)) }

// unload removes the link that leads systemd to the unit's file.
func (d disk) unload(name string) error { return removeLink(d.link(name), d.file(name)) }

// remove removes the unit's file.
func (d disk) remove(name string) error {
	if err := os.Remove(d.file(name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return permitted(err)
	}
	return nil
}

// makeLink makes a symbolic link, unless it is there.
func makeLink(link, target string) error {
	if leadsTo(link, target) {
		return nil
	}
	if err := makeDir(filepath.Dir(link)); err != nil {
		return permitted(err)
	}
	err := os.Symlink(target, link)
	switch {
	case errors.Is(err, fs.ErrExist) && leadsTo(link, target):
		return nil // another program was faster
	case errors.Is(err, fs.ErrExist):
		return foreign("%s is there already, and leads elsewhere", link)
	}
	return permitted(err)
}

// removeLink removes a symbolic link that leads to the target, and nothing else.
func removeLink(link, target string) error {
	if !leadsTo(link, target) {
		return nil
	}
	if err := os.Remove(link); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return permitted(err)
	}
	return nil
}

// A temporary file is one that somebody left who was killed when nobody holds its lock, though he has had lockTime to take
// it; where there are no locks, when it is of leftoverAge.
const (
	lockTime    = time.Second
	leftoverAge = 10 * time.Minute
)

const (
	temporaryPrefix = ".squadron-"
	temporarySuffix = ".tmp"
)

// write replaces a file's text as a whole, and says what was written. The file is on disk by then, its name once sync
// has run. Step is called between any two steps.
func (d disk) write(path, text string, step func(string)) (written fileID, err error) {
	if err := makeDir(filepath.Dir(path)); err != nil {
		return fileID{}, permitted(err)
	}
	temporary, err := os.CreateTemp(filepath.Dir(path), temporaryPrefix+"*"+temporarySuffix)
	if err != nil {
		return fileID{}, permitted(err)
	}
	// Held as long as the file is open, and so until it has its name or the program is dead.
	_ = syscall.Flock(int(temporary.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	step("temporary file made")
	written, err = fill(temporary, text, step)
	if err == nil {
		err = os.Rename(temporary.Name(), path)
	}
	if err != nil {
		return fileID{}, permitted(errors.Join(err, os.Remove(temporary.Name()), temporary.Close()))
	}
	step("file renamed")
	return written, temporary.Close()
}

// fill writes a text, which is on disk by then.
func fill(file *os.File, text string, step func(string)) (written fileID, err error) {
	_, err = file.WriteString(text)
	step("text written")
	if err == nil {
		err = file.Chmod(0o644)
	}
	if err == nil {
		err = file.Sync()
	}
	step("text on disk")
	if err != nil {
		return fileID{}, err
	}
	info, err := file.Stat()
	if err == nil {
		written, _ = idOf(info)
	}
	return written, err
}

// sync writes out the directories, so that what was renamed, linked and removed in them lasts.
func (d disk) sync() error {
	for _, dir := range []string{d.units, d.links, d.wants} {
		if err := syncDir(dir); err != nil {
			return err
		}
	}
	return nil
}

// makeDir makes a directory and those above it, so that they last.
func makeDir(path string) error {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return nil
	}
	if above := filepath.Dir(path); above != path {
		if err := makeDir(above); err != nil {
			return err
		}
	}
	if err := os.Mkdir(path, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return syncDir(filepath.Dir(path))
}

func syncDir(path string) error {
	dir, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return permitted(err)
	}
	err = dir.Sync()
	return errors.Join(err, dir.Close())
}

// ready makes the target that systemd starts at boot and that wants what is launched.
func (d disk) ready(step func(string)) error {
	if d.boot == "" {
		return nil
	}
	path := d.link(targetName)
	text, err := os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if _, err := d.write(path, sign(targetContent), step); err != nil {
			return err
		}
	case err != nil:
		return permitted(err)
	default:
		if _, ours, _ := unsign(string(text)); !ours {
			return foreign("%s is there already, and was not written by squadron", path)
		}
	}
	boot := filepath.Join(d.links, d.boot+".wants", targetName)
	if err := makeLink(boot, path); err != nil {
		return err
	}
	step("target linked")
	return syncDir(filepath.Dir(boot))
}

// removeLeftovers removes temporary files of programs that were killed. What can't be removed does no harm.
func (d disk) removeLeftovers() {
	for _, dir := range []string{d.units, d.links} {
		entries, _ := os.ReadDir(dir)
		for _, entry := range entries {
			if !strings.HasPrefix(entry.Name(), temporaryPrefix) || !strings.HasSuffix(entry.Name(), temporarySuffix) {
				continue
			}
			path := filepath.Join(dir, entry.Name())
			if info, err := entry.Info(); err == nil && info.Mode().IsRegular() && isLeftover(path, time.Since(info.ModTime())) {
				_ = os.Remove(path)
			}
		}
	}
}

// isLeftover says whether nobody is writing a temporary file of this age.
func isLeftover(path string, age time.Duration) bool {
	if age > leftoverAge {
		return true
	}
	file, err := os.Open(path)
	if err != nil {
		return false
	}
	defer file.Close()
	return age > lockTime && syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil
}

// permitted marks the error of a file that the caller may not touch.
func permitted(err error) error {
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS) {
		return withHint(errNotPermitted, err, "run as root, or use the user's manager")
	}
	return err
}

// withHint puts an error into a class and tells what helps.
func withHint(class, err error, hint string) error {
	return &hinted{class: class, err: err, hint: hint}
}

// hinted is an error with the advice that goes with it.
type hinted struct {
	class error
	err   error
	hint  string
}

// Error gives the error's text and the advice.
func (h *hinted) Error() string { return fmt.Sprintf("%v (%s)", h.err, h.hint) }

// Unwrap gives the error and its class.
func (h *hinted) Unwrap() []error { return []error{h.err, h.class} }
