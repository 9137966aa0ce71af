package systemd

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"

	"github.com/squadronctl/squadron/internal/errclass"
)

// searchPath remembers where systemd looks for unit files. The zero value is ready for use.
type searchPath struct{ dirs atomic.Pointer[[]string] }

func (s *searchPath) get(ctx context.Context, m manager) ([]string, error) {
	if known := s.dirs.Load(); known != nil {
		return *known, nil
	}
	dirs, err := m.SearchPath(ctx)
	if err != nil {
		return nil, err
	}
	s.dirs.Store(&dirs)
	return dirs, nil
}

// refuseForeign gives an error when a unit of that name is here and not ours. Ours says that the directory has it.
// Present, where not nil, has all names that systemd's directories have.
func (h *Host) refuseForeign(ctx context.Context, name string, state unitState, ours bool, present map[string]bool) error {
	dirs, err := h.searched.get(ctx, h.manager)
	if err != nil {
		return err
	}
	if !h.disk.searched(dirs) {
		return errclass.With(errUnavailable, fmt.Errorf("systemd does not look for units in %s", h.disk.links))
	}
	if err := h.disk.refuseElsewhere(dirs, name, present); err != nil {
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

// hostNames are the names that were here at one moment.
type hostNames struct {
	units   []string        // what may be units of ours, sorted
	present map[string]bool // all that systemd's directories have; nil where it is cheaper to ask for each name
}

// manyNames is from how many on it is cheaper to read all of systemd's directories than to look for each name.
const manyNames = 16

// listNames lists the names that are here, for all who ask.
func (h *Host) listNames(ctx context.Context, askers []string) (map[string]hostNames, error) {
	var here hostNames
	var err error
	if here.units, err = h.unitNames(); err != nil {
		return nil, err
	}
	if len(askers) >= manyNames {
		dirs, err := h.searched.get(ctx, h.manager)
		if err != nil {
			return nil, err
		}
		here.present = namesIn(dirs)
	}
	lists := make(map[string]hostNames, len(askers))
	for _, asker := range askers {
		lists[asker] = here
	}
	return lists, nil
}

// namesIn gives the names in directories; nil where one of them can't be read.
func namesIn(dirs []string) map[string]bool {
	names := map[string]bool{}
	for _, dir := range dirs {
		entries, err := os.ReadDir(dir)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		for _, entry := range entries {
			names[entry.Name()] = true
		}
	}
	return names
}

// searched says whether systemd looks where the links are. A user's manager may have been started with another
// $XDG_CONFIG_HOME.
func (d disk) searched(dirs []string) bool {
	return slices.Contains(dirs, d.links) || slices.ContainsFunc(dirs, func(dir string) bool {
		a, errA := os.Stat(dir)
		b, errB := os.Stat(d.links)
		return errA == nil && errB == nil && os.SameFile(a, b)
	})
}

// refuseElsewhere gives an error when systemd would find a unit of that name in a file of somebody else's: a file or
// link of this name that is not the one we make, or of the template that the unit would be an instance of. So it does
// when the directory has a file of that name which we did not write.
func (d disk) refuseElsewhere(dirs []string, name string, present map[string]bool) error {
	for _, dir := range dirs {
		for _, candidate := range []string{name, template(name)} {
			if candidate == "" || present != nil && !present[candidate] {
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
