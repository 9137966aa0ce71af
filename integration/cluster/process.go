package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"

	"github.com/squadronctl/squadron/integration/cluster/remains"
)

// process is a program that was started, and is waited for until it has ended.
type process struct {
	cmd  *exec.Cmd
	done chan struct{} // closed when it has ended
}

// startProcess starts a program in a session of its own, with the cluster's mark, whose output is added to a log file.
func startProcess(p place, log string, argv ...string) (*process, error) {
	file, err := os.OpenFile(log, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o644)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Stdout, cmd.Stderr = file, file
	// Nothing else of the environment: etcd takes settings from it.
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), remains.EnvKey + "=" + p.dir}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	running := &process{cmd: cmd, done: make(chan struct{})}
	go func() {
		_ = cmd.Wait() // how it ended stands in ProcessState
		close(running.done)
	}()
	return running, nil
}

// alive says whether the process was started and has not ended.
func (r *process) alive() bool {
	if r == nil {
		return false
	}
	select {
	case <-r.done:
		return false
	default:
		return true
	}
}

func (r *process) signal(signal os.Signal) error {
	if !r.alive() {
		return errors.New("it does not run")
	}
	return r.cmd.Process.Signal(signal)
}

// wait waits for the end.
func (r *process) wait(ctx context.Context) error {
	select {
	case <-r.done:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// poll asks until the answer is good, the process has ended or the context has; the error then carries the last one asked.
func (r *process) poll(ctx context.Context, ask func(context.Context) error) error {
	for {
		limited, cancel := context.WithTimeout(ctx, 5*time.Second)
		err := ask(limited)
		cancel()
		if err == nil {
			return nil
		}
		if !r.alive() {
			return fmt.Errorf("it has ended: %v", r.cmd.ProcessState)
		}
		if ended := pause(ctx, 50*time.Millisecond); ended != nil {
			return fmt.Errorf("%w: %w", ended, err)
		}
	}
}
