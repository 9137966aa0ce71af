package units

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"golang.org/x/tools/txtar"

	"github.com/squadronctl/squadron/controller"
	"github.com/squadronctl/squadron/stack"
)

// Manifest is what is to be there of one stack: the units of a group, and how the group is brought there.
//
// As a text it is several files in one, in the txtar format of golang.org/x/tools/txtar. A file is a unit file. What stands
// before the first one says, line by line, what no unit file says; blank lines and those that begin with # mean nothing there:
//
//	slices: 3
//	max-growth: 1
//	min-alive: 2
//	ready-secs: 30
//	wave: 1
//	-- web-app@.service --
//	[Service]
//	ExecStart=/bin/serve
type Manifest struct {
	// Units are the unit files, templates where the group has slices.
	Units []controller.Unit
	// Slices is how many slices there are to be. With 0 it is left open: there are to be as many as there are, and one where
	// there is none. A group without slices has one.
	Slices int
	// MaxGrowth is how many slices more than wanted there may be at any moment of an update. Nil means 1, and 0 for a group
	// without slices.
	MaxGrowth *int
	// MinAlive is how many slices run at least at any moment of an update. Fewer will do while fewer run to begin with, since
	// a stack has to find back to what is declared. Nil means as many as run at that time, and one fewer where MaxGrowth is 0.
	MinAlive *int
	// ReadySecs is for how many seconds a new slice has to run until it counts as running.
	ReadySecs int
	// Wave says when the stack's turn is among others: those of lower waves come first. It may be negative. The engine does not
	// look at it: whoever deploys many stacks does, as reconcile.Declared has it.
	Wave int
}

// ParseManifest reads a manifest. What is wrong with it is a *stack.ManifestError: a line before the first file that is no
// "key: value" of the five keys, a key that is there twice, a value that is none or can't be kept to, a file whose name is not
// that of a unit, or is there twice, units with and without slices, a content that a fleet cluster would refuse or lose a part
// of, a section X-Squadron, which is the engine's, and no file at all. Its File is the unit's name, and its Line the one in
// that file; or File is empty, and Line the one in the text.
func ParseManifest(text string) (Manifest, error) {
	archive := txtar.Parse([]byte(text))
	manifest, places, err := parseHeader(string(archive.Comment))
	if err != nil {
		return Manifest{}, err
	}
	line := 1 + bytes.Count(archive.Comment, []byte("\n"))
	for _, file := range archive.Files {
		manifest.Units = append(manifest.Units, controller.Unit{Name: file.Name, Content: string(file.Data)})
		places.units = append(places.units, line)
		line += 1 + bytes.Count(file.Data, []byte("\n"))
	}
	if err := manifest.check(places); err != nil {
		return Manifest{}, err
	}
	return manifest, nil
}

// Format gives the manifest's text. ParseManifest gives it back, save that each file ends in a newline then. What it would
// refuse is its error here, and so is a content with a line that would begin the next file.
func (m Manifest) Format() (string, error) {
	archive := &txtar.Archive{Comment: []byte(m.header())}
	for _, unit := range m.Units {
		archive.Files = append(archive.Files, txtar.File{Name: unit.Name, Data: []byte(unit.Content)})
	}
	text := string(txtar.Format(archive))
	if err := m.check(lines{}); err != nil {
		return "", err
	}
	back, err := ParseManifest(text)
	if err == nil {
		err = m.sameFiles(back)
	}
	if err != nil {
		return "", err
	}
	return text, nil
}

// sameFiles says where a text has other files than the manifest that it was made of.
func (m Manifest) sameFiles(back Manifest) error {
	for i, unit := range m.Units {
		if i >= len(back.Units) || back.Units[i].Name != unit.Name ||
			back.Units[i].Content != strings.TrimSuffix(unit.Content, "\n")+"\n" {
			return &stack.ManifestError{File: unit.Name, Err: errors.New("a line of it would begin another file of the manifest")}
		}
	}
	return nil
}

// sliced says whether the group has slices.
func (m Manifest) sliced() bool { return len(m.Units) > 0 && isTemplate(m.Units[0].Name) }

// bases are the unit bases that the manifest declares.
func (m Manifest) bases() map[string]bool {
	bases := make(map[string]bool, len(m.Units))
	for _, unit := range m.Units {
		bases[unit.Name] = true
	}
	return bases
}

// isTemplate says whether a name stands for one unit in each slice.
func isTemplate(name string) bool { return strings.Contains(name, "@.") }

// lines are the lines of a manifest's text at which things stand; 0 where there is no text.
type lines struct {
	keys  map[string]int
	units []int
}

// ofUnit gives the line at which a file begins.
func (l lines) ofUnit(i int) int {
	if i < len(l.units) {
		return l.units[i]
	}
	return 0
}

// inText is a fault of the text around the files.
func inText(line int, format string, args ...any) error {
	return &stack.ManifestError{Line: line, Err: fmt.Errorf(format, args...)}
}
