package fleet

import (
	"context"
	"errors"
	"io"
	"syscall"

	"github.com/squadronctl/squadron/internal/errclass"
	"github.com/squadronctl/squadron/internal/errmask"
)

var (
	errUnitNotFound      = errclass.ErrUnitNotFound
	errInvalidUnitStatus = errors.New("invalid unit status")
	errInvalidEndpoint   = errors.New("invalid endpoint")
	errIPNotFound        = errors.New("IP not found")
	errConflict          = errclass.ErrConflict
	errInvalidRequest    = errclass.ErrInvalidRequest
	errTemporary         = errclass.ErrTemporary
)

// IsUnitNotFound reports whether err says that a unit is not there, or that a matcher matched no unit.
func IsUnitNotFound(err error) bool { return errmask.Has(err, errUnitNotFound) }

// IsInvalidUnitStatus reports whether err says that the backend answered something that can't be the status of the unit
// asked for, such as the status of another one.
func IsInvalidUnitStatus(err error) bool { return errmask.Has(err, errInvalidUnitStatus) }

// IsInvalidEndpoint reports whether err says that an endpoint can't be used: it has a wrong form, or what answers there
// is no fleet API.
func IsInvalidEndpoint(err error) bool { return errmask.Has(err, errInvalidEndpoint) }

// IsIPNotFound reports whether err says that no address is known of a machine. A listing never fails for that: it gives
// such a machine a nil IP.
func IsIPNotFound(err error) bool { return errmask.Has(err, errIPNotFound) }

// IsConflict reports whether err says that the backend refused a request because of the state that the unit is in (a
// 409 of fleet's API).
func IsConflict(err error) bool { return errmask.Has(err, errConflict) }

// IsInvalidRequest reports whether err says that a request can't be carried out as it is, whatever the cluster's state:
// an impossible unit name, a content that is no unit file, or a 400, 413 or 415 of fleet's API.
func IsInvalidRequest(err error) bool { return errmask.Has(err, errInvalidRequest) }

// IsTemporary reports whether a repeat may cure err: a 5xx, 408 or 429, a timeout of a single request, a refused or reset
// connection, a truncated answer, or what AsTemporary has marked. A context of the caller's that has ended is not
// temporary.
func IsTemporary(err error) bool { return errmask.Find(err, isTemporary) }

// AsTemporary marks err, whose text stays as it is, so that IsTemporary is true for it. It is for backends of one's own.
// AsTemporary(nil) is nil.
func AsTemporary(err error) error { return withClass(errTemporary, err) }

func withClass(class, err error) error { return errclass.With(class, err) }

// isTemporary looks at one error of a tree.
func isTemporary(err error) bool {
	switch err {
	case errTemporary, io.ErrUnexpectedEOF, syscall.ECONNREFUSED, syscall.ECONNRESET, syscall.EPIPE:
		return true
	}
	// A context's end is a timeout to net/http too. Only the request's own deadline is temporary, and that one is marked.
	t, ok := err.(interface{ Timeout() bool })
	return ok && t.Timeout() && !errors.Is(err, context.DeadlineExceeded)
}
