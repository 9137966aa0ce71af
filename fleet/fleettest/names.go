package fleettest

import (
	"errors"
	"fmt"
	"strings"
)

// What fleet takes for a unit name.
const (
	maxNameLength = 256
	nameChars     = `0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ:-_.\@`
)

// checkName finds the first thing that a fleetd refuses in a new unit's name.
func checkName(name string) error {
	if name == "" {
		return errors.New("unit name cannot be empty")
	}
	if len(name) > maxNameLength {
		return fmt.Errorf("unit name exceeds maximum length (%d)", maxNameLength)
	}
	dot := strings.LastIndexByte(name, '.')
	if dot < 0 {
		return errors.New(`unit name must contain "."`)
	}
	if dot == len(name)-1 {
		return errors.New(`unit name cannot end in "."`)
	}
	stem, suffix := name[:dot], name[dot+1:]
	if !isUnitType(suffix) {
		return fmt.Errorf("invalid unit type: %q", suffix)
	}
	if strings.Contains(name, "@") && !isTemplateType(suffix) {
		return fmt.Errorf("invalid unit type for template: %q", suffix)
	}
	for _, char := range stem {
		if !strings.ContainsRune(nameChars, char) {
			return fmt.Errorf("invalid character %q in unit name", char)
		}
	}
	if strings.HasPrefix(name, "@") {
		return errors.New(`unit name cannot start in "@"`)
	}
	return nil
}

func isUnitType(suffix string) bool {
	switch suffix {
	case "automount", "busname", "device", "mount", "scope", "slice", "snapshot", "swap":
		return true
	default:
		return isTemplateType(suffix)
	}
}

func isTemplateType(suffix string) bool {
	switch suffix {
	case "path", "service", "socket", "target", "timer":
		return true
	default:
		return false
	}
}
