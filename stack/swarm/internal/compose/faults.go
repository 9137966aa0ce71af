package compose

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/squadronctl/squadron/stack"
)

// faults are what is wrong with a manifest, gathered so that all of it is told at once.
type faults struct {
	all []*stack.ManifestError
}

// most is how many faults are told; who has more is told these first.
const most = 50

// add notes a fault at a line.
func (f *faults) add(line int, format string, args ...any) {
	f.wrap(line, fmt.Errorf(format, args...))
}

// wrap notes a fault that there is an error for. One that is noted already is noted no second time.
func (f *faults) wrap(line int, err error) {
	if len(f.all) >= most {
		return
	}
	made := &stack.ManifestError{Line: max(line, 1), Err: printable(err)}
	known := slices.ContainsFunc(f.all, func(other *stack.ManifestError) bool { return other.Error() == made.Error() })
	if !known {
		f.all = append(f.all, made)
	}
}

// plain is an error that says the same as its cause, on one line and without what a terminal would act on.
type plain struct {
	text  string
	cause error
}

func (p plain) Error() string { return p.text }
func (p plain) Unwrap() error { return p.cause }

func printable(err error) error {
	text := strings.Map(func(c rune) rune {
		switch {
		case c == '\n' || c == '\t':
			return ' '
		case !unicode.IsPrint(c):
			return unicode.ReplacementChar
		}
		return c
	}, err.Error())
	if text == err.Error() {
		return err
	}
	return plain{text, err}
}

// any says whether there are any.
func (f *faults) any() bool { return len(f.all) > 0 }

// err gives them as one error, in the order of their lines: nil where there is none, a *stack.ManifestError where there is one.
func (f *faults) err() error {
	slices.SortStableFunc(f.all, func(a, b *stack.ManifestError) int { return cmp.Compare(a.Line, b.Line) })
	if len(f.all) == 1 {
		return f.all[0]
	}
	joined := make([]error, len(f.all))
	for i, fault := range f.all {
		joined[i] = fault
	}
	return errors.Join(joined...)
}
