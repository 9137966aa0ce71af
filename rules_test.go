package squadron_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var (
	ruleRow   = regexp.MustCompile(`(?m)^\| R(\d+a?) \| [^|]+ \| ([^|]+) \| ([^|]+) \|$`)
	testsIn   = regexp.MustCompile("([a-z/]+): ((?:`\\w+`(?:, )?)+)")
	testNamed = regexp.MustCompile("`(\\w+)`")
)

// TestRulesNameTests holds the table of rules in docs/testing.md against the tests that there are.
func TestRulesNameTests(t *testing.T) {
	page, err := os.ReadFile("docs/testing.md")
	require.NoError(t, err)
	rows := ruleRow.FindAllStringSubmatch(string(page), -1)
	assert.Len(t, rows, 48, "R1 to R45, R1a, R17a and R20a")
	for _, row := range rows {
		named := 0
		for place, cell := range map[string]string{"": row[2], "integration": row[3]} {
			for _, group := range testsIn.FindAllStringSubmatch(cell, -1) {
				for _, name := range testNamed.FindAllStringSubmatch(group[2], -1) {
					named++
					assert.True(t, hasTest(t, filepath.Join(place, group[1]), name[1]), "R%s: %s has no %s", row[1], group[1], name[1])
				}
			}
		}
		assert.Positive(t, named, "R%s names no test", row[1])
	}
}

// hasTest says whether a directory has a test of that name.
func hasTest(t *testing.T, dir, name string) bool {
	files, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
	require.NoError(t, err)
	for _, file := range files {
		source, err := os.ReadFile(file)
		require.NoError(t, err)
		if strings.Contains(string(source), "\nfunc "+name+"(") {
			return true
		}
	}
	return false
}
