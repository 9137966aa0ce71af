package systemd

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/squadronctl/squadron/fleet"
	"github.com/squadronctl/squadron/internal/errmask"
)

const (
	stateInactive = "inactive"
	stateLoaded   = "loaded"
	stateLaunched = "launched"
)

// matcherTimeout is how long GetStatusWithMatcher may take, which has no context to say so.
const matcherTimeout = 2 * time.Minute

// asksAtOnce is how many units are asked about side by side where systemd has no call for many.
const asksAtOnce = 8

// GetStatus reads one unit's status.
func (h *Host) GetStatus(ctx context.Context, name string) (fleet.UnitStatus, error) {
	units, err := h.readUnits(ctx, []string{name})
	if err == nil && len(units) == 0 {
		err = notFound(errors.New("unit not found"))
	}
	if err != nil {
		return fleet.UnitStatus{}, errmask.Maskf(err, "get status of %s", short(name))
	}
	return units[0].UnitStatus, nil
}

// GetStatusWithMatcher reads the status of all units for whose names the matcher is true, sorted by name. It gives up
// after two minutes with an error of fleet.IsTemporary.
func (h *Host) GetStatusWithMatcher(matcher func(string) bool) ([]fleet.UnitStatus, error) {
	if matcher == nil {
		return nil, invalid(errors.New("get status of matching units: no matcher"))
	}
	ctx, cancel := context.WithTimeout(context.Background(), matcherTimeout)
	defer cancel()
	names, err := h.unitNames()
	var units []fleet.UnitDetail
	if err == nil {
		units, err = h.readUnits(ctx, slices.DeleteFunc(names, func(name string) bool { return !matcher(name) }))
	}
	if ctx.Err() != nil {
		err = fleet.AsTemporary(err)
	}
	if err == nil && len(units) == 0 {
		err = notFound(errors.New("unit not found"))
	}
	if err != nil {
		return nil, errmask.Maskf(err, "get status of matching units")
	}
	statuses := make([]fleet.UnitStatus, 0, len(units))
	for _, unit := range units {
		statuses = append(statuses, unit.UnitStatus)
	}
	return statuses, nil
}

// ReadUnits lists the units that the selector takes, in one call of systemd. The listing is always whole.
//
// Hash is that of the unit's file as it is, and MachineStatus.UnitHash that of the text which systemd has loaded: it is
// empty while the file, or a drop-in of it, has changed since, and nobody has reloaded systemd. Current is inactive
// while systemd does not have the unit, though its file is there.
func (h *Host) ReadUnits(ctx context.Context, selector fleet.Selector) (fleet.Listing, error) {
	units, err := h.selectUnits(ctx, selector)
	if err != nil {
		return fleet.Listing{}, errmask.Maskf(err, "read units")
	}
	return fleet.Listing{Units: units, Whole: true}, nil
}

func (h *Host) selectUnits(ctx context.Context, selector fleet.Selector) ([]fleet.UnitDetail, error) {
	if len(selector.Groups) == 0 && (selector.Exact || len(selector.Names) > 0) {
		return h.readUnits(ctx, slices.Compact(slices.Sorted(slices.Values(selector.Names))))
	}
	names, err := h.unitNames()
	if err != nil {
		return nil, err
	}
	if len(selector.Groups) > 0 {
		names = slices.DeleteFunc(names, func(name string) bool { return !h.takes(selector, name) })
	}
	return h.readUnits(ctx, names)
}

// takes says whether a selector with groups takes the unit.
func (h *Host) takes(selector fleet.Selector, name string) bool {
	if slices.Contains(selector.Names, name) {
		return true
	}
	file, err := h.facts.read(h.disk, name)
	if err != nil {
		return true // the read that follows tells
	}
	return slices.ContainsFunc(selector.Groups, func(group string) bool {
		return strings.HasPrefix(name, group) || file != nil && file.detail.Stamped && file.detail.Group == group
	})
}

// ReadContent gives the unit file's text, as it is now, in its canonical serialisation.
func (h *Host) ReadContent(ctx context.Context, name string) (string, error) {
	text, err := h.readContent(ctx, name)
	return text, errmask.Maskf(err, "read content of %s", short(name))
}

func (h *Host) readContent(ctx context.Context, name string) (string, error) {
	if err := ctx.Err(); err != nil {
		return "", err
	}
	file, err := h.readFile(name)
	if err != nil {
		return "", err
	}
	if file == nil {
		return "", notFound(errors.New("unit not found"))
	}
	return fleet.CanonicalUnit(file.content)
}

