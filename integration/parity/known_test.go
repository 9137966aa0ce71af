package parity

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// knownCalls are the calls that fleettest answers differently, with the words that its documentation has about them. A
// call of these that is answered the same fails testCalls.
var knownCalls = map[string]string{
	"GET " + base + "/discovery": "The discovery document is its head only",
	"GET /metrics":               "there are no metrics",
}

// knownPlacements are the units that a real systemd treats otherwise, with the words of the documentation. One that is
// treated the same fails testPlacement.
var knownPlacements = map[string]string{
	"unit-missing.service": "A unit file is never executed",
	"unit-notify.service":  "A unit file is never executed",
	"unit-pre.service":     "A unit file is never executed",
	"unit-cond.service":    "A unit file is never executed",
	"unit-bad.service":     "every unit file can be loaded",
	"unit-gone.timer":      "Timers and sockets start no service, and need none",
}

// R39: every known difference is told to those who use fleettest.
func TestKnownDifferencesAreDocumented(t *testing.T) {
	t.Parallel()
	file, err := parser.ParseFile(token.NewFileSet(), "../../fleet/fleettest/fleettest.go", nil, parser.ParseComments|parser.PackageClauseOnly)
	require.NoError(t, err)
	told := words(file.Doc)
	for _, known := range []map[string]string{knownCalls, knownPlacements} {
		for what, text := range known {
			assert.Contains(t, told, text, what)
		}
	}
}

// words joins a comment's lines.
func words(doc *ast.CommentGroup) string { return strings.Join(strings.Fields(doc.Text()), " ") }
