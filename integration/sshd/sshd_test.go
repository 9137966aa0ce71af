package sshd_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/squadronctl/squadron/integration/sshd"
)

// The harness itself, seen by OpenSSH's client: the user gets in, runs a command with the PATH given, and is seen doing so.
func TestServer(t *testing.T) {
	server, err := sshd.Start(t.Context(), sshd.Config{Path: "/here:/usr/bin:/bin"})
	require.NoError(t, err)
	defer func() { assert.NoError(t, server.Stop()) }()
	key, err := sshd.NewKey(filepath.Join(t.TempDir(), "key"))
	require.NoError(t, err)
	require.NoError(t, server.Authorize(key, ""))
	known, err := server.KnownHosts()
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "known_hosts")
	require.NoError(t, os.WriteFile(file, []byte(known), 0o600))
	host, port, _ := strings.Cut(server.Address, ":")

	ssh := exec.CommandContext(t.Context(), "ssh", "-F", "none", "-i", key.File, "-o", "UserKnownHostsFile="+file, "-p", port,
		sshd.User+"@"+host, "echo $PATH; id -un; cat")
	in, err := ssh.StdinPipe()
	require.NoError(t, err)
	var out strings.Builder
	ssh.Stdout = &out
	require.NoError(t, ssh.Start())
	assert.Eventually(t, func() bool {
		connections := server.Connections()
		return len(connections) == 1 && connections[0].Open().Commands == 1
	}, 30*time.Second, 10*time.Millisecond)
	require.NoError(t, in.Close())
	require.NoError(t, ssh.Wait(), server.Log())
	assert.Equal(t, "/here:/usr/bin:/bin\ncore\n", out.String())
	assert.Eventually(t, func() bool { return len(server.Connections()) == 0 }, 30*time.Second, 10*time.Millisecond)
}
