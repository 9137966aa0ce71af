package main

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/moby/moby/client"
	"github.com/rogpeppe/go-internal/testscript"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/squadronctl/squadron/internal/dockertest"
)

// serveSwarm has a swarm listen at a socket, until stop is called.
func serveSwarm(config dockertest.Config) (swarm *dockertest.Swarm, socket string, stop func(), err error) {
	dir, err := os.MkdirTemp("", "squadronctl") // a test's own directory may be too deep for a socket
	if err != nil {
		return nil, "", nil, err
	}
	socket = filepath.Join(dir, "s")
	listener, err := net.Listen("unix", socket)
	if err != nil {
		return nil, "", nil, err
	}
	config.Timing = dockertest.Timing{Start: time.Millisecond, Run: time.Millisecond, Stop: time.Millisecond}
	swarm = dockertest.New(config)
	server := &httptest.Server{Listener: listener, Config: &http.Server{Handler: swarm.Handler()}}
	server.Start()
	return swarm, socket, func() { server.Close(); os.RemoveAll(dir) }, nil
}

// swarmCommand runs a swarm for a script: DOCKER_HOST is its address, and SOCKET its path. Images named failing fail.
func swarmCommand(ts *testscript.TestScript, _ bool, _ []string) {
	_, socket, stop, err := serveSwarm(dockertest.Config{Behave: func(image string) dockertest.Outcome {
		if image == "failing:latest" {
			return dockertest.Fails
		}
		return dockertest.Runs
	}})
	ts.Check(err)
	ts.Defer(stop)
	ts.Setenv("SOCKET", socket)
	ts.Setenv("DOCKER_HOST", "unix://"+socket)
}

// handCommand does to a script's swarm what somebody would do by hand: hand scale SERVICE 5, hand remove SERVICE.
func handCommand(ts *testscript.TestScript, _ bool, args []string) {
	docker, err := client.New(client.WithHost("unix://" + ts.Getenv("SOCKET")))
	ts.Check(err)
	defer docker.Close()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if args[0] == "remove" {
		_, err = docker.ServiceRemove(ctx, args[1], client.ServiceRemoveOptions{})
		ts.Check(err)
		return
	}
	there, err := docker.ServiceInspect(ctx, args[1], client.ServiceInspectOptions{})
	ts.Check(err)
	spec := there.Service.Spec
	replicas, err := strconv.ParseUint(args[2], 10, 32)
	ts.Check(err)
	spec.Mode.Replicated.Replicas = &replicas
	_, err = docker.ServiceUpdate(ctx, args[1], client.ServiceUpdateOptions{Version: there.Service.Version, Spec: spec})
	ts.Check(err)
}

// stacksDir is a directory of compose files.
func stacksDir(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	return dir
}

// TestSwarmContexts reaches a swarm by the docker command's own context, and pulls with what "docker login" has kept there.
func TestSwarmContexts(t *testing.T) {
	swarm, socket, stop, err := serveSwarm(dockertest.Config{})
	require.NoError(t, err)
	defer stop()
	stacks := stacksDir(t, map[string]string{
		"web.yaml": `services:
  app: {image: registry.example.com/app:1, deploy: {update_config: {monitor: 10ms}}}
  proxy: {image: proxy:1, deploy: {update_config: {monitor: 10ms}}}
`,
	})
	docker := t.TempDir()
	hash := sha256.Sum256([]byte("prod"))
	meta := filepath.Join(docker, "contexts", "meta", hex.EncodeToString(hash[:]))
	require.NoError(t, os.MkdirAll(meta, 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(meta, "meta.json"), []byte(`{"Name":"prod","Endpoints":{"docker":{"Host":"unix://`+socket+`"}}}`), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(docker, "config.json"),
		[]byte(`{"currentContext":"prod","auths":{"registry.example.com":{"auth":"`+base64.StdEncoding.EncodeToString([]byte("me:secret"))+`"}}}`), 0o600))
	env := []string{"HOME=" + t.TempDir(), "SQUADRON_WAIT_SLEEP=3ms", "SQUADRON_STATE=" + t.TempDir(), "DOCKER_CONFIG=" + docker}

	code, out, errs := runHere(env, "apply", "--engine", "swarm", stacks, "-v")
	require.Equal(t, exitDone, code, errs)
	assert.Contains(t, out, "deployed")
	assert.NotContains(t, errs, "secret")
	header, err := base64.URLEncoding.DecodeString(swarm.RegistryAuth("web_app"))
	require.NoError(t, err)
	assert.JSONEq(t, `{"username":"me","password":"secret","serveraddress":"registry.example.com"}`, string(header))
	header, err = base64.URLEncoding.DecodeString(swarm.RegistryAuth("web_proxy"))
	require.NoError(t, err)
	assert.JSONEq(t, `{}`, string(header), "another registry's credential is not sent along")

	code, _, errs = runHere(append(env, "DOCKER_CONTEXT=other"), "diff", "--engine", "swarm", stacks)
	assert.Equal(t, exitUsage, code)
	assert.Contains(t, errs, `docker context "other" (DOCKER_CONTEXT): there is none`)
	code, _, errs = runHere(append(env, "DOCKER_HOST=unix://"+socket+".gone"), "diff", "--engine", "swarm", stacks)
	assert.Equal(t, exitFailed, code)
	assert.Contains(t, errs, "are DOCKER_HOST and DOCKER_CONTEXT right?")
}

