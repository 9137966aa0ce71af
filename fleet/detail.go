package fleet

import (
	"strings"

	"github.com/coreos/go-systemd/v22/unit"

	"github.com/squadronctl/squadron/internal/unitmeta"
	"github.com/squadronctl/squadron/validator"
)

// contentFacts is what a unit's options say about how to read its status.
type contentFacts struct {
	group    string
	owner    string
	stamped  bool
	global   bool
	oneshot  bool
	metadata unitmeta.Metadata
}

// readFacts looks through the options of the unit with the given name. Where an option repeats, the last one stands, as
// with fleet and systemd; MachineMetadata adds up.
func readFacts(name string, options []*unit.UnitOption) contentFacts {
	facts := contentFacts{metadata: unitmeta.Metadata{}}
	serviceType, remain := "", false
	for _, option := range options {
		switch option.Section + "." + option.Name {
		case "X-Squadron.Group":
			facts.group, facts.stamped = option.Value, true
		case "X-Squadron.Owner":
			facts.owner = option.Value
		case "X-Fleet.Global":
			values := unitmeta.Values(name, option.Value)
			facts.global = validator.SchedulingTruth(values[len(values)-1])
		case "X-Fleet.MachineMetadata", "X-Fleet.X-ConditionMachineMetadata":
			for _, value := range unitmeta.Values(name, option.Value) {
				facts.metadata.Add(value)
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
