// Package errclass holds the classes of errors that all backends share: package fleet has a predicate for each.
package errclass

import "errors"

// The classes; package fleet says what each means.
var (
	ErrUnitNotFound   = errors.New("unit not found")
	ErrConflict       = errors.New("conflict")
	ErrInvalidRequest = errors.New("invalid request")
	ErrTemporary      = errors.New("temporary")
)

// With puts err into a class, without a word about it in the error's text. With(class, nil) is nil.
func With(class, err error) error {
	if err == nil {
		return nil
	}
	return &classed{class: class, err: err}
}

// classed is an error that also belongs to a class.
type classed struct {
	class error
	err   error
}

// Error gives the text of the error itself.
func (c *classed) Error() string { return c.err.Error() }

// Unwrap gives the error and its class.
func (c *classed) Unwrap() []error { return []error{c.err, c.class} }
