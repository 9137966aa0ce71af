package controller

import (
	"context"
	"fmt"
	"strings"

	"github.com/squadronctl/squadron/internal/errmask"
)

// bothErrors reads like the first of its errors and is both.
type bothErrors [2]error

func (b bothErrors) Error() string   { return b[0].Error() }
func (b bothErrors) Unwrap() []error { return b[:] }

// explained is an error with a note behind it.
type explained struct {
	err  error
	note string
}

func (e *explained) Error() string { return fmt.Sprintf("%v (%s)", e.err, e.note) }
func (e *explained) Unwrap() error { return e.err }

// errorList is several errors on one line.
type errorList []error

func (l errorList) Error() string {
	texts := make([]string, 0, len(l))
	for _, err := range l {
		texts = append(texts, err.Error())
	}
	return strings.Join(texts, "; ")
}

func (l errorList) Unwrap() []error { return l }

// endOf is the error of a context that has ended: its cause, and context.Canceled or context.DeadlineExceeded whatever
// the cause.
func endOf(ctx context.Context) error {
	cause, err := context.Cause(ctx), ctx.Err()
	if errmask.Has(cause, err) {
		return cause
	}
	return bothErrors{cause, err}
}
