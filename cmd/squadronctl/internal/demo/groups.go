package demo

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/squadronctl/squadron/fleet/fleettest"
)

// groups are the unit files of the demo's groups, a directory for each: what Run writes, and an operator would have in a
// repository. broken holds releases that don't run, and stacks what can be declared and is not there yet.
//
//go:embed groups
var groups embed.FS

// running says which groups are on the cluster, and the IDs of their slices; the empty ID is the one copy of an instance
// group.
var running = []struct {
	group  string
	slices []string
}{
	{"ledger", []string{""}},
	{"mail", []string{"4e1", "b92"}},
	{"queue", []string{"0d5", failing, "e73"}},
	{"report", []string{""}},
	{"web", []string{"3f1", "a0c", "d68"}},
}

// failing is the slice of group queue that has failed.
const failing = "c07"

// The release in the directories is newer than the one on the cluster, so that there is something to update.
const oldRelease, newRelease = "RELEASE=1", "RELEASE=2"

// behave is what the demo's units do.
func behave(start fleettest.Start) fleettest.Behavior {
	if start.Name == "queue-worker@"+failing+".service" {
		return fleettest.Behavior{Fail: true}
	}
	return fleettest.DefaultBehavior(start)
}

// putGroups puts the groups on the cluster, launched.
func putGroups(cluster *fleettest.Cluster) error {
	for _, g := range running {
		files, err := fs.Glob(groups, path.Join("groups", g.group, "*"))
		if err != nil {
			return fmt.Errorf("find the units of group %s: %w", g.group, err)
		}
		for _, file := range files {
			content, err := fs.ReadFile(groups, file)
			if err != nil {
				return fmt.Errorf("read a unit of group %s: %w", g.group, err)
			}
			old := strings.ReplaceAll(string(content), newRelease, oldRelease)
			for _, id := range g.slices {
				name := strings.Replace(path.Base(file), "@.", "@"+id+".", 1)
				if err := cluster.Put(name, old, "launched"); err != nil {
					return fmt.Errorf("launch %s: %w", name, err)
				}
			}
		}
	}
	return nil
}

// writeGroups writes the groups' unit files to the directory of the configuration, or to a new one, which remove removes.
func writeGroups(config Config) (dir string, remove func() error, err error) {
	remove = func() error { return nil }
	dir, err = filepath.Abs(config.Dir)
	if err != nil {
		return "", remove, fmt.Errorf("write the groups: %w", err)
	}
	if config.Dir == "" {
		dir, err = os.MkdirTemp(filepath.Dir(config.Socket), "squadron-demo-")
		if err != nil {
			return "", remove, fmt.Errorf("write the groups: %w", err)
		}
		remove = func() error { return os.RemoveAll(dir) }
	}
	err = fs.WalkDir(groups, "groups", func(file string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return writeEntry(filepath.Join(dir, strings.TrimPrefix(file, "groups")), file, entry)
	})
	if err != nil {
		return "", remove, fmt.Errorf("write the groups: %w", err)
	}
	return dir, remove, nil
}

// writeEntry makes one directory or file, unless it is there.
func writeEntry(to, from string, entry fs.DirEntry) error {
	if entry.IsDir() {
		return os.MkdirAll(to, 0o755)
	}
	content, err := fs.ReadFile(groups, from)
	if err != nil {
		return err
	}
	file, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	_, err = file.Write(content)
	return errors.Join(err, file.Close())
}
