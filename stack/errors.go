package stack

import (
	"errors"
	"fmt"
)

// ManifestError is a fault of a manifest, before anything is deployed.
type ManifestError struct {
	// File is the manifest's file, or the file in it; empty where it has no name.
	File string
	// Line is the line in that file, from 1; 0 where the fault is of no single line.
	Line int
	// Err is what is wrong.
	Err error
}

// Error begins with file and line, as compilers have it.
func (e *ManifestError) Error() string {
	switch {
	case e.File == "" && e.Line == 0:
		return fmt.Sprintf("manifest: %v", e.Err)
	case e.File == "":
		return fmt.Sprintf("manifest:%d: %v", e.Line, e.Err)
	case e.Line == 0:
		return fmt.Sprintf("%s: %v", e.File, e.Err)
	default:
		return fmt.Sprintf("%s:%d: %v", e.File, e.Line, e.Err)
	}
}

// Unwrap gives what is wrong.
func (e *ManifestError) Unwrap() error { return e.Err }

// ErrForeignStack is what a refusal wraps to act on what carries another owner's stamp, or none.
var ErrForeignStack = errors.New("the stack belongs to somebody else")

// IsForeignStack says whether an error is the refusal to act on somebody else's stack.
func IsForeignStack(err error) bool { return errors.Is(err, ErrForeignStack) }

// ErrForbiddenReference is what a refusal wraps of a manifest that refers to what lies outside of its stack, and is not in
// Allow.
var ErrForbiddenReference = errors.New("the reference is not allowed")

// IsForbiddenReference says whether an error is the refusal of a reference outside of the stack.
func IsForbiddenReference(err error) bool { return errors.Is(err, ErrForbiddenReference) }
