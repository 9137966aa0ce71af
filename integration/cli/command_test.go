package cli_test

import (
	"bytes"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// patience is how long a test waits for what has to come; where the machine has time for it, it comes in seconds.
const patience = 5 * time.Minute

// The exit codes, as docs/cli.md has them.
const (
	done        = 0
	failed      = 1
	usage       = 2
	notFound    = 3
	refused     = 4
	timeout     = 5
	interrupted = 130
)

// way is a way for squadronctl to reach the cluster: what the command line and the environment say of it.
type way struct{ flags, env []string }

// with gives the way with more flags.
func (w way) with(flags ...string) way {
	w.flags = append(append([]string(nil), w.flags...), flags...)
	return w
}

// process is a squadronctl that runs, or has run.
type process struct {
	*exec.Cmd
	out, err text
	ended    chan struct{} // closed at its end
	took     time.Duration // set by then
}

// start starts squadronctl. Its streams are no terminals, though the environment names a good one. It is killed when the
// test ends before it.
func (w way) start(t *testing.T, args ...string) *process {
	t.Helper()
	p := &process{Cmd: exec.Command(program, append(args, w.flags...)...), ended: make(chan struct{})}
	p.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "TERM=xterm-256color"}, w.env...)
	p.Stdout, p.Stderr = &p.out, &p.err
	p.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	began := time.Now()
	require.NoError(t, p.Start())
	go func() {
		defer close(p.ended)
		_ = p.Wait() // the exit code says how it ended
		p.took = time.Since(began)
	}()
	t.Cleanup(func() {
		_ = p.Process.Kill()
		<-p.ended
		t.Logf("squadronctl %s: %d after %.1f s\n%s%s", strings.Join(args, " "), p.ProcessState.ExitCode(),
			p.took.Seconds(), p.out.String(), p.err.String())
	})
	return p
}

// code waits for the end and gives the exit code. Of both streams it asserts what holds for every command: lines of text,
// without escape sequences or anything else that is for terminals.
func (p *process) code(t *testing.T) int {
	t.Helper()
	select {
	case <-p.ended:
	case <-time.After(patience):
		require.Fail(t, "it does not end", "%v\n%s%s", p.Args, p.out.String(), p.err.String())
	}
	for _, stream := range []string{p.out.String(), p.err.String()} {
		assert.NotRegexp(t, `[\x00-\x09\x0b-\x1f\x7f\x{80}-\x{9f}]`, stream)
		assert.True(t, stream == "" || strings.HasSuffix(stream, "\n"), "the last line is not ended: %q", stream)
	}
	return p.ProcessState.ExitCode()
}

// run runs squadronctl, asserts its exit code, and gives its standard output and standard error.
func (w way) run(t *testing.T, code int, args ...string) (out, errs string) {
	t.Helper()
	p := w.start(t, args...)
	require.Equal(t, code, p.code(t), "squadronctl %v\n%s%s", args, p.out.String(), p.err.String())
	return p.out.String(), p.err.String()
}

// fails runs squadronctl and asserts that it ends with the code, and says why on one line, which matches, and nothing on
// standard output.
func (w way) fails(t *testing.T, code int, why string, args ...string) {
	t.Helper()
	out, errs := w.run(t, code, args...)
	assert.Empty(t, out)
	assert.Regexp(t, `(?m)^squadronctl: [^\n]*`+why+`[^\n]*\n\z`, errs)
}

// says waits until the text that a process has written so far has a match of a pattern, and gives its groups.
func (p *process) says(t *testing.T, in *text, pattern string) []string {
	t.Helper()
	expression := regexp.MustCompile(`(?m)` + pattern)
	var found []string
	require.Eventually(t, func() bool {
		found = expression.FindStringSubmatch(in.String())
		return found != nil
	}, patience, 10*time.Millisecond, "%v does not say %s", p.Args, pattern)
	return found
}

// signal sends a signal to a process that has to run still.
func (p *process) signal(t *testing.T, signal syscall.Signal) {
	t.Helper()
	require.NoError(t, p.Process.Signal(signal), "it has ended: %s%s", p.out.String(), p.err.String())
}

// text is what a process has written so far.
type text struct {
	mutex  sync.Mutex
	buffer bytes.Buffer
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
