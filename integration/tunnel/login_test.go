package tunnel_test

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/squadronctl/squadron/fleet"
	"github.com/squadronctl/squadron/integration/sshd"
)

// startAgent starts an agent that holds keys, in this order, and names it to the library.
func startAgent(t *testing.T, keys ...sshd.Key) *sshd.Agent {
	t.Helper()
	agent, err := sshd.StartAgent(t.Context(), filepath.Join(t.TempDir(), "agent"))
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, agent.Stop()) })
	for _, key := range keys {
		require.NoError(t, agent.Add(t.Context(), key))
	}
	t.Setenv("SSH_AUTH_SOCK", agent.Socket)
	return agent
}

func strangers(t *testing.T, number int) (keys []sshd.Key) {
	t.Helper()
	for range number {
		keys = append(keys, newKey(t))
	}
	return keys
}

// refused shows that a client is not let in, that the error says so and is not temporary, and that the cluster has got
// nothing.
func refused(t *testing.T, b *bench, config fleet.SSHTunnelConfig, says ...string) {
	t.Helper()
	before := requests(b.socket)
	c, _ := client(t, config)
	err := c.Submit(t.Context(), "a.service", content)
	require.Error(t, err)
	for _, words := range says {
		assert.ErrorContains(t, err, words)
	}
	assert.False(t, fleet.IsTemporary(err), "%v", err)
	assert.Equal(t, before, requests(b.socket))
}

// R31: the key is the file's or the agent's.
func TestLogin(t *testing.T) {
	b := newBench(t)
	config := b.config(b.socket)
	c, _ := client(t, config)
	require.NoError(t, c.Submit(t.Context(), "file.service", content))

	config.IdentityFile = ""
	startAgent(t, b.key)
	c, _ = client(t, config)
	require.NoError(t, c.Submit(t.Context(), "agent.service", content))
	assert.Len(t, b.socket.Cluster.Units(), 2)

	startAgent(t)
	refused(t, b, config, "the SSH agent holds no key")
	startAgent(t, strangers(t, 1)...)
	refused(t, b, config, "log in as core with 1 keys on offer", "unable to authenticate")
	b.key = newKey(t)
	t.Setenv("SSH_AUTH_SOCK", "")
	refused(t, b, b.config(b.socket), "log in as core with 1 keys on offer", "unable to authenticate")
	config = b.config(b.socket)
	config.Username = "nobody-of-this-name"
	refused(t, b, config, "log in as nobody-of-this-name")
}

// R31: an agent that holds more keys than the server has patience for does no harm where there is a file, whose key goes
// first; else the error says how many there were.
func TestLoginWithManyKeys(t *testing.T) {
	b := newBench(t)
	config := b.config(b.socket)
	startAgent(t, append(strangers(t, 8), b.key)...)
	c, _ := client(t, config)
	require.NoError(t, c.Submit(t.Context(), "a.service", content))
	config.IdentityFile = ""
	refused(t, b, config, "with 9 keys on offer", "Too many authentication failures")
}

// R31: an agent that dies takes with it only logins to come.
func TestAgentDies(t *testing.T) {
	b := newBench(t)
	config := b.config(b.socket)
	config.IdentityFile = ""
	agent := startAgent(t, b.key)
	c, _ := client(t, config)
	require.NoError(t, c.Submit(t.Context(), "a.service", content))
	require.NoError(t, agent.Stop())
	require.NoError(t, c.Start(t.Context(), "a.service"))
	oneConnection(t, b.sshd).Cut()
	eventually(t, func() bool { return len(b.sshd.Connections()) == 0 })
	assert.ErrorContains(t, c.Start(t.Context(), "a.service"), "SSH agent: dial unix "+agent.Socket)
}
