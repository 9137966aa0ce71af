package task

import (
	"context"
	"errors"

	"github.com/squadronctl/squadron/internal/errmask"
)

var (
	errInvalidArgument    = errors.New("invalid argument")
	errNoError            = errors.New("failed without an error")
	errShutdown           = errors.New("task service is shut down")
	errTaskObjectNotFound = errors.New("task not found")
)

// Why an action's context ended, for context.Cause.
var (
	causeCancelled = &cause{text: "task is cancelled", is: []error{context.Canceled}}
	causeShutdown  = &cause{text: errShutdown.Error(), is: []error{errShutdown, context.Canceled}}
)

// cause is a context's error that says more than context.Canceled and still is that.
type cause struct {
	text string
	is   []error
}

func (c *cause) Error() string   { return c.text }
func (c *cause) Unwrap() []error { return c.is }

// IsInvalidArgument reports whether err says that a call was given what it can't work with, such as a nil action.
func IsInvalidArgument(err error) bool {
	return errmask.Has(err, errInvalidArgument)
}

// IsShutdown reports whether err says that the service was shut down: the error of Create after Shutdown, and what
// context.Cause gives for the context of an action that Shutdown, and not Cancel, has ended.
func IsShutdown(err error) bool {
	return errmask.Has(err, errShutdown)
}

// IsTaskObjectNotFound reports whether err says that no task has the ID: there never was one, or the Storage keeps it
// no longer.
func IsTaskObjectNotFound(err error) bool {
	return errmask.Has(err, errTaskObjectNotFound)
}
