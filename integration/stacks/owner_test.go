package stacks_test

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/squadronctl/squadron/integration/cluster"
)

// patience is how long a test waits for what has to come; where the machine has time for it, it comes in seconds.
const patience = 5 * time.Minute

// The exit codes, as docs/stacks.md has them.
const (
	done   = 0
	differ = 1 // of diff and drift
	failed = 1 // of apply
)

// owner is somebody who declares stacks in a directory, and how squadronctl is run for it.
type owner struct {
	name, dir, state string
	// root is where the file system stands that has both directories.
	root string
	// program gives a squadronctl with these arguments.
	program func(ctx context.Context, args ...string) *exec.Cmd
}

// onCluster is an owner of stacks on the cluster, who runs squadronctl beside it.
func onCluster(t *testing.T, name string) owner {
	t.Helper()
	site.Start(t)
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(site.Cluster.Logs(40))
		}
	})
	socket := site.Cluster.Machines()[0].Socket()
	return owner{
		name: name, root: "/", dir: t.TempDir(), state: filepath.Join(t.TempDir(), "state"),
		program: func(ctx context.Context, args ...string) *exec.Cmd {
			command := exec.CommandContext(ctx, program, append(args, "--fleet-endpoint", socket.String())...)
			command.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=/nowhere"}
			command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
			return command
		},
	}
}

// onMachine is an owner whose directories are in a machine, where squadronctl is run as well.
func onMachine(t *testing.T, name string, machine *cluster.Machine, endpoint string) owner {
	t.Helper()
	o := owner{
		name: name, root: machine.Root(), dir: "/srv/" + name + "/stacks", state: "/srv/" + name + "/state",
		program: func(ctx context.Context, args ...string) *exec.Cmd {
			command := machine.Command(ctx, inside, append(args, "--fleet-endpoint", endpoint)...)
			command.Env = []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/root"}
			return command
		},
	}
	require.NoError(t, os.MkdirAll(o.path(""), 0o755))
	return o
}

// flags are what all commands about stacks have in common.
func (o owner) flags() []string { return []string{"--owner", o.name, "--state", o.state} }

// path gives a file of the directory, seen from here.
func (o owner) path(file string) string { return filepath.Join(o.root, o.dir, file) }

// write puts a file into the directory, in one step.
func (o owner) write(t *testing.T, file, text string) {
	t.Helper()
	path := o.path(file)
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	fresh := filepath.Join(filepath.Dir(path), ".fresh")
	require.NoError(t, os.WriteFile(fresh, []byte(text), 0o644))
	require.NoError(t, os.Rename(fresh, path))
}

// remove takes a file or a group's directory away.
func (o owner) remove(t *testing.T, file string) {
	t.Helper()
	require.NoError(t, os.RemoveAll(o.path(file)))
}

// run runs squadronctl, asserts its exit code, and gives its standard output and standard error.
func (o owner) run(t *testing.T, code int, args ...string) (out, errs string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	command := o.program(ctx, append(args, o.flags()...)...)
	var stdout, stderr bytes.Buffer
	command.Stdout, command.Stderr = &stdout, &stderr
	begun := time.Now()
	_ = command.Run() // the exit code says how it ended
	require.NotNil(t, command.ProcessState, "%v did not start: %v", args, command.Err)
	t.Logf("squadronctl %s: %d after %.1f s\n%s%s", strings.Join(args, " "), command.ProcessState.ExitCode(),
		time.Since(begun).Seconds(), &stdout, &stderr)
	require.Equal(t, code, command.ProcessState.ExitCode(), "squadronctl %v\n%s%s", args, &stdout, &stderr)
	return stdout.String(), stderr.String()
}

// apply brings the cluster to what the directory declares, and gives the rows of its table, their columns with one space
// between them.
func (o owner) apply(t *testing.T, code int, flags ...string) []string {
	t.Helper()
	out, _ := o.run(t, code, append([]string{"apply", o.dir}, flags...)...)
	var rows []string
	for line := range strings.Lines(out) {
		rows = append(rows, strings.Join(strings.Fields(line), " "))
	}
	require.NotEmpty(t, rows, "there is not even a heading")
	return rows[1:]
}

// same shows that the cluster is as it was deployed last and as the directory says.
func (o owner) same(t *testing.T) {
	t.Helper()
	for _, args := range [][]string{{"drift"}, {"diff", o.dir, "--prune"}} {
		out, errs := o.run(t, done, args...)
		assert.Empty(t, out+errs, args)
	}
}

// differs shows what is not as it was deployed last, or not as the directory says: all that the command says.
func (o owner) differs(t *testing.T, want string, args ...string) {
	t.Helper()
	out, errs := o.run(t, differ, args...)
	assert.Equal(t, want, out, args)
	assert.Empty(t, errs, args)
}

// watching is an apply --watch that runs, or has run.
type watching struct {
	*exec.Cmd
	out, err text
	ended    chan struct{} // closed at its end
}

// watch starts an apply that stays. It is killed when the test ends before it.
func (o owner) watch(t *testing.T, flags ...string) *watching {
	t.Helper()
	args := append([]string{"apply", o.dir, "--watch", "--interval", "1s", "--listen", "127.0.0.1:0"}, flags...)
	w := &watching{Cmd: o.program(context.Background(), append(args, o.flags()...)...), ended: make(chan struct{})}
	w.Stdout, w.Stderr = &w.out, &w.err
	require.NoError(t, w.Start())
	go func() {
		defer close(w.ended)
		_ = w.Wait() // the exit code says how it ended
	}()
	t.Cleanup(func() {
		_ = w.Process.Kill()
		<-w.ended
		t.Logf("%s\n%s%s", strings.Join(args, " "), w.out.String(), w.err.String())
	})
	return w
}

// end sends a signal, and gives the exit code.
func (w *watching) end(t *testing.T, signal os.Signal) int {
	t.Helper()
	require.NoError(t, w.Process.Signal(signal), "it has ended: %s%s", w.out.String(), w.err.String())
	select {
	case <-w.ended:
	case <-time.After(patience):
		require.Fail(t, "it does not end", "%s%s", w.out.String(), w.err.String())
	}
	return w.ProcessState.ExitCode()
}

// says waits until the watching has written a line that matches on standard output, and forgets it and all before it.
func (w *watching) says(t *testing.T, pattern string) {
	t.Helper()
	expression := regexp.MustCompile(`(?m)^` + pattern)
	require.Eventually(t, func() bool { return w.out.cut(expression) }, patience, 10*time.Millisecond, "it does not say %s", pattern)
}

// text is what a process has written so far.
type text struct {
	mutex  sync.Mutex
	buffer bytes.Buffer
	read   int // so many bytes have been waited for
}

// cut says whether what is yet to be read has a match, and takes it, and all before it, for read.
func (s *text) cut(expression *regexp.Regexp) bool {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	found := expression.FindIndex(s.buffer.Bytes()[s.read:])
	if found != nil {
		s.read += found[1]
	}
	return found != nil
}

func (s *text) Write(p []byte) (int, error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.buffer.Write(p)
}

func (s *text) String() string {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.buffer.String()
}
