package fleet

import (
	"strings"

	"github.com/coreos/go-systemd/v22/unit"

	"github.com/squadronctl/squadron/validator"
)

// contentFacts is what a unit's options say about how to read its status.
type contentFacts struct {
	group    string
	owner    string
	stamped  bool
	global   bool
	oneshot  bool
	metadata map[string][]string
}

// readFacts looks through the options of the unit with the given name. Where an option repeats, the last one stands, as
// with fleet and systemd; MachineMetadata adds up.
func readFacts(name string, options []*unit.UnitOption) contentFacts {
	facts := contentFacts{metadata: map[string][]string{}}
	serviceType, remain := "", false
	for _, option := range options {
		switch option.Section + "." + option.Name {
		case "X-Squadron.Group":
			facts.group, facts.stamped = option.Value, true
		case "X-Squadron.Owner":
			facts.owner = option.Value
		case "X-Fleet.Global":
			values := fleetValues(name, option.Value)
			facts.global = validator.SchedulingTruth(values[len(values)-1])
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
	values := validator.SchedulingValues(line)
	for i, value := range values {
		values[i] = expandSpecifiers(name, value)
	}
	return values
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

// sliceID gives what stands between a unit name's @ and its suffix, empty where there is no @. A slice ID may contain dots.
func sliceID(name string) string {
	stem, _ := validator.SplitSuffix(name)
	_, id, _ := strings.Cut(stem, "@")
	return id
}
