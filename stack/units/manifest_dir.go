package units

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/squadronctl/squadron/controller"
	"github.com/squadronctl/squadron/internal/errmask"
	"github.com/squadronctl/squadron/stack"
	"github.com/squadronctl/squadron/validator"
)

// ManifestOf gives the manifest of a group's directory: its unit files, which are those that are named like units, sorted by
// name, and no numbers, so that it leaves open how many slices there are. Other files and directories are passed over. The
// name of the stack is the caller's to say; by convention it is the directory's. A directory or a file that can't be read is
// an error, and what ParseManifest would refuse a *stack.ManifestError with the unit's name.
func ManifestOf(dir string) (Manifest, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return Manifest{}, errmask.Maskf(err, "read the unit files")
	}
	var manifest Manifest
	for _, entry := range entries {
		if _, suffix := validator.SplitSuffix(entry.Name()); suffix == "" || entry.IsDir() {
			continue
		}
		content, err := readUnitFile(filepath.Join(dir, entry.Name()))
		if err != nil {
			return Manifest{}, &stack.ManifestError{File: entry.Name(), Err: err}
		}
		manifest.Units = append(manifest.Units, controller.Unit{Name: entry.Name(), Content: content})
	}
	if len(manifest.Units) == 0 {
		return Manifest{}, &stack.ManifestError{File: dir, Err: errors.New("none of its files is named like a unit")}
	}
	if err := manifest.check(lines{}); err != nil {
		return Manifest{}, err
	}
	return manifest, nil
}

// readUnitFile reads a unit file. What is no regular file is not even opened: a pipe would block.
func readUnitFile(path string) (string, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return "", err
	case !info.Mode().IsRegular():
		return "", fmt.Errorf("%s is no regular file", path)
	case info.Size() > validator.MaxFileSize:
		return "", fmt.Errorf("%s has %d bytes, but a unit file may have %d at most", path, info.Size(), validator.MaxFileSize)
	}
	content, err := os.ReadFile(path)
	return string(content), err
}
