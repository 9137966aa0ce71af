package fleet

import (
	"io"
	"net"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"
)

// startAgent serves an agent at SSH_AUTH_SOCK. The test ends only when nobody holds a connection to it any more.
func startAgent(t *testing.T, keyring agent.Agent) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "agent.sock")
	listener, err := net.Listen("unix", path)
	require.NoError(t, err)
	var group sync.WaitGroup
	group.Go(func() {
		for {
			connection, err := listener.Accept()
			if err != nil {
				return
			}
			group.Go(func() { _ = agent.ServeAgent(keyring, connection); connection.Close() })
		}
	})
	t.Cleanup(func() { listener.Close(); group.Wait() })
	t.Setenv(agentVariable, path)
}

func addKeys(t *testing.T, keyring agent.Agent, number int) (last ssh.PublicKey) {
	t.Helper()
	for range number {
		signer, private := newKey(t)
		require.NoError(t, keyring.Add(agent.AddedKey{PrivateKey: private}))
		last = signer.PublicKey()
	}
	return last
}

// R31: the keys may be an agent's.
func TestTunnelWithAgent(t *testing.T) {
	server, config := bench(t, &cluster{})
	login, private := newKey(t)
	keyring := agent.NewKeyring()
	require.NoError(t, keyring.Add(agent.AddedKey{PrivateKey: private}))
	path := filepath.Join(t.TempDir(), "agent.sock")
	listener, err := net.Listen("unix", path)
	require.NoError(t, err)
	var group sync.WaitGroup
	group.Go(func() {
		for {
			connection, err := listener.Accept()
			if err != nil {
				return
			}
			group.Go(func() { _ = agent.ServeAgent(keyring, connection); connection.Close() })
		}
	})
	defer group.Wait() // also shows that the tunnel leaves no connection to the agent open
	defer listener.Close()
	t.Setenv(agentVariable, path)

	wrong := startSSH(t, login.PublicKey(), mustHostKey(t))
	config.StrictHostKeyChecking = false
	config.Tunnel = wrong.address()
	client, _ := tunnelled(t, config)
	require.NoError(t, client.Submit(t.Context(), "a.service", webContent), "the file's key is refused, the agent's taken")
	assert.GreaterOrEqual(t, wrong.logins, 2)

	config.IdentityFile = ""
	config.Tunnel = server.address()
	client, _ = tunnelled(t, config)
	err = client.Submit(t.Context(), "a.service", webContent)
	assert.ErrorContains(t, err, "unable to authenticate")
	assert.False(t, IsTemporary(err))
}

// R31: servers end the login after a few tries, so the identity file's key goes before the agent's; where the right one
// comes too late, the error tells how many there were.
func TestTunnelWithManyKeys(t *testing.T) {
	_, config := bench(t, &cluster{})
	keyring := agent.NewKeyring()
	last := addKeys(t, keyring, 20)
	startAgent(t, keyring)
	client, _ := tunnelled(t, config)
	require.NoError(t, client.Submit(t.Context(), "a.service", webContent))

	tired := startSSH(t, last, mustHostKey(t))
	config.StrictHostKeyChecking = false
	config.IdentityFile = ""
	config.Tunnel = tired.address()
	client, _ = tunnelled(t, config)
	err := client.Start(t.Context(), "a.service")
	assert.ErrorContains(t, err, "log in as core with 20 keys on offer")
	assert.False(t, IsTemporary(err), "%v", err)
	assert.Len(t, tired.connections, 1, "not tried again")
}

