package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/squadronctl/squadron/controller"
	"github.com/squadronctl/squadron/task"
)

// jobVariable is where a process finds the Job it was made for.
const jobVariable = "SQUADRON_TEST_UPDATE"

// Job is an update that a process of its own carries out, which can be killed.
type Job struct {
	Endpoint            string
	Request             controller.Request
	MaxGrowth, MinAlive int
	Options             Options
	// KillAt is the phase of the update whose first event kills the process, as kill -9 does; none if empty.
	KillAt controller.UpdatePhase
}

// Start starts the process: the test's own binary once more. It ends with the test at the latest.
func (j Job) Start(t testing.TB) *exec.Cmd {
	t.Helper()
	text, err := json.Marshal(j)
	require.NoError(t, err)
	program, err := os.Executable()
	require.NoError(t, err)
	process := exec.Command(program)
	process.Env = append(os.Environ(), jobVariable+"="+string(text))
	process.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	require.NoError(t, process.Start())
	t.Cleanup(func() { _ = process.Process.Kill() })
	return process
}

// RunJob carries out the Job that this process was made for, if it was, and then ends the process: with 0 when the
// update has succeeded. It is the first thing in TestMain.
func RunJob() {
	text := os.Getenv(jobVariable)
	if text == "" {
		return
	}
	if err := carryOut(text); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

func carryOut(text string) error {
	var j Job
	if err := json.Unmarshal([]byte(text), &j); err != nil {
		return err
	}
	endpoint, err := url.Parse(j.Endpoint)
	if err != nil {
		return err
	}
	control, _, err := connect(*endpoint, j.Options.withDefaults())
	if err != nil {
		return err
	}
	defer control.(io.Closer).Close()
	opts := controller.UpdateOptions{MaxGrowth: j.MaxGrowth, MinAlive: j.MinAlive, Progress: func(event controller.UpdateEvent) {
		if event.Phase == j.KillAt {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		}
	}}
	return follow(control, func(ctx context.Context) (*task.Task, error) { return control.Update(ctx, j.Request, opts) })
}
