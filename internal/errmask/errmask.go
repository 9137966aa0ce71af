// Package errmask adds context to errors without hiding what they are.
//
// The masks are errgo's, so that errgo.Cause and errgo.Details see through them, and they unwrap as well, so that
// errors.Is and errors.As do. Has is what every Is… predicate of the project stands on: it also sees through masks
// made by callers with errgo alone, which do not unwrap.
package errmask

import (
	"fmt"
	"reflect"

	"github.com/juju/errgo"
)

// masked is an errgo mask that takes part in the standard library's chain.
type masked struct {
	errgo.Err
}

// Unwrap gives the error below the mask.
func (m *masked) Unwrap() error { return m.Underlying_ }

// Mask notes the caller's place in err's history and leaves its text as it is. Mask(nil) is nil.
func Mask(err error) error {
	return mask(err, "")
}

// Maskf puts a text in front of err's: "text: err". Maskf(nil, …) is nil.
func Maskf(err error, format string, args ...any) error {
	return mask(err, fmt.Sprintf(format, args...))
}

func mask(err error, text string) error {
	if err == nil {
		return nil
	}
	m := &masked{Err: errgo.Err{Message_: text, Underlying_: err, Cause_: errgo.Cause(err)}}
	m.SetLocation(2)
	return m
}

// Has reports whether target stands anywhere in err's tree: below Unwrap (one or many), or below an errgo mask. It is
// false for a target that can't be compared.
func Has(err, target error) bool {
	if target != nil && !reflect.ValueOf(target).Comparable() {
		return false
	}
	return Find(err, func(e error) bool { return e == target })
}

// Find reports whether match holds for err or for any error below it.
func Find(err error, match func(error) bool) bool {
	if err == nil {
		return false
	}
	if match(err) {
		return true
	}
	switch e := err.(type) {
	case interface{ Unwrap() []error }:
		for _, below := range e.Unwrap() {
			if Find(below, match) {
				return true
			}
		}
		return false
	case interface{ Unwrap() error }:
		return Find(e.Unwrap(), match)
	case errgo.Wrapper:
		return Find(e.Underlying(), match)
	default:
		return false
	}
}
