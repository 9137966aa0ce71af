package dockerd_test

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/moby/moby/api/types/swarm"
	"github.com/moby/moby/client"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/squadronctl/squadron/integration/swarm/dockerd"
)

const app = "github.com/squadronctl/squadron/integration/swarm/app"

// held makes this test program start a swarm, say where it is, and hold it until it is killed.
const held = "SQUADRON_TEST_HOLD_SWARM"

func TestMain(m *testing.M) {
	if os.Getenv(held) == "" {
		os.Exit(m.Run())
	}
	s, err := dockerd.Start(context.Background(), dockerd.Config{})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(s.Dir())
	_, _ = io.Copy(io.Discard, os.Stdin)
	os.Exit(1)
}

// A service spreads over two nodes and is reached at a port of the host; a node that is killed is lost and comes back; after
// Stop nothing is left.
func TestLifeOfTwoNodes(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	s, err := dockerd.Start(ctx, dockerd.Config{Nodes: 2})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Stop()) })
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(s.Logs(40))
		}
	})
	require.NoError(t, s.Import(ctx, "squadron.test/app:1", app))
	require.NoError(t, s.Tag(ctx, "squadron.test/app:1", "squadron.test/app:2"))
	text, err := s.Manager().Docker(ctx, "service", "create", "--quiet", "--detach", "--name=web", "--mode=global",
		"--no-resolve-image", "--publish=mode=host,published=8000,target=8080", "--env=GREETING=hello", "squadron.test/app:2").CombinedOutput()
	require.NoError(t, err, "%s", text)
	program, err := s.Build(ctx, app)
	require.NoError(t, err)
	for _, node := range s.Nodes() {
		require.EventuallyWithT(t, func(c *assert.CollectT) {
			text, err := node.Command(ctx, program, "get", "http://127.0.0.1:8000").CombinedOutput()
			require.NoError(c, err, "%s", text)
			assert.Contains(c, string(text), "environment GREETING=hello")
		}, 2*time.Minute, 200*time.Millisecond)
	}

	lost := s.Nodes()[1]
	lost.Kill()
	lost.Kill()
	require.NoError(t, s.WaitState(ctx, lost, swarm.NodeStateDown))
	require.NoError(t, s.Restart(ctx, lost))
	require.NoError(t, s.WaitState(ctx, lost, swarm.NodeStateReady))
	require.NoError(t, s.Restart(ctx, s.Manager()))
	require.NoError(t, s.WaitState(ctx, s.Manager(), swarm.NodeStateReady))
	services, err := s.Manager().Client().ServiceList(ctx, client.ServiceListOptions{})
	require.NoError(t, err)
	assert.Len(t, services.Items, 1)

	require.NoError(t, s.Stop())
	require.NoError(t, s.Stop())
	assertGone(t, s.Dir())
}

// What a killed program leaves is no process, and the next start clears away the rest.
func TestNextStartClearsAway(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	program := exec.CommandContext(ctx, os.Args[0])
	program.Env = append(os.Environ(), held+"=1")
	program.Stderr = os.Stderr
	in, err := program.StdinPipe()
	require.NoError(t, err)
	defer in.Close()
	out, err := program.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, program.Start())
	var dir string
	_, err = fmt.Fscanln(out, &dir)
	require.NoError(t, err)
	require.DirExists(t, dir)
	require.NoError(t, program.Process.Kill())
	require.Error(t, program.Wait())
	require.DirExists(t, dir)

	s, err := dockerd.Start(ctx, dockerd.Config{})
	require.NoError(t, err)
	assertGone(t, dir)
	require.DirExists(t, s.Dir())
	require.NoError(t, s.Stop())
	assertGone(t, s.Dir())
}

func TestOnlyOneOrTwoNodes(t *testing.T) {
	for _, nodes := range []int{-1, 3} {
		_, err := dockerd.Start(t.Context(), dockerd.Config{Nodes: nodes})
		assert.ErrorContains(t, err, "must be 1 or 2")
	}
}

// assertGone asserts that nothing is left of a swarm whose files were in dir: no process, mount, control group or file.
func assertGone(t *testing.T, dir string) {
	t.Helper()
	place := filepath.Dir(dir)
	assert.NoDirExists(t, place)
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	require.NoError(t, err)
	assert.NotContains(t, string(mounts), place)
	for _, pattern := range []string{"/sys/fs/cgroup/", "/sys/fs/cgroup/*/", "/sys/fs/cgroup/*/*/"} {
		groups, err := filepath.Glob(pattern + filepath.Base(place) + "*")
		require.NoError(t, err)
		assert.Empty(t, groups)
	}
	processes, err := filepath.Glob("/proc/[0-9]*/cmdline")
	require.NoError(t, err)
	for _, process := range processes {
		text, _ := os.ReadFile(process) // it may have ended
		assert.False(t, strings.Contains(string(text), place) && !strings.Contains(string(text), os.Args[0]), "%s: %q", process, text)
	}
}
