package systemd

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/squadronctl/squadron/internal/errclass"
)

// searchPath remembers where systemd looks for unit files. The zero value is ready for use.
type searchPath struct {
	mutex sync.Mutex
	dirs  []string
}

func (s *searchPath) get(ctx context.Context, m manager) ([]string, error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.dirs != nil {
		return s.dirs, nil
	}
	dirs, err := m.SearchPath(ctx)
	if err != nil {
		return nil, err
	}
	s.dirs = dirs
	return dirs, nil
}

// refuseForeign gives an error when a unit of that name is here and not ours. Ours says that the directory has it.
func (h *Host) refuseForeign(ctx context.Context, name string, state unitState, ours bool) error {
	dirs, err := h.searched.get(ctx, h.manager)
	if err != nil {
		return err
	}
	if !h.disk.searched(dirs) {
		return errclass.With(errUnavailable, fmt.Errorf("systemd does not look for units in %s", h.disk.links))
	}
	if err := h.disk.refuseElsewhere(dirs, name); err != nil {
		return err
	}
	switch {
	case ours || h.disk.linked(name):
		return nil
	case state.Load != loadNotFound && state.Load != "":
		return foreign("systemd has a unit of that name already, which comes from no unit file (it is %s, %s)", state.Load, state.Active)
	case !state.stopped():
		return foreign("a unit of that name is %s already, whose file is gone", state.Active)
	}
	return nil
}

// searched says whether systemd looks where the links are. A user's manager may have been started with another
// $XDG_CONFIG_HOME.
func (d disk) searched(dirs []string) bool {
	return slices.ContainsFunc(dirs, func(dir string) bool {
		if dir == d.links {
			return true
		}
		a, errA := os.Stat(dir)
		b, errB := os.Stat(d.links)
		return errA == nil && errB == nil && os.SameFile(a, b)
	})
}

// refuseElsewhere gives an error when systemd would find a unit of that name in a file of somebody else's: a file or
// link of this name that is not the one we make, or of the template that the unit would be an instance of. So it does
// when the directory has a file of that name which we did not write.
func (d disk) refuseElsewhere(dirs []string, name string) error {
	for _, dir := range slices.Compact(append([]string{d.links}, dirs...)) {
		for _, candidate := range []string{name, template(name)} {
			if candidate == "" {
				continue
			}
			path := filepath.Join(dir, candidate)
			if candidate == name && leadsTo(path, d.file(name)) {
				continue
			}
			if _, err := os.Lstat(path); err == nil {
				return foreign("the host has it as %s", path)
			}
		}
	}
	if _, err := os.Lstat(d.file(name)); err != nil || d.linked(name) {
		return nil
	}
	if file, err := d.read(name); err != nil || file == nil {
		return foreign("%s is there already, and was not written by squadron", d.file(name))
	}
	return nil
}
