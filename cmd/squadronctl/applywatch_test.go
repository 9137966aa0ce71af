package main

import (
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/squadronctl/squadron/fleet/fleettest"
)

const (
	watchedManifest = "slices: 2\n-- shop-app@.service --\n[Service]\nExecStart=/bin/sleep 1\n"
	emptyKeep       = "nothing is swept while nothing is declared"
)

// watching is an apply --watch over a directory.
type watching struct {
	t        *testing.T
	dir, url string
	out, err *lockedBuffer
}

func (w watching) write(name, text string) {
	w.t.Helper()
	fresh := filepath.Join(w.t.TempDir(), name)
	require.NoError(w.t, os.WriteFile(fresh, []byte(text), 0o644))
	require.NoError(w.t, os.Rename(fresh, filepath.Join(w.dir, name)))
}

func (w watching) get(path string) (int, string) {
	w.t.Helper()
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: time.Minute}
	answer, err := client.Get(w.url + path)
	require.NoError(w.t, err)
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	require.NoError(w.t, err)
	return answer.StatusCode, string(text)
}

// tellsSoon waits for a line of the metrics.
func (w watching) tellsSoon(line string) {
	w.t.Helper()
	require.Eventually(w.t, func() bool {
		_, text := w.get("/metrics")
		return regexp.MustCompile(`(?m)^` + line + `$`).MatchString(text)
	}, time.Minute, 5*time.Millisecond, line)
}

// A watch stays, takes up what changes in its directory and on the cluster, tells how it is doing, and ends with Ctrl-C.
func TestApplyWatch(t *testing.T) {
	t.Parallel()
	server := fleettest.NewServer(fleettest.Config{})
	t.Cleanup(server.Close)
	w := watching{t: t, dir: t.TempDir()}
	w.write("shop.txtar", watchedManifest)
	command, out, errs := process(t, []string{"SQUADRON_ENDPOINT=" + server.URL, "SQUADRON_STATE=" + t.TempDir()},
		"apply", w.dir, "--watch", "--prune", "--listen", "127.0.0.1:0", "--interval", "10ms")
	require.NoError(t, command.Start())
	t.Cleanup(func() { _ = command.Process.Kill() }) // where the test has failed
	w.out, w.err = out, errs
	saysSoon(t, errs, "listening on http://")
	w.url = regexp.MustCompile(`http://127\.0\.0\.1:\d+`).FindString(errs.String())

	saysSoon(t, out, "STACK   SYNC     HEALTH    ACTION     REASON\nshop    synced   healthy   deployed   missing\n")
	saysSoon(t, out, "\n\nSTACK   SYNC     HEALTH    ACTION   REASON\nshop    synced   healthy   none     -\n")
	code, _ := w.get("/healthz")
	assert.Equal(t, http.StatusOK, code)
	code, _ = w.get("/readyz")
	assert.Equal(t, http.StatusOK, code)
	w.tellsSoon(`squadron_deployments_total\{outcome="deployed"\} 1`)
	w.tellsSoon(`squadron_stack_sync\{stack="shop",sync="synced"\} 1`)
	assert.Len(t, server.Cluster.Units(), 2)

	w.write("bad.txtar", "slices: many\n")
	saysSoon(t, errs, filepath.Join(w.dir, "bad.txtar")+":1: ")
	w.tellsSoon(`squadron_manifests_refused 1`)
	require.NoError(t, os.Remove(filepath.Join(w.dir, "bad.txtar")))
	w.tellsSoon(`squadron_manifests_refused 0`)

	w.write("wiki.txtar", "-- wiki.service --\n[Service]\nExecStart=/bin/sleep 1\n")
	w.tellsSoon(`squadron_stack_health\{health="healthy",stack="wiki"\} 1`)
	require.NoError(t, os.Remove(filepath.Join(w.dir, "wiki.txtar")))
	w.tellsSoon(`squadron_swept_total\{outcome="removed"\} 1`)
	assert.Len(t, server.Cluster.Units(), 2)
	require.NoError(t, os.Remove(filepath.Join(w.dir, "shop.txtar")))
	saysSoon(t, errs, emptyKeep)
	assert.Len(t, server.Cluster.Units(), 2)

	require.NoError(t, command.Process.Signal(os.Interrupt))
	assert.Equal(t, exitDone, exitCodeOf(t, command))
	assert.NotContains(t, errs.String(), "squadronctl: ")
}

