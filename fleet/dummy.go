package fleet

import (
	"context"
	"crypto/sha1"
	"encoding/hex"
	"errors"
	"slices"
	"strings"
	"sync"

	"github.com/squadronctl/squadron/internal/errmask"
	"github.com/squadronctl/squadron/logging"
	"github.com/squadronctl/squadron/validator"
)

// DummyConfig is what NewDummyFleet needs.
type DummyConfig struct {
	// Logger is told, at DEBUG, of each change; nil means silence.
	Logger logging.Logger
}

// DefaultDummyConfig gives the config of a silent DummyFleet.
func DefaultDummyConfig() DummyConfig { return DummyConfig{} }

// DummyFleet keeps the Fleet contract in memory: every change is there at once, and nothing ever fails by itself. Each
// unit has one machine entry, with an empty ID, that is inactive/dead when the unit is loaded and active/running when it
// is launched, and that reports the hash of the unit's content: UnitHash, or the SHA-1 of the text where it is no unit
// file, which a DummyFleet takes as well.
//
// The zero DummyFleet is ready for use. It must not be copied. For a cluster where things take time and go wrong, see
// package fleettest.
type DummyFleet struct {
	// Config is what the fleet was made with.
	Config DummyConfig
	// Units are the units by name. A test may look at and change them while it holds Mutex.
	Units map[string]UnitStatus
	// Mutex guards Units.
	Mutex sync.Mutex

	contents map[string]string
}

var (
	_ Fleet         = (*DummyFleet)(nil)
	_ UnitReader    = (*DummyFleet)(nil)
	_ ContentReader = (*DummyFleet)(nil)
	_ MachineReader = (*DummyFleet)(nil)
	_ Launcher      = (*DummyFleet)(nil)
)

// NewDummyFleet gives an empty DummyFleet.
func NewDummyFleet(config DummyConfig) *DummyFleet {
	return &DummyFleet{Config: config, Units: map[string]UnitStatus{}, contents: map[string]string{}}
}

// Submit creates the unit, or replaces its content, and loads it. A name that can't be a unit's gives an error for which
// IsInvalidRequest is true.
func (d *DummyFleet) Submit(ctx context.Context, name, content string) error {
	return errmask.Maskf(d.create(ctx, name, content, stateLoaded), "submit %s", short(name))
}

// SubmitLaunched creates the unit, or replaces its content, and launches it.
func (d *DummyFleet) SubmitLaunched(ctx context.Context, name, content string) error {
	return errmask.Maskf(d.create(ctx, name, content, stateLaunched), "submit %s launched", short(name))
}

// Start launches the unit.
func (d *DummyFleet) Start(ctx context.Context, name string) error {
	return errmask.Maskf(d.setState(ctx, name, stateLaunched), "start %s", short(name))
}

// Stop brings the unit back to loaded.
func (d *DummyFleet) Stop(ctx context.Context, name string) error {
	return errmask.Maskf(d.setState(ctx, name, stateLoaded), "stop %s", short(name))
}

// Destroy removes the unit.
func (d *DummyFleet) Destroy(ctx context.Context, name string) error {
	unlock, err := d.lock(ctx)
	if err == nil {
		defer unlock()
		_, err = d.find(name)
	}
	if err != nil {
		return errmask.Maskf(err, "destroy %s", short(name))
	}
	delete(d.Units, name)
	delete(d.contents, name)
	d.debug(ctx, "dummy fleet: %s is destroyed", name)
	return nil
}

// GetStatus gives one unit's status.
func (d *DummyFleet) GetStatus(ctx context.Context, name string) (UnitStatus, error) {
	unlock, err := d.lock(ctx)
	if err == nil {
		defer unlock()
		var status UnitStatus
		if status, err = d.find(name); err == nil {
			return cloneStatus(status), nil
		}
	}
	return UnitStatus{}, errmask.Maskf(err, "get status of %s", short(name))
}

// GetStatusWithMatcher gives the status of all units for whose names the matcher is true, sorted by name. The matcher is
// called without Mutex held.
func (d *DummyFleet) GetStatusWithMatcher(matcher func(string) bool) ([]UnitStatus, error) {
	if matcher == nil {
		return nil, withClass(errInvalidRequest, errors.New("get status of matching units: no matcher"))
	}
	listing, err := d.ReadUnits(context.Background(), Selector{})
	if err != nil {
		return nil, err
	}
	var found []UnitStatus
	for _, unit := range listing.Units {
		if matcher(unit.Name) {
			found = append(found, unit.UnitStatus)
		}
	}
	if len(found) == 0 {
		return nil, errmask.Maskf(errUnitNotFound, "get status of matching units")
	}
	return found, nil
}

