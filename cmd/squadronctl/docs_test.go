package main

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
	"github.com/spf13/pflag"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// update has the pages written anew: go test ./cmd/squadronctl -run TestDocs -update
var update = flag.Bool("update", false, "write docs/cli.md and docs/man anew")

const (
	cliPage = "../../docs/cli.md"
	manDir  = "../../docs/man"
)

// documented gives the tree of commands as it is without an environment.
func documented(t *testing.T) *cobra.Command {
	a := newApp(nil, &bytes.Buffer{}, &bytes.Buffer{}, &bytes.Buffer{})
	t.Cleanup(a.interrupts.end)
	root := a.root()
	root.InitDefaultHelpCmd()
	for _, command := range root.Commands() {
		command.InitDefaultHelpFlag()
	}
	return root
}

func TestDocsAreCurrent(t *testing.T) {
	page := cliMarkdown(documented(t))
	if *update {
		require.NoError(t, os.WriteFile(cliPage, []byte(page), 0o644))
	}
	there, err := os.ReadFile(cliPage)
	require.NoError(t, err)
	assert.Equal(t, page, string(there), "docs/cli.md is not current: go test ./cmd/squadronctl -run TestDocs -update")
}

func TestDocsOfManPagesAreCurrent(t *testing.T) {
	fresh := t.TempDir()
	date := time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC) // one that does not change
	header := &doc.GenManHeader{Section: "1", Date: &date, Source: "Squadron", Manual: "Squadron"}
	root := documented(t)
	require.NoError(t, doc.GenManTree(root, header, fresh))
	for _, topic := range root.Commands() {
		if topic.IsAdditionalHelpTopicCommand() {
			topic.DisableAutoGenTag = true
			var text bytes.Buffer
			section := &doc.GenManHeader{Section: "7", Date: &date, Source: "Squadron", Manual: "Squadron"}
			require.NoError(t, doc.GenMan(topic, section, &text))
			require.NoError(t, os.WriteFile(filepath.Join(fresh, "squadronctl-"+topic.Name()+".7"), text.Bytes(), 0o644))
		}
	}
	want, got := readPages(t, fresh), readPages(t, manDir)
	if *update {
		require.NoError(t, os.RemoveAll(manDir))
		require.NoError(t, os.MkdirAll(manDir, 0o755))
		for name, text := range want {
			require.NoError(t, os.WriteFile(filepath.Join(manDir, name), []byte(text), 0o644))
		}
		got = readPages(t, manDir)
	}
	assert.Equal(t, sortedKeys(want), sortedKeys(got), "docs/man is not current: go test ./cmd/squadronctl -run TestDocs -update")
	for name, text := range want {
		assert.Equal(t, text, got[name], "docs/man/%s is not current: go test ./cmd/squadronctl -run TestDocs -update", name)
	}
}

func readPages(t *testing.T, dir string) map[string]string {
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	require.NoError(t, err)
	pages := map[string]string{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		pages[filepath.Base(file)] = string(text)
	}
	return pages
}

// cliMarkdown puts all commands and topics on one page.
func cliMarkdown(root *cobra.Command) string {
	var page strings.Builder
	fmt.Fprintf(&page, "# squadronctl\n\n<!-- Made from the commands by: go test ./cmd/squadronctl -run TestDocs -update -->\n\n%s\n\n", root.Long)
	commands := slices.DeleteFunc(root.Commands(), func(c *cobra.Command) bool { return c.Hidden || c.Name() == "help" })
	page.WriteString("| command | |\n| --- | --- |\n")
	for _, command := range commands {
		if !command.IsAdditionalHelpTopicCommand() {
			fmt.Fprintf(&page, "| [`%s`](#%s) | %s |\n", cell(command.Use), command.Name(), command.Short)
		}
	}
	for _, command := range commands {
		if command.IsAdditionalHelpTopicCommand() {
			fmt.Fprintf(&page, "\n## %s\n\n%s\n", command.Short, topicMarkdown(command.Long))
		}
	}
	fmt.Fprintf(&page, "\n## Flags of all commands\n\n%s", flagTable(root.PersistentFlags()))
	for _, command := range commands {
		if command.IsAdditionalHelpTopicCommand() {
			continue
		}
		fmt.Fprintf(&page, "\n## %s\n\n```text\nsquadronctl %s\n```\n\n%s\n", command.Name(), command.Use, topicMarkdown(command.Long))
		if command.Example != "" {
			fmt.Fprintf(&page, "\n```sh\n%s\n```\n", unindent(command.Example))
		}
		if table := flagTable(command.LocalNonPersistentFlags()); table != "" {
			page.WriteString("\n" + table)
		}
	}
	return page.String()
}

// topicMarkdown puts the indented parts of a text into blocks of code.
func topicMarkdown(text string) string {
	var out []string
	code := false
	for _, paragraph := range strings.Split(strings.Trim(text, "\n"), "\n\n") {
		code = strings.HasPrefix(paragraph, "  ")
		if code {
			paragraph = "```text\n" + unindent(paragraph) + "\n```"
		}
		out = append(out, paragraph)
	}
	return strings.Join(out, "\n\n")
}

func unindent(text string) string {
	lines := strings.Split(text, "\n")
	for i := range lines {
		lines[i] = strings.TrimPrefix(lines[i], "  ")
	}
	return strings.Join(lines, "\n")
}

func flagTable(flags *pflag.FlagSet) string {
	var rows strings.Builder
	flags.VisitAll(func(flag *pflag.Flag) {
		if flag.Hidden || flag.Name == "help" {
			return
		}
		name := "--" + flag.Name
		if flag.Shorthand != "" {
			name = "-" + flag.Shorthand + ", " + name
		}
		value, usage := pflag.UnquoteUsage(flag)
		if value != "" && value != "count" {
			name += " " + value
		}
		if !slices.Contains([]string{"", "false", "0", "[]"}, flag.DefValue) {
			usage += " (default " + flag.DefValue + ")"
		}
		fmt.Fprintf(&rows, "| `%s` | %s |\n", cell(name), cell(usage))
	})
	if rows.Len() == 0 {
		return ""
	}
	return "| flag | |\n| --- | --- |\n" + rows.String()
}

func cell(text string) string { return strings.ReplaceAll(text, "|", `\|`) }
