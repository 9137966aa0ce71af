package compose

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// sources are the files and variables that a manifest refers to: each is asked for once, and held against what was packed.
type sources struct {
	readFile func(path string) ([]byte, error)
	lookup   func(name string) (string, bool)
	packed   *trailer
	contents map[string][]byte
	files    map[string]string // path to digest
	values   map[string]variable
	onlyName bool // files are known by their digests alone, where those are packed
}

type variable struct {
	value string
	set   bool
	err   error
}

func newSources(in Input, packed *trailer) *sources {
	return &sources{readFile: in.ReadFile, lookup: in.Lookup, packed: packed,
		contents: map[string][]byte{}, files: map[string]string{}, values: map[string]variable{}}
}

func digestOf(content []byte) string {
	sum := sha256.Sum256(content)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// variable gives a variable.
func (s *sources) variable(name string) (string, bool, error) {
	known, found := s.values[name]
	if !found {
		if s.lookup != nil {
			known.value, known.set = s.lookup(name)
		}
		if !known.set {
			known.value = ""
		}
		known.err = s.checkVariable(name, known)
		s.values[name] = known
	}
	return known.value, known.set, known.err
}

func (s *sources) checkVariable(name string, v variable) error {
	was, found := s.packed.variables[name]
	switch {
	case s.packed.empty() || found && was == v.digest():
		return nil
	case !found:
		return fmt.Errorf("the variable %s is not among those that were packed with the manifest", name)
	default:
		return fmt.Errorf("the variable %s has changed since the manifest was packed", name)
	}
}

func (v variable) digest() string {
	if !v.set {
		return unset
	}
	return digestOf([]byte(v.value))
}

// file gives a file's content and digest. Where only names are wanted the content may be nil.
func (s *sources) file(path string) ([]byte, string, error) {
	if digest, known := s.files[path]; known {
		return s.contents[path], digest, nil
	}
	if path == "" || strings.TrimSpace(path) != path || !utf8.ValidString(path) ||
		strings.ContainsFunc(path, func(c rune) bool { return !unicode.IsPrint(c) }) { // what a line below the manifest can hold
		return nil, "", fmt.Errorf("%.200q is no path of a file", path)
	}
	was, found := s.packed.files[path]
	if s.onlyName && found {
		return nil, was, nil
	}
	if s.readFile == nil {
		return nil, "", fmt.Errorf("the file %s is needed, and there is nothing to read files with", path)
	}
	content, err := s.readFile(path)
	if err != nil {
		return nil, "", fmt.Errorf("read the file %s: %w", path, err)
	}
	digest := digestOf(content)
	switch {
	case s.packed.empty() || found && was == digest:
	case !found:
		return nil, "", fmt.Errorf("the file %s is not among those that were packed with the manifest", path)
	default:
		return nil, "", fmt.Errorf("the file %s has changed since the manifest was packed", path)
	}
	s.contents[path], s.files[path] = content, digest
	return content, digest, nil
}

// trailer is what Pack writes of what has been asked for.
func (s *sources) trailer(declares *Stack) *trailer {
	made := &trailer{files: s.files, variables: map[string]string{}}
	for name, v := range s.values {
		made.variables[name] = v.digest()
	}
	if len(made.variables) > 0 {
		made.declared = declarations(declares)
	}
	return made
}

var errStale = errors.New("the lines below the manifest are not those that it was packed with: pack it again")
