package controller

import (
	"slices"
	"strings"
)

// ValidationError is all that is wrong with a request. The functions that validate return it as a value and unwrapped,
// so that err.(controller.ValidationError) holds; it unwraps to its causes, so that errors.Is, errors.As and the Is…
// predicates see through it.
type ValidationError struct {
	// CausingErrors are the faults, in the order in which they were found.
	CausingErrors []error
}

// Add appends a fault, which is kept as it is given.
func (e *ValidationError) Add(err error) {
	e.CausingErrors = append(e.CausingErrors, err)
}

// Contains reports whether checker, such as one of the Is… predicates, is true for any of the faults.
func (e *ValidationError) Contains(checker func(error) bool) bool {
	return slices.ContainsFunc(e.CausingErrors, checker)
}

// Error lists all faults on one line.
func (e ValidationError) Error() string {
	texts := make([]string, 0, len(e.CausingErrors))
	for _, err := range e.CausingErrors {
		if err != nil {
			texts = append(texts, withoutNewlines.Replace(err.Error()))
		}
	}
	return "invalid request: " + strings.Join(texts, "; ")
}

// withoutNewlines takes the newlines out of a text that is not of this package's making.
var withoutNewlines = strings.NewReplacer("\r\n", " ", "\n", " ", "\r", " ")

// Unwrap gives the faults.
func (e ValidationError) Unwrap() []error { return e.CausingErrors }

// addAll appends faults.
func (e *ValidationError) addAll(faults ...error) {
	e.CausingErrors = append(e.CausingErrors, faults...)
}

// orNil is the error itself where it has any fault, as a value, and nil where it has none.
func (e *ValidationError) orNil() error {
	if len(e.CausingErrors) == 0 {
		return nil
	}
	return *e
}
