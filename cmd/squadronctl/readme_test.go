package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const (
	readmePage = "../../README.md"
	// readmeColumns is the width of the terminal that the page shows. Longer lines go on in the next one there.
	readmeColumns = 110
	// abridged is a line that stands for any number of lines of a command's output, once in it at most.
	abridged = "..."
	// The directories that the page names, in place of which each run has its own.
	readmeGroups, readmeRuntime = "/tmp/demo", "/run/user/1000"
)

var (
	consoleBlock = regexp.MustCompile("(?ms)^```console\n(.*?)^```$")
	relativeLink = regexp.MustCompile(`\]\(([^):#]+)(?:#[^)]*)?\)`)

	duration  = regexp.MustCompile(` *\b(\d+[hm])*\d+s\b`)
	machineIP = regexp.MustCompile(`\b192\.0\.2\.\d\b`)
	machineID = regexp.MustCompile(`\b0{7}\d\.\.\.`)
	machines  = regexp.MustCompile(`(?m)^(\S+ +(?:group|unstamped unit) .*)\d+$`) // how many, the last column of list
	sliceID   = regexp.MustCompile(`\b[0-9a-f]{3}\b`)
)

// TestReadmeIsCurrent carries out the commands of the page's console blocks, one after the other on one demo cluster, and
// holds what a terminal shows after each against the page. With -update the page is written anew, from a demo at the pace
// that its readers see, which takes a minute.
func TestReadmeIsCurrent(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(readmePage)
	require.NoError(t, err)
	reader := newReader(t)
	commands := 0
	page := consoleBlock.ReplaceAllStringFunc(string(text), func(block string) string {
		shown := consoleCommands(t, consoleBlock.FindStringSubmatch(block)[1])
		commands += len(shown)
		var fresh strings.Builder
		for _, command := range shown {
			output := abridge(fold(reader.carryOut(command.line)), command.output)
			if !*update {
				assert.Equal(t, steady(command.output), steady(output),
					"README.md is not current at $ %s: go test ./cmd/squadronctl -run TestReadme -update", command.line)
			}
			fmt.Fprintf(&fresh, "$ %s\n", command.line)
			for _, line := range output {
				fresh.WriteString(line + "\n")
			}
		}
		return "```console\n" + fresh.String() + "```"
	})
	assert.Equal(t, 8, commands, "the demo, its endpoint, and six commands")
	if *update && !t.Failed() {
		require.NoError(t, os.WriteFile(readmePage, []byte(page), 0o644))
	}
}

// consoleCommand is a command of the page, and the output that the page shows.
type consoleCommand struct {
	line   string
	output []string
}

func consoleCommands(t *testing.T, block string) []consoleCommand {
	var commands []consoleCommand
	for line := range strings.Lines(block) {
		line = strings.TrimSuffix(line, "\n")
		if command, ok := strings.CutPrefix(line, "$ "); ok {
			commands = append(commands, consoleCommand{line: command})
			continue
		}
		require.NotEmpty(t, commands, "a console block begins with a command, not with %q", line)
		last := &commands[len(commands)-1]
		last.output = append(last.output, line)
	}
	return commands
}

// reader does what a reader of the page does.
type reader struct {
	t        *testing.T
	env      []string
	here     *strings.Replacer // from the page's directories to those of this run
	onPage   *strings.Replacer // and back
	demoPace []string
}

func newReader(t *testing.T) *reader {
	dir, err := os.MkdirTemp("", "squadronctl") // t.TempDir may be too deep for a socket
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, os.RemoveAll(dir)) })
	groups := filepath.Join(dir, "groups")
	r := &reader{
		t:      t,
		env:    []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "XDG_RUNTIME_DIR=" + dir, "TERM=xterm"},
		here:   strings.NewReplacer(readmeGroups, groups, readmeRuntime, dir),
		onPage: strings.NewReplacer(groups, readmeGroups, dir, readmeRuntime),
	}
	if !*update {
		r.demoPace = []string{"--pace", "fast"}
		r.env = append(r.env, "SQUADRON_WAIT_SLEEP=10ms")
	}
	return r
}

// carryOut carries one command of the page out, and gives the lines that it leaves on the terminal.
func (r *reader) carryOut(line string) []string {
	words := strings.Fields(r.here.Replace(line))
	switch {
	case len(words) == 2 && words[0] == "export":
		r.env = append(r.env, words[1])
		return nil
	case len(words) > 1 && words[0] == "squadronctl" && words[1] == "demo":
		return r.demo(words[1:])
	}
	require.Equal(r.t, "squadronctl", words[0], "$ %s", line)
	session := onPseudoTerminal(r.t, readmeColumns, r.env, words[1:]...)
	var exit *exec.ExitError
	if err := session.end(); errors.As(err, &exit) {
		assert.Equal(r.t, exitFailed, exit.ExitCode(), "$ %s", line)
	} else {
		require.NoError(r.t, err)
	}
	lines := session.term.All()
	for i := range lines {
		lines[i] = r.onPage.Replace(lines[i])
	}
	return lines
}

