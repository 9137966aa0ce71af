// Package fleet is the backend contract of Squadron (Fleet), and the client that keeps it on a fleet cluster.
//
// NewFleet speaks fleet's HTTP API version 1 over a unix socket, http, https, or an SSH tunnel. NewDummyFleet keeps
// the contract in memory, at once and without a network. What a backend can do beyond the contract stands in small
// interfaces of its own (see UnitReader, ContentReader, MachineReader, Launcher, UnitWatcher and
// ConcurrencyAdviser): both of these backends offer all but the last two, and a backend of your own gains by each that it
// offers.
package fleet

import (
	"context"
	"net"
)

// Fleet is what the controller needs of a backend: operations on single units. Implementations are safe for use by
// many goroutines at once.
//
// Stop, Start and Destroy of a unit that the backend does not have, and GetStatus of one, give an error for which
// IsUnitNotFound is true. Errors that a repeat may cure are those of IsTemporary.
type Fleet interface {
	// Submit creates the unit, or replaces its content, and sets its desired state to loaded. It returns when the
	// backend has taken the request, not when the unit is loaded.
	Submit(ctx context.Context, name, content string) error
	// Start sets the unit's desired state to launched. It returns when the backend has taken the request.
	Start(ctx context.Context, name string) error
	// Stop sets the unit's desired state to loaded. It returns when the backend has taken the request.
	Stop(ctx context.Context, name string) error
	// Destroy removes the unit. It returns when the backend has taken the request; the unit's states may be reported
	// for a while after that.
	Destroy(ctx context.Context, name string) error
	// GetStatus reads one unit's status.
	GetStatus(ctx context.Context, name string) (UnitStatus, error)
	// GetStatusWithMatcher reads the status of all units for whose names the matcher is true, sorted by name. A matcher
	// that matches nothing gives an error for which IsUnitNotFound is true. It has no context for the sake of programs
	// that implement it; UnitReader is the same read with one, and is preferred where a backend offers it.
	GetStatusWithMatcher(matcher func(string) bool) ([]UnitStatus, error)
}

// UnitStatus is one unit's state on the cluster.
type UnitStatus struct {
	// Current is the state fleet sees: inactive, loaded or launched. A global unit reports its desired state here, since
	// fleet itself always says inactive of one.
	Current string
	// Desired is the state fleet was asked for: inactive, loaded or launched.
	Desired string
	// Machine has one entry per machine, several for a global unit, none while the unit is unscheduled. A unit that
	// isn't global has at most the entry of the machine it is scheduled to.
	Machine []MachineStatus
	// Name is the unit file's name: web@1.service.
	Name string
	// SliceID is what stands between @ and the suffix: 1. It is empty for a unit without slice.
	SliceID string
}

// MachineStatus is one unit's state on one machine.
type MachineStatus struct {
	// ID is the machine's ID, 32 hexadecimal digits.
	ID string
	// IP is the machine's primary address; nil for a machine that is no longer listed.
	IP net.IP
	// SystemdActive is systemd's active state; empty while the machine has not reported one.
	SystemdActive string
	// SystemdSub is systemd's sub state; empty while the machine has not reported one.
	SystemdSub string
	// UnitHash is the SHA-1, in hex, of the unit file that the machine has loaded, in its canonical serialisation.
	UnitHash string
}