// R31: a key that both the file and the agent hold is one try.
func TestTunnelOffersAKeyOnce(t *testing.T) {
	_, config := bench(t, &cluster{})
	signer, private := newKey(t)
	keyring := agent.NewKeyring()
	require.NoError(t, keyring.Add(agent.AddedKey{PrivateKey: private}))
	addKeys(t, keyring, 1)
	startAgent(t, keyring)
	config.IdentityFile = writeIdentity(t, private)
	tunnel, err := NewSSHTunnel(config)
	require.NoError(t, err)
	login := tunnel.(*sshTunnel).newLogin(t.Context())
	defer login.close()
	keys, err := login.keys()
	require.NoError(t, err)
	require.Len(t, keys, 2)
	assert.Equal(t, signer.PublicKey().Marshal(), keys[0].PublicKey().Marshal())
	assert.NotEqual(t, signer.PublicKey().Marshal(), keys[1].PublicKey().Marshal())
}

func TestTunnelSaysWhatTheAgentLacks(t *testing.T) {
	_, config := bench(t, &cluster{})
	startAgent(t, agent.NewKeyring())
	identity := config.IdentityFile
	config.IdentityFile = ""
	client, _ := tunnelled(t, config)
	assert.ErrorContains(t, client.Start(t.Context(), "a.service"), "the SSH agent holds no key")

	t.Setenv(agentVariable, "/nowhere/agent")
	client, _ = tunnelled(t, config)
	assert.ErrorContains(t, client.Start(t.Context(), "a.service"), "/nowhere/agent")
	_, stranger := newKey(t)
	config.IdentityFile = writeIdentity(t, stranger)
	client, _ = tunnelled(t, config)
	assert.ErrorContains(t, client.Start(t.Context(), "a.service"), "identity file's key alone (SSH agent: dial unix /nowhere/agent")
	config.IdentityFile = identity
	client, _ = tunnelled(t, config)
	assert.NoError(t, client.Submit(t.Context(), "a.service", webContent), "the file's is enough")
}

func TestExpandHome(t *testing.T) {
	t.Setenv("HOME", "/home/alice")
	for path, want := range map[string]string{"~": "/home/alice", "~/.ssh/id": "/home/alice/.ssh/id", "~bob/x": "~bob/x", "/a/~": "/a/~"} {
		got, err := expandHome(path)
		require.NoError(t, err)
		assert.Equal(t, want, got)
	}
}

// silentAgent names an agent at SSH_AUTH_SOCK that takes connections and never says a word. The channel is closed when it was
// asked for keys.
func silentAgent(t *testing.T) (asked chan struct{}) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "agent.sock")
	listener, err := net.Listen("unix", path)
	require.NoError(t, err)
	asked = make(chan struct{})
	var group sync.WaitGroup
	group.Go(func() {
		var once sync.Once
		for {
			connection, err := listener.Accept()
			if err != nil {
				return
			}
			group.Go(func() {
				_, _ = connection.Read(make([]byte, 1))
				once.Do(func() { close(asked) })
				_, _ = io.Copy(io.Discard, connection)
				connection.Close()
			})
		}
	})
	t.Cleanup(func() { listener.Close(); group.Wait() })
	t.Setenv(agentVariable, path)
	return asked
}

// R31: an agent that does not answer matters only where there is no file, and then the error names it.
func TestSilentAgent(t *testing.T) {
	_, config := bench(t, &cluster{})
	silentAgent(t)
	config.Timeout = 2 * time.Second
	client, _ := tunnelled(t, config)
	require.NoError(t, client.Submit(t.Context(), "a.service", webContent))

	config.IdentityFile = ""
	config.Timeout = 2 * time.Second
	client, _ = tunnelled(t, config)
	assert.ErrorContains(t, client.Start(t.Context(), "a.service"), "SSH agent: ")
}

// R44: Close waits for no agent.
func TestCloseEndsTheWaitForAnAgent(t *testing.T) {
	_, config := bench(t, &cluster{})
	asked := silentAgent(t)
	config.Timeout = time.Hour
	client, tunnel := tunnelled(t, config)
	failed := make(chan error)
	go func() { failed <- client.Start(t.Context(), "a.service") }()
	<-asked
	require.NoError(t, tunnel.(io.Closer).Close())
	assert.ErrorIs(t, <-failed, net.ErrClosed)
}
