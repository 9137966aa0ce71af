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

// agentKnows says whether a fleet agent can load a unit: those of other types, and templates, it tries for ever.
func agentKnows(name string) bool {
	switch unitType(name) {
	case "service", "socket", "timer", "path", "device", "mount", "automount":
		return !isTemplate(name)
	default:
		return false
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
