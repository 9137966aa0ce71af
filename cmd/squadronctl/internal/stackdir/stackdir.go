// Package stackdir reads declared stacks from a directory: a manifest for each, or a group's directory.
//
//	stacks/web.txtar                    stack web
//	stacks/ledger/ledger-db.service     stack ledger, a group's directory
//	stacks/README.md                    left out
//
// What is at fault is told with the file and the line in it, and keeps no other stack from being read.
package stackdir

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/squadronctl/squadron/stack"
	"github.com/squadronctl/squadron/stack/units"
	"github.com/squadronctl/squadron/validator"
)

// Suffix is how the names of manifests end.
const Suffix = ".txtar"

// maxSize is the most bytes that a manifest may have. It has room for more units than a group has, and keeps what only
// bears a manifest's name from being read into memory.
const maxSize = 64 << 20

var errGroupDirectory = errors.New("it is a group's directory")

// IsGroupDirectory is true where the directory is not one of stacks, but has unit files itself.
func IsGroupDirectory(err error) bool { return errors.Is(err, errGroupDirectory) }

// Stack is one stack that is declared.
type Stack struct {
	// Name is the name of the manifest's file without its suffix, or that of the group's directory.
	Name string
	// Manifest is what package units takes.
	Manifest string
	// Wave is the manifest's, and 0 for a group's directory.
	Wave int
	// File is the manifest's file, or the group's directory, with the path that Read was given.
	File string
}

// Listing is what a directory declares.
type Listing struct {
	// Stacks are those that can be used, by file. Two may have one name: a manifest and a directory.
	Stacks []Stack
	// Faults are what can't be used, by file. Each is a *stack.ManifestError, whose File is the path of the file at fault,
	// and whose Line is 0 where it is of no single line.
	Faults []error
	// Others are the names of files that are no manifests, hidden ones left out.
	Others []string
}

// Read reads a directory. An error is one that can't be listed, or that is a group's directory itself: then it is not known
// what is declared, which is something else than that nothing is.
func Read(dir string) (Listing, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return Listing{}, fmt.Errorf("read the declared stacks: %w", err)
	}
	var listing Listing
	for _, entry := range entries {
		name, path := entry.Name(), filepath.Join(dir, entry.Name())
		if strings.HasPrefix(name, ".") {
			continue
		}
		info, err := os.Stat(path) // and not the entry's, which is of a link itself
		_, unit := validator.SplitSuffix(name)
		switch {
		case strings.HasSuffix(name, Suffix) && (err != nil || !info.IsDir()):
			listing.add(readFile(path, strings.TrimSuffix(name, Suffix)))
		case err != nil:
			listing.add(Stack{}, &stack.ManifestError{File: path, Err: reason(err)})
		case info.IsDir():
			listing.add(readDirectory(path, name))
		case unit != "":
			return Listing{}, fmt.Errorf("read the declared stacks: %w: it has the unit file %s; name the directory that it is in", errGroupDirectory, path)
		default:
			listing.Others = append(listing.Others, name)
		}
	}
	return listing, nil
}

// Declares says whether a file or a directory declares a stack, as far as its name and what it has tell.
func Declares(path string) bool {
	if strings.HasSuffix(path, Suffix) {
		return true
	}
	entries, err := os.ReadDir(path)
	return err == nil && slices.ContainsFunc(entries, func(entry os.DirEntry) bool {
		_, unit := validator.SplitSuffix(entry.Name())
		return unit != ""
	})
}

func (l *Listing) add(s Stack, err error) {
	if err != nil {
		l.Faults = append(l.Faults, err)
		return
	}
	l.Stacks = append(l.Stacks, s)
}

// readFile reads a manifest.
func readFile(path, name string) (Stack, error) {
	text, err := readRegular(path)
	if err != nil {
		return Stack{}, &stack.ManifestError{File: path, Err: err}
	}
	manifest, err := units.ParseManifest(text)
	if err == nil {
		err = manifest.CheckName(name)
	}
	if err != nil {
		return Stack{}, inFile(path, text, err)
	}
	return Stack{Name: name, Manifest: text, Wave: manifest.Wave, File: path}, nil
}

// readRegular reads a file. What is no regular one is not even opened: a pipe would block.
func readRegular(path string) (string, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return "", reason(err)
	case !info.Mode().IsRegular():
		return "", errors.New("it is no regular file")
	case info.Size() > maxSize:
		return "", fmt.Errorf("it has %d bytes, but a manifest may have %d at most", info.Size(), maxSize)
	}
	text, err := os.ReadFile(path)
	return string(text), reason(err)
}

// readDirectory reads a group's directory.
func readDirectory(path, name string) (Stack, error) {
	manifest, err := units.ManifestOf(path)
	if err == nil {
		err = manifest.CheckName(name)
	}
	var text string
	if err == nil {
		text, err = manifest.Format()
	}
	if err != nil {
		return Stack{}, inDirectory(path, err)
	}
	return Stack{Name: name, Manifest: text, File: path}, nil
}

// reason takes the path, which is told anyway, from an error of the file system.
func reason(err error) error {
	var known *os.PathError
	if errors.As(err, &known) {
		return known.Err
	}
	return err
}
