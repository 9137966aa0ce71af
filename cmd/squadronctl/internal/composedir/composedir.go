// Package composedir reads declared stacks from a directory of compose files.
//
//	stacks/web.yaml                     stack web; web.yml as well
//	stacks/ledger/compose.yaml          stack ledger; compose.yml and docker-compose.yml as well
//	stacks/conf/app.ini                 left out, though a compose file may name it
//
// What a compose file names (configs, secrets, env_file) is read in the directory that it is in, and nowhere else: a path that
// leads out of it, be it by a symbolic link, is refused. Variables are those of the environment; there is no .env file. A stack's
// wave is what the compose file says by x-squadron-wave.
package composedir

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/squadronctl/squadron/cmd/squadronctl/internal/stackdir"
	"github.com/squadronctl/squadron/stack"
	"github.com/squadronctl/squadron/stack/swarm"
)

// suffixes are how the names of compose files end.
var suffixes = []string{".yaml", ".yml"}

// names are what the compose file of a directory may be called.
var names = []string{"compose.yaml", "compose.yml", "docker-compose.yaml", "docker-compose.yml"}

var errStackDirectory = errors.New("it is one stack's directory")

// IsStackDirectory is true where the directory is not one of stacks, but has a compose file of its own.
func IsStackDirectory(err error) bool { return errors.Is(err, errStackDirectory) }

// Source reads a directory again and again. Its methods are safe for use by many goroutines at once.
type Source struct {
	dir    string
	lookup func(name string) (string, bool)

	mutex sync.Mutex
	homes map[string]string // by stack: the directory that its compose file is in
}

// New gives a Source of a directory. Lookup gives the variables that compose files use; nil: none is set.
func New(dir string, lookup func(name string) (string, bool)) *Source {
	return &Source{dir: dir, lookup: lookup, homes: map[string]string{}}
}

// Read reads the directory. Its manifests are packed (swarm.Pack). An error is a directory that can't be listed, or that is a
// stack's itself: then it is not known what is declared, which is something else than that nothing is.
func (s *Source) Read() (stackdir.Listing, error) {
	entries, err := os.ReadDir(s.dir)
	if err != nil {
		return stackdir.Listing{}, fmt.Errorf("read the declared stacks: %w", err)
	}
	var listing stackdir.Listing
	homes := map[string]string{}
	for _, entry := range entries {
		name, path := entry.Name(), filepath.Join(s.dir, entry.Name())
		if strings.HasPrefix(name, ".") {
			continue
		}
		if slices.Contains(names, name) {
			return stackdir.Listing{}, fmt.Errorf("read the declared stacks: %w: it has %s; name the directory that it is in", errStackDirectory, path)
		}
		file, declares, err := find(path)
		switch {
		case err != nil:
			listing.Faults = append(listing.Faults, &stack.ManifestError{File: path, Err: reason(err)})
			continue
		case !declares:
			listing.Others = append(listing.Others, name)
			continue
		}
		if file == path {
			name = strings.TrimSuffix(name, filepath.Ext(name))
		}
		homes[name] = filepath.Dir(file)
		read, faults := s.declared(name, file)
		listing.Faults = append(listing.Faults, faults...)
		if len(faults) == 0 {
			listing.Stacks = append(listing.Stacks, read)
		}
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.homes = homes
	return listing, nil
}

// Declares says whether a file or a directory declares a stack, as far as its name and what it has tell.
func Declares(path string) bool {
	_, declares, err := find(path)
	return declares || err != nil
}

// find gives the compose file that an entry is, or has.
func find(path string) (file string, declares bool, err error) {
	info, err := os.Stat(path) // and not the entry's, which is of a link itself
	switch {
	case err != nil:
		return "", false, err
	case !info.IsDir():
		return path, slices.Contains(suffixes, filepath.Ext(path)), nil
	}
	for _, name := range names {
		_, err := os.Stat(filepath.Join(path, name))
		switch {
		case errors.Is(err, os.ErrNotExist):
		case err != nil:
			return "", false, err
		case file != "":
			return "", false, fmt.Errorf("which of %s and %s is meant?", filepath.Base(file), name)
		default:
			file = filepath.Join(path, name)
		}
	}
	return file, file != "", nil
}

// declared reads one stack.
func (s *Source) declared(name, file string) (stackdir.Stack, []error) {
	fault := func(err error) []error { return []error{&stack.ManifestError{File: file, Err: reason(err)}} }
	text, err := readRegular(anywhere{}, file)
	if err != nil {
		return stackdir.Stack{}, fault(err)
	}
	root, err := os.OpenRoot(filepath.Dir(file))
	if err != nil {
		return stackdir.Stack{}, fault(err)
	}
	defer root.Close()
	packed, err := swarm.Pack(string(text), func(path string) ([]byte, error) { return readNamed(root, path) }, s.lookup)
	if err != nil {
		return stackdir.Stack{}, inFile(file, err)
	}
	wave, err := waveOf(text)
	if err != nil {
		return stackdir.Stack{}, inFile(file, err)
	}
	return stackdir.Stack{Name: name, Manifest: packed, Wave: wave, File: file}, nil
}

// ReadFile reads a file that a stack's compose file names. It is for swarm.Config, and knows the stacks of the last Read.
func (s *Source) ReadFile(name, path string) ([]byte, error) {
	s.mutex.Lock()
	home, known := s.homes[name]
	s.mutex.Unlock()
	if !known {
		return nil, fmt.Errorf("read %s: stack %s is not declared, so nobody knows where its files are", path, name)
	}
	root, err := os.OpenRoot(home)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	defer root.Close()
	return readNamed(root, path)
}
