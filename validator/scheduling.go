package validator

import (
	"path"
	"strings"

	"github.com/coreos/go-systemd/v22/unit"
)

// maxPatterns bounds the comparison of each peer with each pattern.
const maxPatterns = 1000

// fleetValues are the values of one kind of option in [X-Fleet], and the line of the last of them.
type fleetValues struct {
	values []string
	line   int
}

func (v *fleetValues) add(line int, values ...string) {
	if len(values) > 0 {
		v.values = append(v.values, values...)
		v.line = line
	}
}

func (v fleetValues) given() bool { return len(v.values) > 0 }

// checkScheduling refuses the options of [X-Fleet] that fleet refuses together, and those that it would drop without a
// word. The names with X- are old ones that fleet still reads.
func (c *fileCheck) checkScheduling(options []*unit.UnitOption) {
	var machineID, machineOf, conflicts, global, replaces fleetValues
	for i, option := range options {
		if option.Section != "X-Fleet" {
			continue
		}
		line, values := c.optionLines[i], SchedulingValues(option.Value)
		switch option.Name {
		case "MachineID", "X-ConditionMachineID", "X-ConditionMachineBootID":
			machineID.add(line, values...)
		case "MachineOf", "X-ConditionMachineOf":
			machineOf.add(line, values...)
		case "Conflicts", "X-Conflicts":
			for _, value := range values {
				conflicts.add(line, strings.Fields(value)...)
			}
		case "Global":
			// The last one wins.
			global = fleetValues{}
			if SchedulingTruth(values[len(values)-1]) {
				global.add(line, values...)
			}
		case "Replaces":
			replaces.add(line, values...)
		case "MachineMetadata", "X-ConditionMachineMetadata":
		default:
			c.add(line, "[X-Fleet] has no option %.80s, and fleet would pass over it", option.Name)
		}
	}
	c.exclude("MachineID", machineID, "MachineOf", machineOf)
	c.exclude("MachineID", machineID, "Conflicts", conflicts)
	c.exclude("MachineID", machineID, "Global", global)
	c.exclude("MachineID", machineID, "Replaces", replaces)
	c.exclude("Global", global, "MachineOf", machineOf)
	c.exclude("Global", global, "Replaces", replaces)
	c.exclude("Conflicts", conflicts, "Replaces", replaces)
	c.checkPeers(machineOf, "Conflicts", conflicts)
	c.checkPeers(machineOf, "Replaces", replaces)
}

// exclude reports two kinds of options that are both given, at the later of the two.
func (c *fileCheck) exclude(nameA string, a fleetValues, nameB string, b fleetValues) {
	if a.given() && b.given() {
		c.add(max(a.line, b.line), "[X-Fleet] %s can't be used with %s", nameA, nameB)
	}
}

// checkPeers reports the first peer that the unit is to share a machine with and to stay away from.
func (c *fileCheck) checkPeers(peers fleetValues, name string, patterns fleetValues) {
	if !peers.given() || !patterns.given() {
		return
	}
	line := max(peers.line, patterns.line)
	if len(peers.values) > maxPatterns || len(patterns.values) > maxPatterns {
		c.add(line, "[X-Fleet] has more than %d values of MachineOf or %s", maxPatterns, name)
		return
	}
	for _, peer := range peers.values {
		for _, pattern := range patterns.values {
			// A pattern that is none matches nothing, for fleet too.
			if matched, _ := path.Match(pattern, peer); matched {
				c.add(line, "[X-Fleet] MachineOf=%.80s matches %s=%.80s", peer, name, pattern)
				return
			}
		}
	}
}

// SchedulingValues reads the value of an option in [X-Fleet] as fleet does: "a" "b" in quotes are several values, anything
// else is one.
func SchedulingValues(value string) []string {
	if !strings.HasPrefix(value, `"`) || !strings.HasSuffix(value, `"`) {
		return []string{value}
	}
	var values []string
	var current strings.Builder
	quoted := false
	for _, b := range []byte(value) {
		switch {
		case b == '"':
			quoted = !quoted
		case b == ' ' && !quoted:
			values = append(values, current.String())
			current.Reset()
		default:
			current.WriteByte(b)
		}
	}
	return append(values, current.String())
}

// SchedulingTruth reads a truth value of [X-Fleet] as fleet does: what is not true is false.
func SchedulingTruth(value string) bool {
	switch strings.ToLower(value) {
	case "true", "yes", "1", "on", "t":
		return true
	}
	return false
}
