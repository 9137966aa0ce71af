package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/squadronctl/squadron/cmd/squadronctl/internal/demo"
	"github.com/squadronctl/squadron/fleet/fleettest"
)

// TestMain lets the test binary be the command as well, for scripts and for tests that need a process of it.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"squadronctl": main})
}

// TestScripts runs the transcripts in testdata/script, each on a demo cluster of its own. Its groups' unit files are in
// $GROUPS.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup:               startDemo,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"code":   codeCommand,
			"fifo":   fifoCommand,
			"server": serverCommand,
			"expand": expandCommand,
			"swarm":  swarmCommand,
			"hand":   handCommand,
		},
	})
}

// startDemo runs a demo for a script.
func startDemo(env *testscript.Env) error {
	dir, err := os.MkdirTemp("", "squadronctl") // the script's own directory may be too deep for a socket
	if err != nil {
		return err
	}
	ready := &firstWrite{done: make(chan struct{})}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	config := demo.Config{
		Socket: filepath.Join(dir, "s"), Dir: filepath.Join(env.WorkDir, "groups"), Out: ready,
		Timing: fleettest.Timing{Load: 1}, // the zero Timing is a slow one there
	}
	go func() { ended <- demo.Run(ctx, config) }()
	env.Defer(func() {
		cancel()
		<-ended
		os.RemoveAll(dir)
	})
	env.Setenv("GROUPS", config.Dir)
	env.Setenv("SQUADRON_ENDPOINT", (&url.URL{Scheme: "unix", Path: config.Socket}).String())
	env.Setenv("SQUADRON_WAIT_SLEEP", "3ms")
	env.Setenv("HOME", env.WorkDir)
	select {
	case <-ready.done:
		return nil
	case err := <-ended:
		ended <- err
		return fmt.Errorf("the demo has ended: %w", err)
	}
}

// firstWrite tells when it is written to.
type firstWrite struct {
	done    chan struct{}
	written bool
}

func (f *firstWrite) Write(text []byte) (int, error) {
	if !f.written {
		f.written = true
		close(f.done)
	}
	return len(text), nil
}

// codeCommand runs a command that has to end with a certain exit code: code 3 squadronctl status web.
func codeCommand(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: code N command [argument...]")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	err = ts.Exec(args[1], args[2:]...)
	got := 0
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		got = exit.ExitCode()
	} else {
		ts.Check(err)
	}
	if got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
	if text := ts.ReadFile("stderr"); got != 0 && got != 1 && strings.Count(text, "squadronctl: ") != 1 {
		ts.Fatalf("a failure is one line of its own on standard error")
	}
}

// run in a process of its own, for tests that are no scripts.
func process(t *testing.T, env []string, args ...string) (*exec.Cmd, *lockedBuffer, *lockedBuffer) {
	t.Helper()
	command := exec.Command("squadronctl", args...)
	command.Env = append(os.Environ(), append([]string{"HOME=" + t.TempDir(), "SQUADRON_WAIT_SLEEP=5ms"}, env...)...)
	var out, errs lockedBuffer
	command.Stdout, command.Stderr = &out, &errs
	command.WaitDelay = time.Minute
	return command, &out, &errs
}

// runHere runs a command line in this process.
func runHere(env []string, args ...string) (code int, out, errs string) {
	var stdout, stderr bytes.Buffer
	code = run(args, env, strings.NewReader(""), &stdout, &stderr)
	return code, stdout.String(), stderr.String()
}
