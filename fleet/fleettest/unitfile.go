package fleettest

import (
	"crypto/sha1"
	"encoding/hex"
	"io"
	"strings"

	"github.com/coreos/go-systemd/v22/unit"
)

// unitFile is a unit's options, with what follows from them. It is never changed.
type unitFile struct {
	options []*unit.UnitOption
	content string // the canonical serialisation
	hash    string // its SHA-1 in hex
}

func newUnitFile(options []*unit.UnitOption) unitFile {
	// Serialize reads from memory, so that there is no error to be had.
	content, _ := io.ReadAll(unit.Serialize(options))
	sum := sha1.Sum(content)
	return unitFile{options: options, content: string(content), hash: hex.EncodeToString(sum[:])}
}

// readUnitFile reads a unit file's text.
func readUnitFile(content string) (unitFile, error) {
	options, err := unit.DeserializeOptions(strings.NewReader(content))
	if err != nil {
		return unitFile{}, err
	}
	return newUnitFile(options), nil
}

// stored is the file as a fleetd keeps it: it writes the text and reads that back, so that what the text does not carry,
// blanks around a value or an option whose name makes its line a comment, is gone. It fails where the text is no unit file.
func (f unitFile) stored() (unitFile, error) {
	return readUnitFile(f.content)
}

// option gives the last value of an option, as systemd reads those that have one value.
func (f unitFile) option(section, name string) string {
	value := ""
	for _, option := range f.options {
		if option.Section == section && option.Name == name {
			value = option.Value
		}
	}
	return value
}

// unitType is what stands behind a unit name's last dot.
func unitType(name string) string {
	return name[strings.LastIndexByte(name, '.')+1:]
}

// isTemplate says that a name has an @ with nothing between it and the suffix.
func isTemplate(name string) bool {
	prefix, instance, found := strings.Cut(strings.TrimSuffix(name, "."+unitType(name)), "@")
	return found && prefix != "" && instance == ""
}

// unitKind is what a fleet agent makes of a unit.
type unitKind int

const (
	// managed units are loaded, started, stopped and unloaded.
	managed unitKind = iota
	// unmanaged ones are loaded and started, and never again stopped or unloaded: the agent does not find their files.
	unmanaged
	// blocking ones can't be loaded, and end every pass that tries.
	blocking
	// unstartable ones are loaded like unmanaged ones, and end every pass that tries to start them.
	unstartable
	// deadly ones can't be asked about, and the agent asks about all that it has before it does anything.
	deadly
)

func kindOf(name string) unitKind {
	switch unitType(name) {
	case "service", "socket", "timer", "path", "device", "mount", "automount":
		if isTemplate(name) {
			return deadly
		}
		return managed
	case "busname", "snapshot":
		return blocking
	case "scope": // only programs can make one
		return unstartable
	default:
		return unmanaged
	}
}

// activeSub is the sub state of an active unit of the type.
func activeSub(unitType string) string {
	switch unitType {
	case "timer", "path", "automount":
		return "waiting"
	case "socket":
		return "listening"
	case "mount":
		return "mounted"
	case "device":
		return "plugged"
	case "target", "slice":
		return "active"
	default:
		return "running"
	}
}

// isTrue reads a boolean of systemd.
func isTrue(value string) bool {
	switch strings.ToLower(value) {
	case "1", "yes", "y", "true", "t", "on":
		return true
	default:
		return false
	}
}