// TestSwarmTunnel takes what says how to log in from the flags, and nothing that is meant for fleetctl's tunnel.
func TestSwarmTunnel(t *testing.T) {
	a := newApp([]string{"USER=me"}, nil, io.Discard, io.Discard)
	a.settings.sources = map[string]string{"ssh-username": "FLEETCTL_SSH_USERNAME", "ssh-strict-host-key-checking": "FLEETCTL_STRICT_HOST_KEY_CHECKING"}
	a.settings.sshUsername, a.settings.knownHostsFile = "core", "~/.fleetctl/known_hosts"
	config := a.dockerTunnel()
	assert.Equal(t, "me", config.Username)
	assert.Equal(t, "~/.ssh/known_hosts", config.KnownHostsFile)
	assert.True(t, config.StrictHostKeyChecking)
	assert.Empty(t, config.IdentityFile)

	a.settings.sources = map[string]string{
		"ssh-username": "--ssh-username", "ssh-known-hosts-file": "SQUADRON_SSH_KNOWN_HOSTS_FILE", "ssh-strict-host-key-checking": "context", "ssh-identity": "context",
	}
	a.settings.identity, a.settings.sshTimeout = "id", time.Second
	config = a.dockerTunnel()
	assert.Equal(t, "core", config.Username)
	assert.Equal(t, "~/.fleetctl/known_hosts", config.KnownHostsFile)
	assert.False(t, config.StrictHostKeyChecking)
	assert.Equal(t, "id", config.IdentityFile)
	assert.Equal(t, time.Second, config.Timeout)
}

// TestSwarmWatch takes up what changes in the files that a compose file names.
func TestSwarmWatch(t *testing.T) {
	t.Parallel()
	swarm, socket, stop, err := serveSwarm(dockertest.Config{})
	require.NoError(t, err)
	t.Cleanup(stop)
	w := watching{t: t, dir: t.TempDir()}
	w.write("web.conf", "first")
	w.write("web.yaml", "services:\n  app: {image: app, configs: [it], deploy: {update_config: {monitor: 10ms}}}\nconfigs:\n  it: {file: web.conf}\n")
	command, out, errs := process(t, []string{"DOCKER_HOST=unix://" + socket, "SQUADRON_STATE=" + t.TempDir()},
		"apply", w.dir, "--engine", "swarm", "--watch", "--prune", "--listen", "127.0.0.1:0", "--interval", "10ms")
	require.NoError(t, command.Start())
	t.Cleanup(func() { _ = command.Process.Kill() }) // where the test has failed
	saysSoon(t, out, "web     synced   healthy   deployed   missing\n")
	first := swarm.Names(dockertest.KindConfig, "web")
	require.Len(t, first, 1)

	w.write("web.conf", "second")
	saysSoon(t, out, "web     synced   healthy   deployed   manifest\n")
	require.Eventually(t, func() bool {
		names := swarm.Names(dockertest.KindConfig, "web")
		return len(names) == 1 && names[0] != first[0] // the old one is swept
	}, time.Minute, 5*time.Millisecond)
	text, there := swarm.Data(dockertest.KindConfig, swarm.Names(dockertest.KindConfig, "web")[0])
	require.True(t, there)
	assert.Equal(t, "second", string(text))

	require.NoError(t, command.Process.Signal(os.Interrupt))
	assert.Equal(t, exitDone, exitCodeOf(t, command))
	assert.NotContains(t, errs.String(), "squadronctl: ")
}
