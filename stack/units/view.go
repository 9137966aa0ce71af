package units

import (
	"context"
	"slices"
	"sync"

	"github.com/squadronctl/squadron/fleet"
)

// lens says, while something is done to a stack, which units with its stamp that is about. The others are left alone.
type lens func(fleet.UnitDetail) bool

// lenses has the lenses of what is being done, by group.
type lenses struct {
	mutex   sync.Mutex
	byGroup map[string]lens
}

// put has the controller see a group through a lens until it is taken away.
func (l *lenses) put(group string, through lens) (remove func()) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.byGroup[group] = through
	return func() {
		l.mutex.Lock()
		defer l.mutex.Unlock()
		delete(l.byGroup, group)
	}
}

// shows says whether the controller may take a unit for one of its group.
func (l *lenses) shows(detail fleet.UnitDetail) bool {
	if !detail.Stamped {
		return false
	}
	through, there := l.byGroup[detail.Group]
	return !there || through(detail)
}

// view is the fleet as the controller sees it. A unit that an operation is not about is shown as one with a stamp of no group,
// so that the controller never acts on it, not even where it comes up in the midst, and never gives its name to a new one.
// What stands between a look and a write nobody can see.
type view struct {
	fleet.Fleet
	fleet.ContentReader
	fleet.Launcher
	reader fleet.UnitReader
	lenses *lenses
}

// watchingView is a view of a fleet that tells of changes.
type watchingView struct {
	*view
	fleet.UnitWatcher
}

var (
	_ fleet.UnitReader    = (*view)(nil)
	_ fleet.ContentReader = (*view)(nil)
	_ fleet.Launcher      = (*view)(nil)
	_ fleet.UnitWatcher   = watchingView{}
)

// newView wraps a fleet, which has to be a UnitReader and a ContentReader. The view has no Close: the fleet is the caller's. It
// passes on what of the fleet's upgrades a controller asks for while it works.
func newView(f fleet.Fleet, lenses *lenses) fleet.Fleet {
	v := &view{Fleet: f, lenses: lenses}
	v.reader, _ = f.(fleet.UnitReader)
	v.ContentReader, _ = f.(fleet.ContentReader)
	launcher, launches := f.(fleet.Launcher)
	if !launches {
		launcher = submitThenStart{f}
	}
	v.Launcher = launcher
	if watcher, watches := f.(fleet.UnitWatcher); watches {
		return watchingView{v, watcher}
	}
	return v
}

// ReadUnits reads as the fleet does.
func (v *view) ReadUnits(ctx context.Context, selector fleet.Selector) (fleet.Listing, error) {
	listing, err := v.reader.ReadUnits(ctx, selector)
	if err != nil {
		return listing, err
	}
	v.lenses.mutex.Lock()
	defer v.lenses.mutex.Unlock()
	listing.Units = slices.Clone(listing.Units) // a backend may keep what it gave
	for i := range listing.Units {
		if !v.lenses.shows(listing.Units[i]) {
			listing.Units[i].Stamped, listing.Units[i].Group = true, ""
		}
	}
	return listing, nil
}

// submitThenStart stands in for fleet.Launcher.
type submitThenStart struct{ fleet fleet.Fleet }

func (s submitThenStart) SubmitLaunched(ctx context.Context, name, content string) error {
	if err := s.fleet.Submit(ctx, name, content); err != nil {
		return err
	}
	return s.fleet.Start(ctx, name)
}