// ReadUnits lists the units that the selector takes. The listing is always whole.
func (d *DummyFleet) ReadUnits(ctx context.Context, selector Selector) (Listing, error) {
	unlock, err := d.lock(ctx)
	if err != nil {
		return Listing{}, errmask.Maskf(err, "read units")
	}
	defer unlock()
	listing := Listing{Whole: true}
	filter := selector.filter()
	for name, status := range d.Units {
		content, known := d.contents[name]
		options, _ := parseContent(content) // what does not parse has no options
		says := newContent(options)
		if !filter.takes(name, says) {
			continue
		}
		facts := says.of(name)
		detail := UnitDetail{UnitStatus: cloneStatus(status), Group: facts.group, Owner: facts.owner, Stamped: facts.stamped,
			Global: facts.global, Oneshot: facts.oneshot}
		if known {
			detail.Hash = dummyHash(content)
		}
		listing.Units = append(listing.Units, detail)
	}
	slices.SortFunc(listing.Units, func(a, b UnitDetail) int { return strings.Compare(a.Name, b.Name) })
	return listing, nil
}

// ReadContent gives the unit's content in its canonical serialisation, or as it was submitted where it is no unit file.
// A unit that was put into Units by hand has no content, which is an error.
func (d *DummyFleet) ReadContent(ctx context.Context, name string) (string, error) {
	unlock, err := d.lock(ctx)
	if err != nil {
		return "", errmask.Maskf(err, "read content of %s", short(name))
	}
	defer unlock()
	if _, err := d.find(name); err != nil {
		return "", errmask.Maskf(err, "read content of %s", short(name))
	}
	content, known := d.contents[name]
	if !known {
		return "", errmask.Maskf(errors.New("the unit was not submitted"), "read content of %s", short(name))
	}
	if options, err := parseContent(content); err == nil {
		return serialize(options), nil
	}
	return content, nil
}

// ReadMachines lists the one machine that there is, whose ID is empty.
func (d *DummyFleet) ReadMachines(ctx context.Context) ([]Machine, error) {
	if err := ctx.Err(); err != nil {
		return nil, errmask.Maskf(err, "read machines")
	}
	return []Machine{{}}, nil
}

func (d *DummyFleet) create(ctx context.Context, name, content, state string) error {
	if err := checkName(name); err != nil {
		return err
	}
	if err := validator.UnitName(name); err != nil {
		return withClass(errInvalidRequest, err)
	}
	unlock, err := d.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	if d.Units == nil {
		d.Units = map[string]UnitStatus{}
	}
	if d.contents == nil {
		d.contents = map[string]string{}
	}
	d.contents[name] = content
	status := UnitStatus{Name: name, SliceID: sliceID(name), Machine: []MachineStatus{{UnitHash: dummyHash(content)}}}
	d.Units[name] = inState(status, state)
	d.debug(ctx, "dummy fleet: %s is submitted and %s", name, state)
	return nil
}

func (d *DummyFleet) setState(ctx context.Context, name, state string) error {
	unlock, err := d.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	status, err := d.find(name)
	if err != nil {
		return err
	}
	d.Units[name] = inState(cloneStatus(status), state)
	d.debug(ctx, "dummy fleet: %s is %s", name, state)
	return nil
}

// lock takes Mutex, unless the context has ended.
func (d *DummyFleet) lock(ctx context.Context) (unlock func(), err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	d.Mutex.Lock()
	return d.Mutex.Unlock, nil
}

// find looks a unit up, with Mutex held.
func (d *DummyFleet) find(name string) (UnitStatus, error) {
	status, there := d.Units[name]
	if !there {
		return UnitStatus{}, errUnitNotFound
	}
	return status, nil
}

func (d *DummyFleet) debug(ctx context.Context, f string, v ...any) {
	if d.Config.Logger != nil {
		d.Config.Logger.Debug(ctx, f, v...)
	}
}

// inState brings a status, all its machines with it, to a desired state.
func inState(status UnitStatus, state string) UnitStatus {
	status.Current, status.Desired = state, state
	for i := range status.Machine {
		status.Machine[i].SystemdActive, status.Machine[i].SystemdSub = "inactive", "dead"
		if state == stateLaunched {
			status.Machine[i].SystemdActive, status.Machine[i].SystemdSub = "active", "running"
		}
	}
	return status
}

func cloneStatus(status UnitStatus) UnitStatus {
	status.Machine = slices.Clone(status.Machine)
	for i := range status.Machine {
		status.Machine[i].IP = slices.Clone(status.Machine[i].IP)
	}
	return status
}

func dummyHash(content string) string {
	if hash, err := UnitHash(content); err == nil {
		return hash
	}
	sum := sha1.Sum([]byte(content))
	return hex.EncodeToString(sum[:])
}