// ReadMachines lists the one machine that there is, this host.
func (h *Host) ReadMachines(ctx context.Context) ([]fleet.Machine, error) {
	err := ctx.Err()
	var id string
	if err == nil {
		id, err = h.host.machineID()
	}
	if err != nil {
		return nil, errmask.Maskf(err, "read machines")
	}
	return []fleet.Machine{{ID: id, IP: h.host.address(), Metadata: maps.Clone(h.config.Metadata)}}, nil
}

// unitNames lists what may be units of ours, sorted. What is remembered of others is forgotten.
func (h *Host) unitNames() ([]string, error) {
	entries, err := os.ReadDir(h.disk.units)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, permitted(err)
	}
	var names []string
	for _, entry := range entries {
		if entry.Type().IsRegular() && checkName(entry.Name()) == nil {
			names = append(names, entry.Name())
		}
	}
	h.facts.keep(h.disk, names)
	return names, nil
}

// readFile gives the file of a unit; nil where there is none, and for what can't be the name of one.
func (h *Host) readFile(name string) (*unitFile, error) {
	if checkName(name) != nil {
		return nil, nil
	}
	return h.facts.read(h.disk, name)
}

// readUnits makes one look at units by their names, which are sorted.
func (h *Host) readUnits(ctx context.Context, names []string) ([]fleet.UnitDetail, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	var files []*unitFile
	for _, name := range names {
		file, err := h.readFile(name)
		if err != nil {
			return nil, err
		}
		if file != nil {
			files = append(files, file)
		}
	}
	if len(files) == 0 {
		return nil, nil
	}
	states, err := h.states(ctx, files)
	if err != nil {
		return nil, err
	}
	id, err := h.host.machineID()
	if err != nil {
		return nil, err
	}
	address := h.host.address()
	units := make([]fleet.UnitDetail, 0, len(files))
	for _, file := range files {
		unit := h.detail(file, states[file.detail.Name])
		unit.Machine[0].ID, unit.Machine[0].IP = id, slices.Clone(address)
		units = append(units, unit)
	}
	return units, nil
}

// states gives the states of those units that systemd is led to, and finds out of which files it has the text as it is
// now. Once it has, that stands until the file changes; then nothing is loaded only to be told that it does not run.
func (h *Host) states(ctx context.Context, files []*unitFile) (map[string]unitState, error) {
	var names []string
	ids := map[string]fileID{}
	for _, file := range files {
		if name := file.detail.Name; h.disk.linked(name) {
			names = append(names, name)
			ids[name] = file.id
		}
	}
	states, err := h.manager.Known(ctx, names)
	if err != nil {
		return nil, err
	}
	unknown := map[string]fileID{}
	for _, name := range names {
		load, loaded := h.facts.loadedAs(name, ids[name])
		_, had := states[name]
		switch {
		case !loaded:
			unknown[name] = ids[name]
		case !had:
			states[name] = unitState{Load: load, Active: "inactive", Sub: "dead"}
		}
	}
	_, learnt, err := h.stale(ctx, unknown)
	maps.Copy(states, learnt)
	return states, err
}

// detail puts together what is known of one unit.
func (h *Host) detail(file *unitFile, state unitState) fleet.UnitDetail {
	unit := file.detail
	unit.Desired = stateLoaded
	if h.disk.launched(unit.Name) {
		unit.Desired = stateLaunched
	}
	unit.Current = unit.Desired
	machine := fleet.MachineStatus{SystemdActive: state.Active, SystemdSub: state.Sub}
	switch {
	case !h.disk.linked(unit.Name):
		// What systemd has under this name, if anything, is not ours.
		unit.Current, unit.LoadError = stateInactive, loadNotFound
		machine.SystemdActive, machine.SystemdSub = "inactive", "dead"
	case state.Load == loadNotFound:
		unit.Current, unit.LoadError = stateInactive, loadNotFound
	default:
		unit.LoadError = loadError(state.Load)
		if _, loaded := h.facts.loadedAs(unit.Name, file.id); loaded {
			machine.UnitHash = unit.Hash
		}
	}
	unit.Machine = []fleet.MachineStatus{machine}
	return unit
}

// loadError is a load state that is none of a unit that can run.
func loadError(load string) string {
	switch load {
	case "bad-setting", "error", "masked":
		return load
	}
	return ""
}
