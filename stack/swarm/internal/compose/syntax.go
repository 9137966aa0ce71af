package compose

import (
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"
)

var syntaxLine = regexp.MustCompile(`^(yaml: )?(line \d+: )?`)

// wrapSyntax notes what the YAML parser says. The line that it gives is often that where something begins that goes wrong
// much later, so that the line is looked for.
func wrapSyntax(text string, err error, found *faults) {
	message := syntaxLine.ReplaceAllString(err.Error(), "")
	if strings.HasPrefix(message, "unknown anchor") { // it is not named: a password may lack its quotes
		message = "unknown anchor: a text that begins with * is written in quotes"
	}
	found.add(faultyLine(text), "not YAML: %.200s", message)
}

// What a search for a line may cost: how many lines a value may take that can't be read until it is whole, how often such a value
// may be in the way, and how long a text may be. Beyond, the line is one before the fault.
const (
	ahead      = 50
	mostJumps  = 20
	mostSought = 1 << 18
)

// linesOf is how many lines a text has.
func linesOf(text string) int { return 1 + strings.Count(strings.TrimSuffix(text, "\n"), "\n") }

// faultyLine finds a line up to which a text is YAML, and with which it is none.
func faultyLine(text string) int {
	lines := strings.SplitAfter(text, "\n")
	isYAML := func(count int) bool {
		return yaml.Unmarshal([]byte(strings.Join(lines[:count], "")), new(yaml.Node)) == nil
	}
	if len(text) > mostSought {
		return 1
	}
	good, bad := 0, len(lines)
	for jumps := 0; ; jumps++ {
		for bad-good > 1 {
			if middle := (good + bad) / 2; isYAML(middle) {
				good = middle
			} else {
				bad = middle
			}
		}
		further := good
		for next := bad + 1; next < len(lines) && next <= bad+ahead && further == good; next++ {
			if isYAML(next) {
				further = next
			}
		}
		if further == good || jumps == mostJumps {
			return min(bad, linesOf(text))
		}
		good, bad = further, len(lines)
	}
}