// demo runs the demo until the test ends.
func (r *reader) demo(args []string) []string {
	command, out, errs := process(r.t, nil, append(args, r.demoPace...)...)
	command.Env = r.env
	require.NoError(r.t, command.Start())
	r.t.Cleanup(func() {
		assert.NoError(r.t, command.Process.Signal(os.Interrupt))
		assert.Equal(r.t, exitDone, exitCodeOf(r.t, command), errs.String())
	})
	saysSoon(r.t, out, "broken/web\n") // with which it ends
	return strings.Split(strings.TrimSuffix(r.onPage.Replace(out.String()), "\n"), "\n")
}

// fold puts what does not fit into a line of the page into the next one, as a terminal does.
func fold(lines []string) []string {
	var folded []string
	for _, line := range lines {
		runes := []rune(line)
		for len(runes) > readmeColumns {
			folded = append(folded, string(runes[:readmeColumns]))
			runes = runes[readmeColumns:]
		}
		folded = append(folded, string(runes))
	}
	return folded
}

// abridge leaves out of an output what is left out of the one that the page shows: as many lines stay before and behind.
func abridge(output, shown []string) []string {
	before := slices.Index(shown, abridged)
	behind := len(shown) - before - 1
	if before < 0 || len(output) <= before+behind {
		return output
	}
	return slices.Concat(output[:before], []string{abridged}, output[len(output)-behind:])
}

// steady is an output without what differs from run to run: lines are as long as they were written, and slices are
// numbered in the order in which the output names them.
func steady(output []string) string {
	var text strings.Builder
	for _, line := range output {
		text.WriteString(line)
		if len([]rune(line)) != readmeColumns {
			text.WriteString("\n")
		}
	}
	plain := duration.ReplaceAllString(text.String(), " TIME")
	plain = machineIP.ReplaceAllString(plain, "IP")
	plain = machineID.ReplaceAllString(plain, "MACHINE")
	plain = machines.ReplaceAllString(plain, "${1}N")
	numbers := map[string]string{}
	return sliceID.ReplaceAllStringFunc(plain, func(id string) string {
		if numbers[id] == "" {
			numbers[id] = fmt.Sprintf("slice-%d", len(numbers)+1)
		}
		return numbers[id]
	})
}

// What differs from run to run is no difference, and all else is.
func TestReadmeDiffers(t *testing.T) {
	shown := []string{"web@3f1  destroyed        21s", "web@93e  running        1m02s", "192.0.2.1   00000001...", "slices: 3f1, 93e"}
	run := []string{"web@a0c  destroyed         0s", "web@3f1  running           3s", "192.0.2.3   00000003...", "slices: a0c, 3f1"}
	assert.Equal(t, steady(shown), steady(run))
	for i, line := range []string{"web@a0c  stopping         0s", "web@a0c  running           3s", "192.0.3.3   00000003...", "slices: 3f1, a0c"} {
		other := slices.Clone(run)
		other[i] = line
		assert.NotEqual(t, steady(shown), steady(other), line)
	}
	listed := []string{"web-app@.service   unstamped unit   3   3   3   2"}
	assert.Equal(t, steady(listed), steady([]string{"web-app@.service   unstamped unit   3   3   3   3"}))
	assert.NotEqual(t, steady(listed), steady([]string{"web-app@.service   unstamped unit   3   3   2   2"}))
	assert.NotEqual(t, steady(shown), steady(run[:3]))
	long := strings.Repeat("x", readmeColumns) + "3f1"
	assert.Len(t, fold([]string{long}), 2)
	assert.Equal(t, steady([]string{long}), steady(fold([]string{long})), "what was folded is one line")
}

func TestReadmeIsAbridged(t *testing.T) {
	output := []string{"a", "b", "c", "d"}
	assert.Equal(t, output, abridge(output, []string{"a"}))
	assert.Equal(t, []string{"a", "...", "d"}, abridge(output, []string{"x", "...", "y"}))
	assert.Equal(t, []string{"a", "b", "..."}, abridge(output, []string{"x", "y", "..."}))
	assert.Equal(t, output, abridge(output, []string{"v", "w", "...", "x", "y"}), "nothing is left to leave out")
}

func TestReadmeLinksLeadSomewhere(t *testing.T) {
	text, err := os.ReadFile(readmePage)
	require.NoError(t, err)
	links := relativeLink.FindAllStringSubmatch(string(text), -1)
	assert.NotEmpty(t, links)
	for _, link := range links {
		_, err := os.Stat(filepath.Join(filepath.Dir(readmePage), link[1]))
		assert.NoError(t, err, "README.md leads to %s", link[1])
	}
}
