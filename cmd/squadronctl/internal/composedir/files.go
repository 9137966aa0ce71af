package composedir

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/squadronctl/squadron/stack"
)

// maxSize is the most bytes that a file may have. Swarm takes far less of a config, and what only bears a compose file's name is
// not read into memory.
const maxSize = 16 << 20

// readNamed reads a file that a compose file names.
func readNamed(root *os.Root, path string) ([]byte, error) {
	if filepath.IsAbs(path) || !filepath.IsLocal(path) {
		return nil, fmt.Errorf("read %s: only files in the compose file's directory are read", path)
	}
	text, err := readRegular(root, path)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	return text, nil
}

// opener is what files are opened in: a *os.Root, or anywhere.
type opener interface {
	Stat(path string) (os.FileInfo, error)
	Open(path string) (*os.File, error)
}

// anywhere is all that the process can open. It is for the compose file itself, which may be a link.
type anywhere struct{}

func (anywhere) Stat(path string) (os.FileInfo, error) { return os.Stat(path) }
func (anywhere) Open(path string) (*os.File, error)    { return os.Open(path) }

// readRegular reads a file. What is no regular one is not even opened: a pipe would block.
func readRegular(root opener, path string) ([]byte, error) {
	info, err := root.Stat(path)
	switch {
	case err != nil:
		return nil, reason(err)
	case !info.Mode().IsRegular():
		return nil, errors.New("it is no regular file")
	case info.Size() > maxSize:
		return nil, errTooLong(info.Size())
	}
	file, err := root.Open(path)
	if err != nil {
		return nil, reason(err)
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, maxSize+1))
	if len(text) > maxSize { // it has grown since
		return nil, errTooLong(int64(len(text)))
	}
	return text, reason(err)
}

func errTooLong(size int64) error {
	return fmt.Errorf("it has %d bytes, but may have %d at most", size, maxSize)
}

// inFile gives each of a manifest's faults the file that it is in.
func inFile(path string, err error) []error {
	found := faultsIn(err)
	if len(found) == 0 {
		return []error{&stack.ManifestError{File: path, Err: err}}
	}
	var faults []error
	for _, fault := range found {
		placed := &stack.ManifestError{File: path, Line: fault.Line, Err: fault.Err}
		if fault.File != "" {
			placed.Err = fmt.Errorf("%s: %w", fault.File, fault.Err)
		}
		faults = append(faults, placed)
	}
	return faults
}

// faultsIn gives all faults of a manifest that are joined in an error.
func faultsIn(err error) []*stack.ManifestError {
	switch e := err.(type) {
	case *stack.ManifestError:
		return []*stack.ManifestError{e}
	case interface{ Unwrap() []error }:
		var found []*stack.ManifestError
		for _, below := range e.Unwrap() {
			found = append(found, faultsIn(below)...)
		}
		return found
	case interface{ Unwrap() error }:
		return faultsIn(e.Unwrap())
	default:
		return nil
	}
}

// reason takes the path, which is told anyway, from an error of the file system.
func reason(err error) error {
	var known *os.PathError
	if errors.As(err, &known) {
		return known.Err
	}
	return err
}
