// Package groupdir reads a group from the directory of its unit files. The group's name is the directory's.
package groupdir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/squadronctl/squadron/controller"
	"github.com/squadronctl/squadron/validator"
)

var (
	errNoDirectory = errors.New("no such directory")
	errNoUnits     = errors.New("no unit files")
)

// IsNoDirectory is true where there is no directory of that name.
func IsNoDirectory(err error) bool { return errors.Is(err, errNoDirectory) }

// IsNoUnits is true for a directory in which no file is named like a unit.
func IsNoUnits(err error) bool { return errors.Is(err, errNoUnits) }

// Group is a group as a directory has it.
type Group struct {
	// Name is the directory's own name.
	Name string
	// Units are the files that are named like units, sorted by name.
	Units []controller.Unit
	// Others are the names of what else is in the directory, hidden files left out, sorted by name.
	Others []string
}

// Read reads a group's unit files. A trailing slash and "." will do. A unit file has to be a regular file, or a link to
// one, that can be read; the error names the one at fault. No more of a file is read than shows that it is too large.
func Read(dir string) (Group, error) {
	name, err := nameOf(dir)
	if err != nil {
		return Group{}, err
	}
	group := Group{Name: name}
	entries, err := os.ReadDir(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return group, fmt.Errorf("%w: %s", errNoDirectory, dir)
	case err != nil && !isDirectory(dir):
		return group, fmt.Errorf("%w: %s is a file", errNoDirectory, dir)
	case err != nil:
		return group, fmt.Errorf("read the unit files: %w", err)
	}
	for _, entry := range entries {
		if _, suffix := validator.SplitSuffix(entry.Name()); suffix == "" || entry.IsDir() {
			if !strings.HasPrefix(entry.Name(), ".") {
				group.Others = append(group.Others, entry.Name())
			}
			continue
		}
		content, err := readFile(filepath.Join(dir, entry.Name()))
		if err != nil {
			return group, fmt.Errorf("read the unit files: %w", err)
		}
		group.Units = append(group.Units, controller.Unit{Name: entry.Name(), Content: content})
	}
	if len(group.Units) == 0 {
		return group, fmt.Errorf("%w in %s: none of its files is named like a unit, such as %s-app.service", errNoUnits, dir, name)
	}
	return group, nil
}

// nameOf gives a directory's own name, also of "." and "..".
func nameOf(dir string) (string, error) {
	full, err := filepath.Abs(dir)
	if err != nil {
		return "", fmt.Errorf("name the group: %w", err)
	}
	name := filepath.Base(full)
	if name == string(filepath.Separator) {
		return "", fmt.Errorf("%w: %s has no name that a group could have", errNoDirectory, dir)
	}
	return name, nil
}

func isDirectory(path string) bool {
	info, err := os.Stat(path)
	return err != nil || info.IsDir()
}

// readFile reads a unit file. What is no regular file is not even opened: a pipe would block.
func readFile(path string) (string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", err
	}
	if !info.Mode().IsRegular() {
		return "", fmt.Errorf("%s is no regular file", path)
	}
	if info.Size() > validator.MaxFileSize {
		return "", fmt.Errorf("%s has %d bytes, but a unit file may have %d at most", path, info.Size(), validator.MaxFileSize)
	}
	content, err := os.ReadFile(path)
	return string(content), err
}
