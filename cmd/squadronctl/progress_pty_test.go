package main

import (
	"context"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/creack/pty"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/squadronctl/squadron/cmd/squadronctl/internal/demo"
	"github.com/squadronctl/squadron/cmd/squadronctl/internal/progress/termtest"
	"github.com/squadronctl/squadron/fleet/fleettest"
)

// onDemo runs a demo for as long as the test lasts, and gives the environment of commands on it and the directory of its
// groups.
func onDemo(t *testing.T) (env []string, groups string) {
	dir, err := os.MkdirTemp("", "squadronctl")
	require.NoError(t, err)
	ready := &firstWrite{done: make(chan struct{})}
	ctx, cancel := context.WithCancel(context.Background())
	config := demo.Config{Socket: filepath.Join(dir, "s"), Dir: filepath.Join(dir, "groups"), Out: ready, Timing: fleettest.Fast()}
	ended := make(chan error, 1)
	go func() { ended <- demo.Run(ctx, config) }()
	t.Cleanup(func() {
		cancel()
		assert.NoError(t, <-ended)
		assert.NoError(t, os.RemoveAll(dir))
	})
	select {
	case <-ready.done:
	case err := <-ended:
		ended <- nil
		require.NoError(t, err)
	}
	endpoint := url.URL{Scheme: "unix", Path: config.Socket}
	return []string{"SQUADRON_ENDPOINT=" + endpoint.String(), "SQUADRON_WAIT_SLEEP=20ms", "TERM=xterm", "HOME=" + dir, "PATH=" + os.Getenv("PATH")}, config.Dir
}

// terminalSession is a command that runs on a pseudo terminal.
type terminalSession struct {
	term   *termtest.Terminal
	master *os.File
	end    func() error // waits for the command's end
}

// onPseudoTerminal runs the command with a pseudo terminal of so many columns as its terminal.
func onPseudoTerminal(t *testing.T, columns int, env []string, args ...string) terminalSession {
	command := exec.Command("squadronctl", args...)
	command.Env = env
	master, err := pty.StartWithSize(command, &pty.Winsize{Rows: 24, Cols: uint16(columns)})
	require.NoError(t, err)
	term := termtest.New(columns, 24)
	shown := make(chan struct{})
	go func() {
		defer close(shown)
		_, _ = io.Copy(term, master) // ends with an error once the command has ended
	}()
	return terminalSession{term: term, master: master, end: func() error {
		err := command.Wait()
		<-shown
		_ = master.Close()
		assert.Empty(t, term.Faults())
		return err
	}}
}

// An apply on a terminal tells of each deployment as it begins.
func TestApplyOnATerminalTellsWhatItDoes(t *testing.T) {
	env, _ := onDemo(t)
	stacks := t.TempDir()
	for name, wave := range map[string]string{"db": "wave: -1\n", "api": ""} {
		text := wave + "-- " + name + ".service --\n[Service]\nExecStart=/bin/sleep 1\n"
		require.NoError(t, os.WriteFile(filepath.Join(stacks, name+".txtar"), []byte(text), 0o600))
	}
	session := onPseudoTerminal(t, 80, env, "apply", stacks)
	require.NoError(t, session.end())
	assert.Regexp(t, `(?s)deploying db \(missing\) *\n.*deploying api \(missing\) *\n.*STACK`, strings.Join(session.term.All(), "\n"))
}

// shows waits until the terminal shows a text.
func (s terminalSession) shows(t *testing.T, text string) {
	t.Helper()
	require.Eventually(t, func() bool { return strings.Contains(strings.Join(s.term.All(), "\n"), text) }, time.Minute, 5*time.Millisecond)
}

// An update is drawn in place: in the end each slice has one line, and there is one bar, however narrow the terminal.
func TestUpdateOnPseudoTerminal(t *testing.T) {
	for _, columns := range []int{30, 80, 200} {
		t.Run(fmt.Sprint(columns), func(t *testing.T) {
			t.Parallel()
			env, groups := onDemo(t)
			s := onPseudoTerminal(t, columns, env, "update", filepath.Join(groups, "web"))
			require.NoError(t, s.end())
			lines := s.term.All()
			require.Greater(t, len(lines), 7)
			row := regexp.MustCompile(`^web@\w+ +(destroyed|running) +\d+s$`)
			for _, line := range lines[:6] {
				assert.Regexp(t, row, line)
				assert.Less(t, len(line), columns)
			}
			assert.Contains(t, lines[6], "3 of 3 slices")
			assert.Equal(t, 1, strings.Count(strings.Join(lines, "\n"), " of 3 slices"))
			assert.Contains(t, s.term.Sequences(), "32m")
		})
	}
}

// Where the environment asks for it, a terminal too gets plain lines without any escape sequence.
func TestPlainOnPseudoTerminal(t *testing.T) {
	for _, plain := range []string{"NO_COLOR=1", "TERM=dumb"} {
		t.Run(plain, func(t *testing.T) {
			t.Parallel()
			env, groups := onDemo(t)
			s := onPseudoTerminal(t, 80, append(env, plain), "update", filepath.Join(groups, "web"))
			require.NoError(t, s.end())
			assert.Empty(t, s.term.Sequences())
			assert.Regexp(t, `(?m)^\d\d:\d\d:\d\d slice 3f1: destroyed`, strings.Join(s.term.All(), "\n"))
		})
	}
}

// A watched group is drawn in place until Ctrl-C.
func TestWatchOnPseudoTerminal(t *testing.T) {
	t.Parallel()
	env, groups := onDemo(t)
	watching := onPseudoTerminal(t, 80, env, "watch", "web")
	watching.shows(t, "web@3f1")
	updating := onPseudoTerminal(t, 80, env, "update", filepath.Join(groups, "web"))
	require.NoError(t, updating.end())
	require.Eventually(t, func() bool { return !strings.Contains(strings.Join(watching.term.All(), "\n"), "web@3f1") }, time.Minute, 5*time.Millisecond)
	_, err := watching.master.WriteString("\x03")
	require.NoError(t, err)
	require.NoError(t, watching.end())
	assert.Equal(t, 1, strings.Count(strings.Join(watching.term.All(), "\n"), "DESIRED"))
}
