package validator

import (
	"fmt"
	"strings"
)

// MaxNameLength is the most bytes that fleet lets a unit name have, suffix included.
const MaxNameLength = 256

// UnitName checks the name of a unit that is to run: at most MaxNameLength bytes, ASCII letters, digits and :-_.\@
// before a suffix that fleet knows, no @ at the beginning, and an @ only where the suffix is path, service, socket,
// target or timer. A template, whose @ is followed by its suffix at once (web@.service), is refused, since no machine
// can run it. The error is a Finding.
func UnitName(name string) error {
	if rule := nameRule(name); rule != "" {
		return Finding{Unit: name, Rule: rule}
	}
	if stem, _ := SplitSuffix(name); strings.HasSuffix(stem, "@") {
		return Finding{Unit: name, Rule: "is a template, which can't run: nothing stands between @ and the suffix"}
	}
	return nil
}

// TemplateName checks a name as UnitName does, save that it may be a template: web@.service.
func TemplateName(name string) error {
	if rule := nameRule(name); rule != "" {
		return Finding{Unit: name, Rule: rule}
	}
	return nil
}

// NamePart checks what is to become a part of a unit name, such as a group's name or a slice ID: that it is short
// enough for any name and has no character that a name can't have.
func NamePart(part string) error {
	if len(part) > MaxNameLength {
		return fmt.Errorf("has %d bytes, but a whole unit name may have %d at most", len(part), MaxNameLength)
	}
	if rule := characterRule(part); rule != "" {
		return fmt.Errorf("%s", rule)
	}
	return nil
}

// SplitSuffix cuts a unit name before its suffix: web@1.service becomes web@1 and .service. Only a type of unit that
// fleet knows counts as suffix; without one, stem is the whole name.
func SplitSuffix(name string) (stem, suffix string) {
	dot := strings.LastIndexByte(name, '.')
	if dot < 0 {
		return name, ""
	}
	if known, _ := unitType(name[dot+1:]); !known {
		return name, ""
	}
	return name[:dot], name[dot:]
}

// nameRule says which rule a name breaks; empty when it breaks none.
func nameRule(name string) string {
	if name == "" {
		return "the name is empty"
	}
	if len(name) > MaxNameLength {
		return fmt.Sprintf("the name has %d bytes, but may have %d at most", len(name), MaxNameLength)
	}
	dot := strings.LastIndexByte(name, '.')
	known, templates := unitType(name[dot+1:])
	switch {
	case dot < 0 || !known:
		return "the name does not end in a suffix that fleet knows, such as .service"
	case dot == 0:
		return "nothing stands before the suffix"
	case strings.HasPrefix(name, "@"):
		return "the name begins with @"
	case strings.Contains(name, "@") && !templates:
		return fmt.Sprintf("the suffix %s can't go with an @ in the name", name[dot:])
	}
	return characterRule(name[:dot])
}

// unitType reports whether fleet knows a type of units, and whether it lets their names contain an @.
func unitType(suffix string) (known, templates bool) {
	switch suffix {
	case "path", "service", "socket", "target", "timer":
		return true, true
	case "automount", "busname", "device", "mount", "scope", "slice", "snapshot", "swap":
		return true, false
	}
	return false, false
}

// AgentRuns checks that a unit is of a type that fleet's agents can run. fleet's API takes more; of those, an agent never
// starts a scope or a swap, leaves slices and targets behind when they are destroyed, and stops working altogether while
// it has a busname (seen with fleet v1.0.0 on systemd 252).
func AgentRuns(name string) error {
	_, suffix := SplitSuffix(name)
	switch suffix {
	case ".service", ".socket", ".timer", ".path", ".device", ".mount", ".automount":
		return nil
	}
	return fmt.Errorf("unit name %.256q: units of type %q are not run by fleet's agents", name, suffix)
}

// characterRule names the first character that a unit name can't have; empty when there is none.
func characterRule(s string) string {
	for _, char := range s {
		if !nameCharacter(char) {
			return fmt.Sprintf("the character %q can't be part of a unit name", char)
		}
	}
	return ""
}

func nameCharacter(char rune) bool {
	switch {
	case 'a' <= char && char <= 'z', 'A' <= char && char <= 'Z', '0' <= char && char <= '9':
		return true
	}
	return strings.ContainsRune(`:-_.\@`, char)
}
