package dockertest

import (
	"errors"
	"fmt"
	"net/http"
)

// What a fault can be, beside a *StatusError. Any other error breaks the connection before anything is done.
var (
	// ErrLost does what is asked, and breaks the connection before the answer.
	ErrLost = errors.New("dockertest: the answer is lost")
	// ErrHang does nothing, and gives no answer until the request's context ends.
	ErrHang = errors.New("dockertest: no answer")
)

// StatusError is an answer of the daemon's that is no success.
type StatusError struct {
	Status  int
	Message string
}

// Error implements error.
func (e *StatusError) Error() string { return e.Message }

var (
	errNotThere  = errors.New("not found")
	errAmbiguous = errors.New("ambiguous")
)

func statusf(status int, format string, args ...any) error {
	return &StatusError{Status: status, Message: fmt.Sprintf(format, args...)}
}

// refused is an argument that the manager of the Swarm refuses.
func refused(format string, args ...any) error {
	return statusf(http.StatusBadRequest, "rpc error: code = InvalidArgument desc = "+format, args...)
}

// exists is a name that is taken.
func exists(format string, args ...any) error {
	return statusf(http.StatusConflict, "rpc error: code = AlreadyExists desc = "+format, args...)
}

// lookupError is what find found instead, as the daemon says it.
func lookupError(err error, kind, key string) error {
	if errors.Is(err, errAmbiguous) {
		return statusf(http.StatusBadRequest, "%s %s is %v", kind, key, err)
	}
	return statusf(http.StatusNotFound, "%s %s not found", kind, key)
}

// errOutOfSequence is a write with another version than the last.
func errOutOfSequence() error {
	return statusf(http.StatusInternalServerError, "rpc error: code = Unknown desc = update out of sequence")
}
