package swarm

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// debianDocker is Debian's docker command; another one may stand before it in PATH.
const debianDocker = "/usr/bin/docker"

const commandManifest = `services:
  app:
    image: ${IMAGE:-squadron.test/app:1}
    stop_grace_period: 1s
    configs: [settings]
    secrets: [password]
    volumes: ["/usr/share/zoneinfo:/zones:ro"]
    deploy:
      replicas: 2
      endpoint_mode: dnsrr
      placement: {constraints: [node.role == manager]}
      update_config: {monitor: 1s, order: start-first}
configs:
  settings: {file: ./settings.conf}
secrets:
  password: {file: secret/password}
`

// command is squadronctl, as it is built, in an environment of its own.
type command struct {
	t       *testing.T
	program string
	env     []string
}

func newCommand(t *testing.T) command {
	t.Helper()
	dir := t.TempDir()
	program := filepath.Join(dir, "squadronctl")
	build := exec.CommandContext(t.Context(), "go", "build", "-buildvcs=false", "-o", program, "./cmd/squadronctl")
	build.Dir = filepath.Join("..", "..")
	build.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=", "GOWORK=off")
	text, err := build.CombinedOutput()
	require.NoError(t, err, string(text))
	return command{t: t, program: program, env: []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "SQUADRON_ENGINE=swarm", "SQUADRON_OWNER=command", "SQUADRON_STATE=" + filepath.Join(dir, "state"),
		"SQUADRON_TIMEOUT=" + settle.String(), "SQUADRON_WAIT_SLEEP=" + pause.String(),
	}}
}

// with gives the command with more variables.
func (c command) with(variables ...string) command {
	c.env = append(c.env[:len(c.env):len(c.env)], variables...)
	return c
}

// run runs it, and gives what it printed. It has to end with that exit code.
func (c command) run(code int, args ...string) (out, errs string) {
	c.t.Helper()
	cmd := exec.CommandContext(c.t.Context(), c.program, args...)
	var stdout, stderr bytes.Buffer
	cmd.Env = c.env
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	var ended *exec.ExitError
	if !errors.As(err, &ended) {
		require.NoError(c.t, err)
	}
	require.Equal(c.t, code, cmd.ProcessState.ExitCode(), "%v: %s%s", args, &stdout, &stderr)
	return stdout.String(), stderr.String()
}

func docker(t *testing.T, args ...string) string {
	t.Helper()
	text, err := real.Manager().Docker(t.Context(), args...).CombinedOutput()
	require.NoError(t, err, string(text))
	return string(text)
}

// The command deploys a directory of compose files, sees what changes in it and on the swarm, and sweeps; over a socket, and by
// TLS and SSH as contexts of docker's say.
func TestCommand(t *testing.T) {
	t.Parallel()
	dir, allow := t.TempDir(), []string{"--allow-host-path", "/usr/share/zoneinfo"}
	stacks := filepath.Join(dir, "command")
	write := func(name, text string) {
		path := filepath.Join(stacks, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	}
	write("compose.yaml", commandManifest)
	write("settings.conf", "first")
	write("secret/password", "swordfish")
	far := newCommand(t)
	c := far.with("DOCKER_HOST=" + real.Manager().Host())
	with := func(args ...string) []string { return append(append(args, dir), allow...) }
	t.Cleanup(func() {
		remove := real.Manager().Docker(context.Background(), "stack", "rm", "command")
		assert.NoError(t, remove.Run())
	})

	_, errs := c.run(1, "apply", dir)
	assert.Contains(t, errs, "the reference is not allowed: host path /usr/share/zoneinfo")
	out, errs := c.run(0, with("apply", "-v")...)
	assert.Regexp(t, `(?m)^command +synced +healthy +deployed +missing$`, out)
	assert.NotContains(t, errs, "swordfish")
	assert.Regexp(t, `(?m)^command +1`, docker(t, "stack", "ls"))
	out, _ = c.run(0, with("apply", "--prune")...)
	assert.Regexp(t, `(?m)^command +synced +healthy +none +-$`, out)

	docker(t, "service", "scale", "-d", "command_app=3")
	out, _ = c.run(1, with("drift")...)
	assert.Contains(t, out, "command_app replicas: 2 -> 3")
	out, _ = c.run(0, with("apply", "--correct-drift")...)
	assert.Regexp(t, `(?m)^command +synced +healthy +deployed +drift$`, out)

	write("settings.conf", "second")
	out, _ = c.with("IMAGE=squadron.test/app:2").run(1, with("diff")...)
	assert.Contains(t, out, "command_app image: squadron.test/app:1 -> squadron.test/app:2")
	out, _ = c.with("IMAGE=squadron.test/app:2").run(0, with("apply", "--prune")...)
	assert.Regexp(t, `(?m)^command +synced +healthy +deployed +manifest$`, out)
	assert.Contains(t, docker(t, "service", "inspect", "-f", "{{.Spec.TaskTemplate.ContainerSpec.Image}}", "command_app"), app2)

	far = far.with("IMAGE=squadron.test/app:2", "DOCKER_CONFIG="+t.TempDir())
	t.Run("by TLS", func(t *testing.T) { far.overTLS(t, with("diff")) })
	t.Run("by SSH", func(t *testing.T) { far.overSSH(t, with("diff")) })

	require.NoError(t, os.RemoveAll(stacks))
	out, _ = c.run(0, with("apply", "--prune")...)
	assert.Regexp(t, `(?m)^command .* removed `, out)
	assert.NotContains(t, docker(t, "stack", "ls"), "command")
}
