package units

import (
	"fmt"
	"strings"

	"github.com/coreos/go-systemd/v22/unit"
)

// option is one assignment in a unit file.
type option struct {
	section, name, value string
	line                 int // where it begins, from 1; 0 where the text is not known to be right
}

// key is how the option is called where options are compared or reported.
func (o option) key() string { return o.section + "." + o.name }

// optionsOf reads a unit file as fleet and systemd do. A value that goes on over several lines keeps its backslashes and
// newlines.
func optionsOf(content string) ([]option, error) {
	parsed, err := unit.DeserializeOptions(strings.NewReader(content))
	if err != nil {
		return nil, fmt.Errorf("parse unit file: %w", err)
	}
	at := optionLines(content)
	options := make([]option, 0, len(parsed))
	for i, o := range parsed {
		found := option{section: o.Section, name: o.Name, value: o.Value}
		if len(at) == len(parsed) {
			found.line = at[i]
		}
		options = append(options, found)
	}
	return options, nil
}

// optionLines are the lines at which options begin, in a text that the validator finds right.
func optionLines(content string) []int {
	var at []int
	inValue := false
	for i, line := range strings.Split(content, "\n") {
		goesOn := strings.HasSuffix(line, `\`)
		trimmed := strings.TrimSpace(line)
		switch {
		case inValue:
			inValue = goesOn
		case trimmed == "" || trimmed[0] == '#' || trimmed[0] == ';' || trimmed[0] == '[':
		default:
			at = append(at, i+1)
			inValue = goesOn
		}
	}
	return at
}

// words gives the words of a value as systemd splits it: at blanks, save within quotes, which are taken off. A value on
// several lines is one.
func words(value string) []string {
	var found []string
	var word strings.Builder
	var quote rune
	inWord := false
	for _, r := range strings.ReplaceAll(value, "\\\n", " ") {
		switch {
		case quote != 0 && r == quote:
			quote = 0
		case quote == 0 && (r == '"' || r == '\''):
			quote, inWord = r, true
		case quote == 0 && (r == ' ' || r == '\t' || r == '\n' || r == '\r'):
			if inWord {
				found = append(found, word.String())
			}
			word.Reset()
			inWord = false
		default:
			word.WriteRune(r)
			inWord = true
		}
	}
	if inWord {
		found = append(found, word.String())
	}
	return found
}
