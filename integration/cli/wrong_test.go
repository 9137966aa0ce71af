package cli_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/ssh/knownhosts"

	"github.com/squadronctl/squadron/integration/nginx"
)

// R30, R31: whatever is wrong with the way to the cluster, the exit code and one line on standard error say so, and nothing
// reaches the cluster. Nothing here is waited for until a timeout.
func TestWrongWays(t *testing.T) {
	t.Parallel()
	ssh, tls := startSSH(t), startProxy(t)
	stranger, others := newKey(t), nginx.NewAuthority(t, "others")
	line := func(key string) string { return knownhosts.Normalize(ssh.server.Address) + " " + key }
	hosts := func(text string) string { return writeFile(t, t.TempDir(), "known_hosts", text) }
	foreign := clientOf(t, others)
	const gone = "127.0.0.1:1" // nobody listens there
	g := newGroup(t, way{}, "wrong", single)
	before := ssh.server.Connections()

	for name, c := range map[string]struct {
		by   way
		code int
		why  string
	}{
		"another host key":      {ssh.way().with("--ssh-known-hosts-file", hosts(line(stranger.Public))), failed, "host key"},
		"unknown host":          {ssh.way().with("--ssh-known-hosts-file", hosts("")), failed, "host key"},
		"no file of host keys":  {ssh.way().with("--ssh-known-hosts-file", "/nowhere/known_hosts"), usage, "/nowhere/known_hosts"},
		"a key that nobody has": {ssh.way().with("--ssh-identity", stranger.File), failed, "unable to authenticate"},
		"another user":          {ssh.way().with("--ssh-username", "stranger"), failed, "unable to authenticate"},
		"no key file":           {ssh.way().with("--ssh-identity", "/nowhere/key"), usage, "/nowhere/key"},
		"nobody at the tunnel":  {ssh.way().with("--tunnel", gone), failed, "connection refused"},
		"no socket beyond it":   {ssh.way().with("--fleet-endpoint", "unix:///nowhere/fleet.sock"), failed, "/nowhere/fleet.sock"},
		"nobody beyond it":      {ssh.way().with("--fleet-endpoint", "http://"+gone), failed, "refused"},
		"nobody there":          {way{flags: []string{"--fleet-endpoint", "http://" + gone}}, failed, "is fleetd running there"},
		"no socket":             {way{flags: []string{"--fleet-endpoint", "unix:///nowhere/fleet.sock"}}, failed, "is fleetd running there"},
		"a host for a path":     {way{env: []string{"SQUADRON_ENDPOINT=unix://run/fleet.sock"}}, usage, "unix:///path"},
		"no such scheme":        {way{env: []string{"FLEETCTL_ENDPOINT=ftp://127.0.0.1"}}, usage, "unix:///path"},
		"an unknown authority":  {tls.way().with("--ca-file", others.File(t)), failed, "unknown authority"},
		"no client certificate": {way{flags: []string{"--fleet-endpoint", tls.url, "--ca-file", tls.ca}}, usage, "No required SSL certificate"},
		"a foreign certificate": {tls.way().with("--cert-file", foreign.Certificate, "--key-file", foreign.Key), usage, "400"},
		"http to the TLS port":  {way{flags: []string{"--fleet-endpoint", "http" + tls.url[len("https"):]}}, usage, "400"},
		"a key that is another": {tls.way().with("--key-file", foreign.Key), usage, "client certificate"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.by.fails(t, c.code, c.why, "up", g.dir, "1")
			c.by.fails(t, c.code, c.why, "list", "-o", "json")
		})
	}
	t.Cleanup(func() {
		assert.Empty(t, g.units(t))
		assert.Eventually(t, func() bool { return len(ssh.server.Connections()) <= len(before) }, time.Minute, 10*time.Millisecond, "a connection is left")
	})
}

// Without strict checking an unknown host will do; and what the environment names as FLEETCTL_ counts as fleetctl's flags do.
func TestTunnelByEnvironment(t *testing.T) {
	t.Parallel()
	ssh := startSSH(t)
	home := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(home, ".fleetctl"), 0o700))
	env := []string{"FLEETCTL_ENDPOINT=" + ssh.socket, "FLEETCTL_TUNNEL=" + ssh.server.Address, "SQUADRON_SSH_IDENTITY=" + ssh.identity, "HOME=" + home}
	known := filepath.Join(home, ".fleetctl", "known_hosts")

	require.NoError(t, os.WriteFile(known, nil, 0o600))
	way{env: env}.fails(t, failed, "host key", "machines")
	out, _ := way{env: append(env, "FLEETCTL_STRICT_HOST_KEY_CHECKING=false")}.run(t, done, "machines", "-o", "name")
	assert.Len(t, lines(out), len(site.Cluster.Machines()))

	text, err := os.ReadFile(ssh.known)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(known, text, 0o600))
	out, _ = way{env: env}.run(t, done, "machines", "-o", "name")
	assert.Len(t, lines(out), len(site.Cluster.Machines()))
}