// Of two processes that run as the units of one stack the second works beside the first, and listens where that one did once
// it is gone. Without --own an address that is taken is an error.
func TestApplyWatchAfterItsPredecessor(t *testing.T) {
	t.Parallel()
	server := fleettest.NewServer(fleettest.Config{})
	t.Cleanup(server.Close)
	w := watching{t: t, dir: t.TempDir()}
	w.write("shop.txtar", watchedManifest)
	env, listen := []string{"SQUADRON_ENDPOINT=" + server.URL, "SQUADRON_STATE=" + t.TempDir()}, "127.0.0.1:0"
	start := func(args ...string) (*exec.Cmd, *lockedBuffer, *lockedBuffer) {
		command, out, errs := process(t, env, append([]string{"apply", w.dir, "--watch", "--interval", "10ms", "--listen", listen}, args...)...)
		require.NoError(t, command.Start())
		t.Cleanup(func() { _ = command.Process.Kill() }) // where the test has failed
		return command, out, errs
	}
	first, _, errs := start("--own", "me")
	saysSoon(t, errs, "listening on http://")
	w.url = regexp.MustCompile(`http://127\.0\.0\.1:\d+`).FindString(errs.String())
	listen = strings.TrimPrefix(w.url, "http://")

	stranger, _, errs := start()
	assert.Equal(t, exitFailed, exitCodeOf(t, stranger))
	assert.Contains(t, errs.String(), "in use")

	second, out, errs := start("--own", "me")
	saysSoon(t, errs, listen+" is in use")
	saysSoon(t, out, "shop    synced   healthy   none ")
	assert.NotContains(t, errs.String(), "http://")
	require.NoError(t, first.Process.Signal(os.Interrupt))
	assert.Equal(t, exitDone, exitCodeOf(t, first))
	saysSoon(t, errs, "listening on "+w.url)
	code, _ := w.get("/readyz")
	assert.Equal(t, http.StatusOK, code)
	require.NoError(t, second.Process.Signal(os.Interrupt))
	assert.Equal(t, exitDone, exitCodeOf(t, second))

	first, _, errs = start("--own", "me")
	saysSoon(t, errs, "listening on "+w.url)
	third, _, errs := start("--own", "me")
	saysSoon(t, errs, listen+" is in use")
	require.NoError(t, third.Process.Signal(os.Interrupt))
	assert.Equal(t, exitDone, exitCodeOf(t, third), "it ends while it waits for the address")
	require.NoError(t, first.Process.Signal(os.Interrupt))
	assert.Equal(t, exitDone, exitCodeOf(t, first))
}

// A watch of which nobody reads the results ends.
func TestApplyWatchWithoutReader(t *testing.T) {
	t.Parallel()
	server := fleettest.NewServer(fleettest.Config{})
	t.Cleanup(server.Close)
	w := watching{t: t, dir: t.TempDir()}
	w.write("shop.txtar", watchedManifest)
	command, _, _ := process(t, []string{"SQUADRON_ENDPOINT=" + server.URL, "SQUADRON_STATE=" + t.TempDir()},
		"apply", w.dir, "--watch", "--listen", "127.0.0.1:0", "--interval", "10ms")
	reader, writer, err := os.Pipe()
	require.NoError(t, err)
	command.Stdout = writer
	require.NoError(t, reader.Close())
	require.NoError(t, command.Start())
	require.NoError(t, writer.Close())
	assert.Equal(t, exitPipe, exitCodeOf(t, command))
}

// Ctrl-C has an apply bring to its end what is under way, and a second one leaves at once.
func TestApplyInterrupted(t *testing.T) {
	t.Parallel()
	server := fleettest.NewServer(fleettest.Config{})
	t.Cleanup(server.Close)
	w := watching{t: t, dir: t.TempDir()}
	w.write("far.txtar", "-- far.service --\n[Service]\nExecStart=/bin/sleep 1\n[X-Fleet]\nMachineMetadata=zone=moon\n")
	command, _, errs := process(t, []string{"SQUADRON_ENDPOINT=" + server.URL, "SQUADRON_STATE=" + t.TempDir()}, "apply", w.dir)
	require.NoError(t, command.Start())
	require.Eventually(t, func() bool { return len(server.Cluster.Units()) == 1 }, time.Minute, 2*time.Millisecond)
	require.NoError(t, command.Process.Signal(os.Interrupt))
	saysSoon(t, errs, "clean end") // two signals in one moment may be one
	require.NoError(t, command.Process.Signal(os.Interrupt))
	assert.Equal(t, exitInterrupted, exitCodeOf(t, command))
	assert.Contains(t, errs.String(), "squadronctl: left at once")
}

// Where what was deployed is kept: --state and SQUADRON_STATE, $XDG_STATE_HOME, and what the user is.
func TestStateDirectory(t *testing.T) {
	home := "/home/ada/.local/state/squadron"
	if os.Geteuid() == 0 {
		home = "/var/lib/squadron"
	}
	for name, test := range map[string]struct {
		env  []string
		want string
	}{
		"user":     {[]string{"HOME=/home/ada"}, home},
		"xdg":      {[]string{"HOME=/home/ada", "XDG_STATE_HOME=/x"}, "/x/squadron"},
		"variable": {[]string{"SQUADRON_STATE=/s", "XDG_STATE_HOME=/x"}, "/s"},
	} {
		t.Run(name, func(t *testing.T) {
			a := newApp(test.env, nil, io.Discard, io.Discard)
			defer a.interrupts.end()
			a.settings.sources = map[string]string{}
			var f stackFlags
			command := &cobra.Command{}
			a.addStackFlags(command, &f)
			require.NoError(t, a.settleStacks(command, &f))
			assert.Equal(t, test.want, f.state)
			assert.Equal(t, "squadronctl", f.owner)
		})
	}
}
