package compose

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestInterpolate(t *testing.T) {
	lookup := func(name string) (string, bool, error) {
		if name == "BAD" {
			return "", false, errors.New("asked for BAD")
		}
		value, set := map[string]string{"A": "a", "EMPTY": "", "B_2": "b"}[name]
		return value, set, nil
	}
	for text, want := range map[string]string{
		"":                     "",
		"plain":                "plain",
		"$$A $${A}":            "$A ${A}",
		"$A${A}$B_2":           "aab",
		"$A-$NONE|":            "a-|",
		"${NONE}":              "",
		"${NONE-x}${EMPTY-x}":  "x",
		"${NONE:-x}${A:-x}":    "xa",
		"${EMPTY:-x}":          "x",
		"${A+x}${NONE+x}":      "x",
		"${EMPTY+x}":           "x",
		"${EMPTY:+x}":          "",
		"${A?m}${A:?m}":        "aa",
		"${EMPTY?m}":           "",
		"${NONE:-${A}-${B_2}}": "a-b",
		"${NONE:-{a}}":         "{a}",
		"${A:-${BAD}}":         "a",
		"${NONE:--}":           "-",
		"a}b":                  "a}b",
	} {
		got, err := interpolate(text, lookup)
		require.NoError(t, err, text)
		assert.Equal(t, want, got, text)
	}
	for text, want := range map[string]string{
		"$":            "no variable follows",
		"$1":           "no variable follows",
		"a $ b":        "no variable follows",
		"${A":          "without a }",
		"${}":          "no variable's name follows",
		"${1}":         "no variable's name follows",
		"${A B}":       "no way",
		"${A:}":        "no way",
		"${A:=x}":      "no way",
		"${NONE?why}":  "required, and not set: why",
		"${EMPTY:?$A}": "not set: a",
		"${EMPTY:?$}":  "no variable follows",
		"${BAD}":       "asked for BAD",
		"$BAD":         "asked for BAD",
	} {
		_, err := interpolate(text, lookup)
		assert.ErrorContains(t, err, want, text)
	}
}

// TestAVariableIsAskedForOnlyWhereItCounts so that what is not used is not packed either.
func TestAVariableIsAskedForOnlyWhereItCounts(t *testing.T) {
	var asked []string
	input := inputOf("x-a: $X\nservices:\n  web:\n    image: ${A:-a}\n    hostname: ${A:-${B:-b}}\n  off:\n    profiles: [p]\n    image: $C\n")
	input.Lookup = func(name string) (string, bool) { asked = append(asked, name); return "v", name != "A" }
	_, err := Load(input)
	require.NoError(t, err)
	assert.Equal(t, []string{"A", "B"}, asked)
}

// A variable is a text, and stands for what its key takes all the same.
func TestAVariableSaysWhatIsExternal(t *testing.T) {
	made, err := Load(inputOf("services: {web: {image: web, networks: [front]}}\nnetworks:\n  front:\n    external: ${NOWHERE:-true}\n"))
	require.NoError(t, err)
	require.Len(t, made.Networks, 1)
	assert.True(t, made.Networks[0].External)
}
