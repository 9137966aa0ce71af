package fleet

import (
	"context"
	"net"
)

// UnitReader is the upgrade for reading many units at once, with a context and a selector.
//
// Without it a reader falls back to Fleet.GetStatusWithMatcher, which can't be cancelled, knows no contents, and says
// nothing of global units that have yet to reach a machine.
type UnitReader interface {
	// ReadUnits makes one look at the cluster, at the units that the selector takes: one listing over all its pages, or,
	// where the selector has names only, a read of each by its name. Nothing found is an empty listing, not an error.
	// Temporary errors have been retried when one is returned.
	ReadUnits(ctx context.Context, selector Selector) (Listing, error)
}

// ContentReader is the upgrade for reading back what was submitted.
//
// Without it only the hash that a machine reports tells one content from another, groups are told apart by name
// alone, and nothing that was replaced can be brought back.
type ContentReader interface {
	// ReadContent gives the unit file's text in its canonical serialisation: the same sections and options in the same
	// order as submitted, without comments and blank lines. A unit that is not there gives an error for which
	// IsUnitNotFound is true.
	ReadContent(ctx context.Context, name string) (string, error)
}

// MachineReader is the upgrade for listing the cluster's machines.
type MachineReader interface {
	// ReadMachines lists the machines that are alive, sorted by ID.
	ReadMachines(ctx context.Context) ([]Machine, error)
}

// Launcher is the upgrade for bringing a new unit straight to launched.
//
// Without it a new unit costs two writes: Submit and Start.
type Launcher interface {
	// SubmitLaunched does in one write what Submit followed by Start does in two.
	SubmitLaunched(ctx context.Context, name, content string) error
}

// UnitWatcher is the upgrade for hearing of changes as they happen.
//
// Without it whoever waits for a status finds out with the next look of a fixed pace.
type UnitWatcher interface {
	// WatchUnits returns once it watches, and watches until ctx ends. A value comes on the channel after each change of what
	// ReadUnits gives: a unit came or went, or its state, its desired state or its content is another. A read that begins
	// after the value came shows the change. Changes that follow one another closely may share a value, and a value may come
	// without a change. The channel is closed when ctx ends, and when the watch breaks off; whoever still wants to know watches anew,
	// and has to look then, since changes may have been missed. What keeps a watch from beginning is the error.
	WatchUnits(ctx context.Context) (<-chan struct{}, error)
}

// ConcurrencyAdviser is the upgrade for saying how many operations a backend does best side by side.
//
// Without it whoever has many to do does them eight at a time, which suits a cluster behind HTTP.
type ConcurrencyAdviser interface {
	// Concurrency gives the number, from 1; it is the same at every call.
	Concurrency() int
}

// Machine is one host of the cluster.
type Machine struct {
	// ID is the machine's ID, 32 hexadecimal digits.
	ID string
	// IP is the machine's primary address; nil where the machine publishes none.
	IP net.IP
	// Metadata is what MachineMetadata in a unit file is matched against.
	Metadata map[string]string
}

// Selector says which units a read is about: those whose name is in Names, and those that may belong to one of Groups.
// The zero Selector takes every unit.
//
// A unit may belong to a group when it carries the group's stamp or when its name begins with the group's name, whatever
// stamp it carries; the caller decides exactly, so a reader may return more than asked for but never less.
type Selector struct {
	// Names are exact unit names.
	Names []string
	// Groups are group names.
	Groups []string
	// Exact asks that each of Names is read by its name and not out of a listing, so that one missing from the answer
	// was not there: the listing that comes back is Whole. Groups must be empty then.
	Exact bool
}

// Listing is what one look found.
type Listing struct {
	// Units are the units found, sorted by name, none twice.
	Units []UnitDetail
	// Whole says that a unit which is not in the listing was not there: it was cut from one moment, or each name was read
	// by itself. It is false for a listing over several pages: pages shift when units come and go between two of them.
	Whole bool
}

// UnitDetail is all that a backend can tell of one unit in one look.
type UnitDetail struct {
	UnitStatus
	// Hash is the hash of the unit's current options, empty where the backend does not know them. Right after a
	// replacement a machine can still report the one before it (MachineStatus.UnitHash).
	Hash string
	// Group is the stamp Group= of the unit's section X-Squadron, empty where it has none.
	Group string
	// Owner is the stamp Owner= of that section, empty where it has none: who has deployed the unit as a part of a stack.
	Owner string
	// Stamped says that the unit has a stamp Group=.
	Stamped bool
	// Global says that the unit is meant to run on every machine whose metadata match.
	Global bool
	// Missing is, for a global unit, on how many of the machines that it is meant to run on nothing is known of it yet: those
	// listed whose metadata match, less those that have reported a state.
	Missing int
	// LoadError is what systemd says, on any machine, of a unit file that it could not load: bad-setting, error, not-found
	// or masked. Such a unit is inactive, and won't run. It is empty where all is well.
	LoadError string
	// Oneshot says that the unit is a service of Type=oneshot without RemainAfterExit=yes, which never stays active.
	Oneshot bool
}
