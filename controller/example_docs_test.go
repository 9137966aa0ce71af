package controller_test

import (
	"bytes"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/squadronctl/squadron/controller"
)

var (
	goBlock       = regexp.MustCompile("(?s)```go\n(.*?)```")
	outputComment = regexp.MustCompile(`(?s)\n\s*// Output:.*`)
)

// TestDocsShowCodeThatRuns holds each block of Go in the README and in docs against the functions of this package's
// example files: it has to be one of them, as a whole or its body, so that what is shown compiles and runs.
func TestDocsShowCodeThatRuns(t *testing.T) {
	files, err := filepath.Glob("example_*_test.go")
	require.NoError(t, err)
	shown := map[string]bool{}
	for _, file := range files {
		for _, code := range functionsOf(t, file) {
			shown[code] = true
		}
	}
	pages, err := filepath.Glob("../docs/*.md")
	require.NoError(t, err)
	blocks := 0
	for _, page := range append(pages, "../README.md") {
		text, err := os.ReadFile(page)
		require.NoError(t, err)
		for _, block := range goBlock.FindAllStringSubmatch(string(text), -1) {
			blocks++
			assert.True(t, shown[strings.TrimSpace(block[1])], "%s shows Go code that is in no example:\n%s", page, block[1])
		}
	}
	assert.Positive(t, blocks)
}

// functionsOf gives the source of each function of a file, and of its body with and without the output expected of it.
func functionsOf(t *testing.T, file string) []string {
	source, err := os.ReadFile(file)
	require.NoError(t, err)
	set := token.NewFileSet()
	parsed, err := parser.ParseFile(set, file, source, parser.SkipObjectResolution)
	require.NoError(t, err)
	var code []string
	for _, declaration := range parsed.Decls {
		function, ok := declaration.(*ast.FuncDecl)
		if !ok {
			continue
		}
		text := func(from, to token.Pos) string {
			return string(source[set.Position(from).Offset:set.Position(to).Offset])
		}
		body := text(function.Body.Lbrace+1, function.Body.Rbrace)
		code = append(code, text(function.Pos(), function.End()), outdent(t, body), outdent(t, outputComment.ReplaceAllString(body, "")))
	}
	return code
}

func outdent(t *testing.T, body string) string {
	code, err := format.Source(bytes.TrimSpace([]byte(body)))
	require.NoError(t, err)
	return strings.TrimSpace(string(code))
}

// TestDocsListStatusIndex holds the table of docs/concepts.md against StatusIndex.
func TestDocsListStatusIndex(t *testing.T) {
	var table strings.Builder
	for _, row := range controller.StatusIndex {
		cells := []string{row.FleetCurrent, row.FleetDesired, row.SystemdActive, row.SystemdSub, string(row.Aggregated)}
		table.WriteString("| " + strings.ReplaceAll(strings.Join(cells, "\x00"), "|", `\|`) + " |\n")
	}
	text, err := os.ReadFile("../docs/concepts.md")
	require.NoError(t, err)
	assert.Contains(t, string(text), strings.ReplaceAll(table.String(), "\x00", " | "))
}
