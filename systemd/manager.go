package systemd

import "context"

// manager is what this package asks of systemd. Calls return errors that tell what they are (IsUnavailable,
// IsNotPermitted, fleet.IsTemporary).
type manager interface {
	// States tells the states of units, by the names asked for, in one call. Systemd loads those that it does not have
	// in memory.
	States(ctx context.Context, names []string) (map[string]unitState, error)
	// Known tells the states of those of the units that systemd has in memory, in one call. The others are not in the
	// answer. Nothing is loaded, which costs much when a directory of unit files has just changed.
	Known(ctx context.Context, names []string) (map[string]unitState, error)
	// Outdated says whether a unit's file, or a drop-in of it, has changed since systemd has read it.
	Outdated(ctx context.Context, name string) (bool, error)
	// SearchPath gives the directories in which systemd looks for unit files.
	SearchPath(ctx context.Context) ([]string, error)
	// Reload has systemd read all files again, and returns when it has.
	Reload(ctx context.Context) error
	// Start queues the start of a unit. The channel gives the job's result, or is closed when the connection breaks
	// first.
	Start(ctx context.Context, name string) (<-chan string, error)
	// Stop queues the stop of a unit, as Start does; the channel is nil when systemd doesn't have the unit in memory.
	Stop(ctx context.Context, name string) (<-chan string, error)
	// ResetFailed lets systemd forget that a unit has failed. A unit that it doesn't know is no error.
	ResetFailed(ctx context.Context, name string) error
	// Watch calls changed after each change of a unit's state, with its name, and with an empty name after what may
	// have changed any. It returns once it watches, and the channel is closed when it no longer does: ctx ended, or the
	// connection broke. Calls of changed follow one another.
	Watch(ctx context.Context, changed func(name string)) (<-chan struct{}, error)
	// Close ends the connections. Calls after it fail.
	Close() error
}

// loadNotFound is the load state of a unit that systemd finds no file of.
const loadNotFound = "not-found"

// unitState is what systemd says of a unit.
type unitState struct {
	Load, Active, Sub string
	Queued            bool // a job has yet to be done
}

// stopped says that nothing of the unit runs or is about to.
func (s unitState) stopped() bool {
	return !s.Queued && s.idle()
}

// idle says that nothing of the unit runs.
func (s unitState) idle() bool {
	return s.Active == "" || s.Active == "inactive" || s.Active == "failed"
}
