package tunnel_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/squadronctl/squadron/fleet"
	"github.com/squadronctl/squadron/fleet/fleettest"
	"github.com/squadronctl/squadron/integration/sshd"
)

// The ways in which a server can be told to refuse forwarding to sockets: lines of sshd_config, or options before the key.
var refusals = map[string]struct{ config, key string }{
	"AllowStreamLocalForwarding no":     {config: "AllowStreamLocalForwarding no"},
	"AllowStreamLocalForwarding remote": {config: "AllowStreamLocalForwarding remote"},
	"AllowTcpForwarding no":             {config: "AllowTcpForwarding no"},
	"DisableForwarding":                 {config: "DisableForwarding yes"},
	"restrict":                          {key: "restrict"},
	"no-port-forwarding":                {key: "no-port-forwarding"},
}

// R31: a socket is reached by forwarding where the server allows it, and no session is opened.
func TestSocketByForwarding(t *testing.T) {
	t.Parallel()
	for name, options := range map[string]string{"by default": "", "restrict,port-forwarding": "restrict,port-forwarding"} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, "MaxSessions 0") // sessions would fail
			require.NoError(t, b.sshd.Authorize(b.key, options))
			c, _ := client(t, b.config(b.socket))
			require.NoError(t, c.Submit(t.Context(), "a.service", content))
			assert.Len(t, b.socket.Cluster.Units(), 1)
			assert.Zero(t, oneConnection(t, b.sshd).Open().Commands)
		})
	}
}

// R31: where the server refuses to forward, whatever makes it, the socket is reached by sessions of fleetctl fd-forward;
// the refused way is tried once a connection.
func TestSocketBySessions(t *testing.T) {
	t.Parallel()
	for name, refusal := range refusals {
		t.Run(name, func(t *testing.T) {
			var options []string
			if refusal.config != "" {
				options = append(options, refusal.config)
			}
			b := newBench(t, options...)
			require.NoError(t, b.sshd.Authorize(b.key, refusal.key))
			c, _ := client(t, b.config(b.socket))
			require.NoError(t, c.Submit(t.Context(), "a.service", content))
			assert.Positive(t, oneConnection(t, b.sshd).Open().Commands)
			sideBySide(20, 5, func(i int) { assert.NoError(t, c.Submit(t.Context(), fmt.Sprintf("a%d.service", i), content)) })
			assert.Len(t, b.socket.Cluster.Units(), 21)
			oneConnection(t, b.sshd)
			if refusal.config != "" && refusal.config != "DisableForwarding yes" {
				assert.Equal(t, 1, strings.Count(b.sshd.Log(), b.socket.Endpoint().Path), "in words of its own, the server logs each refusal")
			}
		})
	}
}

// R31: a path reaches the server's shell as it is.
func TestSocketOfAStrangeName(t *testing.T) {
	t.Parallel()
	b := newBench(t, "AllowStreamLocalForwarding no")
	server := fleettest.NewUnstartedServer(fleettest.Config{})
	path := filepath.Join(b.sshd.Dir, `a b'$HOME;"*\.sock`)
	require.NoError(t, server.StartUnix(path))
	defer server.Close()
	require.NoError(t, os.Chmod(path, 0o777))
	config := b.config(b.socket)
	config.Endpoint.Path = path
	c, _ := client(t, config)
	require.NoError(t, c.Submit(t.Context(), "a.service", content))
	assert.Len(t, server.Cluster.Units(), 1)
}

