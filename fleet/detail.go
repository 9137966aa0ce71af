package fleet

import (
	"strings"

	"github.com/coreos/go-systemd/v22/unit"
)

// contentFacts is what a unit's options say about how to read its status.
type contentFacts struct {
	hash     string
	group    string
	stamped  bool
	global   bool
	oneshot  bool
	metadata map[string][]string
}

// readFacts looks through the options of the unit with the given name. Where an option repeats, the last one stands, as
// with fleet and systemd; MachineMetadata adds up.
func readFacts(name string, options []*unit.UnitOption) contentFacts {
	facts := contentFacts{hash: hashOptions(options), metadata: map[string][]string{}}
	serviceType, remain := "", false
	for _, option := range options {
		switch option.Section + "." + option.Name {
		case "X-Squadron.Group":
			facts.group, facts.stamped = option.Value, true
		case "X-Fleet.Global":
			values := fleetValues(name, option.Value)
			facts.global = fleetTruth(values[len(values)-1])
		case "X-Fleet.MachineMetadata", "X-Fleet.X-ConditionMachineMetadata":
			for _, value := range fleetValues(name, option.Value) {
				addMetadata(facts.metadata, value)
			}
		case "Service.Type":
			serviceType = option.Value
		case "Service.RemainAfterExit":
			if on, ok := systemdTruth(option.Value); ok {
				remain = on
			}
		}
	}
	facts.oneshot = strings.HasSuffix(name, ".service") && serviceType == "oneshot" && !remain
	return facts
}

// fleetValues gives the values of one option of X-Fleet: several where the line consists of quoted strings. fleet's
// specifiers are expanded in each.
func fleetValues(name, line string) []string {
	values := []string{line}
	if strings.HasPrefix(line, `"`) && strings.HasSuffix(line, `"`) {
		values = splitQuoted(line)
	}
	for i, value := range values {
		values[i] = expandSpecifiers(name, value)
	}
	return values
}

// splitQuoted cuts a line at the blanks outside quotes and drops the quotes.
func splitQuoted(line string) []string {
	var values []string
	var value strings.Builder
	quoted := false
	for i := range len(line) {
		switch c := line[i]; {
		case c == '"':
			quoted = !quoted
		case c == ' ' && !quoted:
			values = append(values, value.String())
			value.Reset()
		default:
			value.WriteByte(c)
		}
	}
	return append(values, value.String())
}

// expandSpecifiers replaces %n by the unit's name, %N by its name without suffix, %p by what stands before the @ and %i
// by what stands after it, one after the other and in this order, as fleet does.
func expandSpecifiers(name, value string) string {
	dot := strings.LastIndexByte(name, '.')
	if dot < 0 || !strings.Contains(value, "%") {
		return value
	}
	prefix, instance, _ := strings.Cut(name[:dot], "@")
	for _, specifier := range [][2]string{{"%n", name}, {"%N", name[:dot]}, {"%p", prefix}, {"%i", instance}} {
		value = strings.ReplaceAll(value, specifier[0], specifier[1])
	}
	return value
}

// addMetadata notes one condition key=value. What has another form is no condition to fleet.
func addMetadata(metadata map[string][]string, condition string) {
	pair := strings.Split(condition, "=")
	if len(pair) != 2 || pair[0] == "" || pair[1] == "" {
		return
	}
	metadata[pair[0]] = append(metadata[pair[0]], pair[1])
}

// fleetTruth reads a boolean as fleet does: what is not true is false.
func fleetTruth(value string) bool {
	switch strings.ToLower(value) {
	case "true", "yes", "1", "on", "t":
		return true
	}
	return false
}

// systemdTruth reads a boolean as systemd does, which ignores an assignment of anything else.
func systemdTruth(value string) (on, ok bool) {
	switch strings.ToLower(value) {
	case "true", "yes", "1", "on", "t", "y":
		return true, true
	case "false", "no", "0", "off", "f", "n":
		return false, true
	}
	return false, false
}

// sliceID gives what stands between a unit name's @ and its suffix, empty where there is no @. The suffix begins at the
// last dot, so that a slice ID may contain dots; a name whose last part is no unit type has no suffix.
func sliceID(name string) string {
	_, after, found := strings.Cut(name, "@")
	if !found {
		return ""
	}
	dot := strings.LastIndexByte(after, '.')
	if dot >= 0 && isUnitType(after[dot+1:]) {
		return after[:dot]
	}
	return after
}

func isUnitType(suffix string) bool {
	switch suffix {
	case "automount", "busname", "device", "mount", "path", "scope", "service", "slice", "snapshot", "socket", "swap",
		"target", "timer":
		return true
	}
	return false
}
