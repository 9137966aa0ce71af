// Package unitmeta reads what a unit file's section X-Fleet says, as fleet does.
package unitmeta

import (
	"slices"
	"strings"

	"github.com/squadronctl/squadron/validator"
)

// Values gives the values of one option of X-Fleet in the file of the unit of that name: several where the line
// consists of quoted strings. fleet's specifiers are expanded in each.
func Values(name, line string) []string {
	values := validator.SchedulingValues(line)
	for i, value := range values {
		values[i] = expand(name, value)
	}
	return values
}

// expand replaces %n by the unit's name, %N by its name without suffix, %p by what stands before the @ and %i by what
// stands after it, one after the other and in this order, as fleet does.
func expand(name, value string) string {
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

// Metadata are conditions on a machine's metadata: for each key the values of which it has to have one.
type Metadata map[string][]string

// Add notes one condition key=value. What has another form is no condition to fleet.
func (m Metadata) Add(condition string) {
	pair := strings.Split(condition, "=")
	if len(pair) != 2 || pair[0] == "" || pair[1] == "" {
		return
	}
	m[pair[0]] = append(m[pair[0]], pair[1])
}

// Met says whether a machine has one of the values for each key.
func (m Metadata) Met(machine map[string]string) bool {
	for key, values := range m {
		if value, has := machine[key]; !has || !slices.Contains(values, value) {
			return false
		}
	}
	return true
}