// R31: a TCP address is reached by forwarding only, and the server's refusal is told from an address where nobody listens.
func TestTCP(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	config := b.config(b.tcp)
	c, _ := client(t, config)
	require.NoError(t, c.Submit(t.Context(), "a.service", content))
	assert.Len(t, b.tcp.Cluster.Units(), 1)

	config.Endpoint.Host = "127.0.0.1:1"
	tunnel, err := fleet.NewSSHTunnel(config)
	require.NoError(t, err)
	err = clientOver(t, tunnel, config.Endpoint).Start(t.Context(), "a.service")
	assert.ErrorContains(t, err, "Connection refused")
	assert.True(t, fleet.IsTemporary(err), "%v", err)
	for _, name := range []string{"AllowTcpForwarding no", "restrict"} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, "AllowTcpForwarding "+map[bool]string{true: "yes", false: "no"}[name == "restrict"])
			if name == "restrict" {
				require.NoError(t, b.sshd.Authorize(b.key, name))
			}
			c, _ := client(t, b.config(b.tcp))
			err := c.Submit(t.Context(), "a.service", content)
			assert.ErrorContains(t, err, "administratively prohibited")
			assert.ErrorContains(t, err, "AllowTcpForwarding and PermitOpen")
			assert.False(t, fleet.IsTemporary(err), "%v", err)
			assert.Zero(t, requests(b.tcp))
		})
	}
}

// R31: sshd answers the same for a refusal and for a socket that is not there. The error tells both causes, and what
// fd-forward had to say.
func TestNoWayToTheSocket(t *testing.T) {
	t.Parallel()
	type change func(t *testing.T, b *bench, config *fleet.SSHTunnelConfig)
	missing := func(_ *testing.T, b *bench, config *fleet.SSHTunnelConfig) {
		config.Endpoint.Path = b.sshd.Dir + "/no.sock"
	}
	for name, c := range map[string]struct {
		sshd   sshd.Config
		change change
		says   []string
	}{
		"missing":              {sshd.Config{}, missing, []string{"no such file or directory"}},
		"missing, and refused": {sshd.Config{Options: []string{"AllowStreamLocalForwarding no"}}, missing, []string{"no such file or directory"}},
		"not the user's": {sshd.Config{}, func(t *testing.T, b *bench, _ *fleet.SSHTunnelConfig) {
			require.NoError(t, os.Chmod(b.socket.Endpoint().Path, 0o700))
		}, []string{"permission denied"}},
		"refused, no fleetctl":   {sshd.Config{Options: []string{"AllowStreamLocalForwarding no"}, Path: "/usr/bin:/bin"}, nil, []string{"fleetctl: not found", "no fleetctl in the PATH of core"}},
		"refused, MaxSessions 0": {sshd.Config{Options: []string{"AllowStreamLocalForwarding no", "MaxSessions 0"}}, nil, []string{"grants no session"}},
		"refused, forced command": {sshd.Config{Options: []string{"AllowStreamLocalForwarding no", "ForceCommand echo not here >&2; exit 3"}}, nil,
			[]string{`it said "not here"`, "exited with status 3"}},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBenchOf(t, c.sshd)
			config := b.config(b.socket)
			if c.change != nil {
				c.change(t, b, &config)
			}
			says := append(c.says, `connect failed ("open failed")`, "fleetctl fd-forward", "AllowStreamLocalForwarding", "no such socket on "+b.sshd.Address)
			refused(t, b, config, says...)
		})
	}
}

// R18, R31: a fleet that comes back on its socket is there again, over the same connection and by the way that worked.
func TestFleetRestarts(t *testing.T) {
	t.Parallel()
	for way, options := range map[string][]string{"forwarding": nil, "sessions": {"AllowStreamLocalForwarding no"}} {
		t.Run(way, func(t *testing.T) {
			b := newBench(t, options...)
			config := b.config(b.socket)
			config.Endpoint.Path = filepath.Join(b.sshd.Dir, "restarts.sock")
			c, _ := client(t, config)
			for range 2 {
				server := fleettest.NewUnstartedServer(fleettest.Config{})
				require.NoError(t, server.StartUnix(config.Endpoint.Path))
				require.NoError(t, os.Chmod(config.Endpoint.Path, 0o777))
				require.NoError(t, c.Submit(t.Context(), "a.service", content))
				assert.Len(t, server.Cluster.Units(), 1)
				server.Close()
				err := c.Start(t.Context(), "a.service")
				assert.True(t, fleet.IsTemporary(err), "%v", err)
			}
			oneConnection(t, b.sshd)
			if way == "forwarding" {
				assert.Zero(t, oneConnection(t, b.sshd).Open().Commands)
			}
		})
	}
}
