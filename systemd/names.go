package systemd

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/coreos/go-systemd/v22/unit"

	"github.com/squadronctl/squadron/validator"
)

// maxName is the most bytes that systemd, and the name of a file, can have.
const maxName = 255

// checkName refuses what can't be the name of a unit that comes from a file.
func checkName(name string) error {
	if err := validator.UnitName(name); err != nil {
		return invalid(err)
	}
	if len(name) > maxName {
		return invalid(fmt.Errorf("the name has %d bytes, but may have %d at most", len(name), maxName))
	}
	switch _, suffix := validator.SplitSuffix(name); suffix {
	case ".service", ".socket", ".timer", ".path", ".target", ".mount", ".automount", ".swap", ".slice":
		return nil
	default:
		return invalid(fmt.Errorf("systemd reads no units of type %s from files", suffix))
	}
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// short gives a name as messages may show it.
func short(name string) string {
	if checkName(name) == nil {
		return name
	}
	if len(name) > maxName {
		name = name[:32] + "…"
	}
	return fmt.Sprintf("%q", name)
}

// template gives the name of the template that a unit would be an instance of, empty where there is none.
func template(name string) string {
	stem, suffix := validator.SplitSuffix(name)
	if prefix, _, found := strings.Cut(stem, "@"); found {
		return prefix + "@" + suffix
	}
	return ""
}

// slice gives what stands between a unit name's @ and its suffix.
func slice(name string) string {
	stem, _ := validator.SplitSuffix(name)
	_, id, _ := strings.Cut(stem, "@")
	return id
}

// parse reads a unit file that is to be written.
func parse(content string) ([]*unit.UnitOption, error) {
	if !utf8.ValidString(content) || strings.ContainsRune(content, 0) {
		return nil, invalid(errors.New("the unit file is not text in UTF-8"))
	}
	options, err := unit.DeserializeOptions(strings.NewReader(content))
	if err != nil {
		return nil, invalid(fmt.Errorf("parse unit file: %w", err))
	}
	if len(options) == 0 {
		return nil, invalid(errors.New("parse unit file: no option in any section"))
	}
	return options, nil
}

// unitOf gives the name of the unit that an object on the bus stands for, which has every byte that is neither letter
// nor digit as _ and two hexadecimal digits.
func unitOf(object string) (name string, ok bool) {
	escaped, ok := strings.CutPrefix(object, "/org/freedesktop/systemd1/unit/")
	if !ok {
		return "", false
	}
	var text strings.Builder
	for i := 0; i < len(escaped); i++ {
		b := escaped[i]
		if b == '_' {
			if i+2 >= len(escaped) {
				return "", false
			}
			high, okHigh := hexDigit(escaped[i+1])
			low, okLow := hexDigit(escaped[i+2])
			if !okHigh || !okLow {
				return "", false
			}
			b, i = high<<4|low, i+2
		}
		text.WriteByte(b)
	}
	return text.String(), true
}

func hexDigit(b byte) (value byte, ok bool) {
	switch {
	case '0' <= b && b <= '9':
		return b - '0', true
	case 'a' <= b && b <= 'f':
		return b - 'a' + 10, true
	}
	return 0, false
}
