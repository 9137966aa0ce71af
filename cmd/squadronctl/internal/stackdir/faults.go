package stackdir

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"

	"golang.org/x/tools/txtar"

	"github.com/squadronctl/squadron/stack"
)

// inFile puts a manifest's fault at its place in the file: package units counts the lines of a unit file from that one's
// begin.
func inFile(path, text string, err error) error {
	var fault *stack.ManifestError
	if !errors.As(err, &fault) {
		return &stack.ManifestError{File: path, Err: err}
	}
	if fault.File == "" {
		return &stack.ManifestError{File: path, Line: fault.Line, Err: fault.Err}
	}
	return &stack.ManifestError{
		File: path, Line: lineOf(text, fault.File) + fault.Line, Err: fmt.Errorf("%s: %w", fault.File, fault.Err),
	}
}

// lineOf gives the line at which a file of a manifest begins, that with its name.
func lineOf(text, name string) int {
	archive := txtar.Parse([]byte(text))
	line := 1 + bytes.Count(archive.Comment, []byte("\n"))
	for _, file := range archive.Files {
		if file.Name == name {
			return line
		}
		line += 1 + bytes.Count(file.Data, []byte("\n"))
	}
	return 0
}

// inDirectory gives the fault of a group's directory the path of the unit file.
func inDirectory(path string, err error) error {
	var fault *stack.ManifestError
	if !errors.As(err, &fault) {
		return &stack.ManifestError{File: path, Err: reason(err)}
	}
	if fault.File == "" || fault.File == path { // of all files together, which have no lines in common
		return &stack.ManifestError{File: path, Err: fault.Err}
	}
	return &stack.ManifestError{File: filepath.Join(path, fault.File), Line: fault.Line, Err: reason(fault.Err)}
}
