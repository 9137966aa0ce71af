package fleet

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"fmt"
	"net"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/knownhosts"
)

// R31: entries are found hashed or not, and for a port that is not 22.
func TestTunnelHashedKnownHosts(t *testing.T) {
	_, config := bench(t, &cluster{})
	login, private := newKey(t)
	host, _ := newKey(t)
	server := startSSH(t, login.PublicKey(), host)
	config.Tunnel = server.address()
	config.IdentityFile = writeIdentity(t, private)
	config.KnownHostsFile = writeKnownHosts(t, true, server.address(), host.PublicKey())
	client, _ := tunnelled(t, config)
	require.NoError(t, client.Submit(t.Context(), "a.service", webContent))
}

// ecdsaKey gives a key of a kind that the ssh package prefers to the others used here.
func ecdsaKey(t *testing.T) ssh.Signer {
	t.Helper()
	curve, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	signer, err := ssh.NewSignerFromKey(curve)
	require.NoError(t, err)
	return signer
}

func hostLine(address string, key ssh.PublicKey) string {
	return knownhosts.Normalize(address) + " " + string(ssh.MarshalAuthorizedKey(key))
}

// R31: a server that is not the one known gets not even an attempt to log in, and the error says where the file stands
// against it and what to do.
func TestTunnelRefusesHostKeys(t *testing.T) {
	other, _ := newKey(t)
	for name, c := range map[string]struct {
		known func(address string, host ssh.PublicKey) string
		says  string // FILE, HOST and PORT are filled in
		check func(t *testing.T, err error)
	}{
		"another key": {
			func(address string, _ ssh.PublicKey) string { return "# ours\n" + hostLine(address, other.PublicKey()) },
			"is not the one known from FILE:2 (ssh-ed25519). Where the host was set up anew, forget the old key by ssh-keygen -f 'FILE' -R '[HOST]:PORT'",
			func(t *testing.T, err error) {
				var refused *knownhosts.KeyError
				require.ErrorAs(t, err, &refused)
				assert.Len(t, refused.Want, 1)
			},
		},
		"no key": {
			func(string, ssh.PublicKey) string { return hostLine("other.example:22", other.PublicKey()) },
			"ssh-keyscan -H -p PORT HOST >>'FILE'",
			func(t *testing.T, err error) {
				var refused *knownhosts.KeyError
				require.ErrorAs(t, err, &refused)
				assert.Empty(t, refused.Want)
			},
		},
		"no key for the port": {
			func(address string, host ssh.PublicKey) string {
				return hostLine(strings.Split(address, ":")[0]+":22", host)
			},
			"FILE has no key of that host", func(*testing.T, error) {},
		},
		"revoked": {
			func(address string, host ssh.PublicKey) string {
				return hostLine(address, host) + "@revoked * " + string(ssh.MarshalAuthorizedKey(host))
			},
			"FILE:2 forbids it",
			func(t *testing.T, err error) {
				var revoked *knownhosts.RevokedError
				require.ErrorAs(t, err, &revoked)
			},
		},
		"a key of another kind": {
			func(address string, _ ssh.PublicKey) string { return hostLine(address, ecdsaKey(t).PublicKey()) },
			"the host has none of the kinds that FILE knows of it", func(*testing.T, error) {},
		},
	} {
		t.Run(name, func(t *testing.T) {
			server, config := bench(t, &cluster{})
			right, err := os.ReadFile(config.KnownHostsFile)
			require.NoError(t, err)
			_, _, key, _, _, err := ssh.ParseKnownHosts(right)
			require.NoError(t, err)
			require.NoError(t, os.WriteFile(config.KnownHostsFile, []byte(c.known(server.address(), key)), 0o600))
			client, _ := tunnelled(t, config)
			err = client.Submit(t.Context(), "a.service", webContent)
			require.Error(t, err)
			host, port, _ := net.SplitHostPort(server.address())
			assert.ErrorContains(t, err, strings.NewReplacer("FILE", config.KnownHostsFile, "HOST", host, "PORT", port).Replace(c.says))
			c.check(t, err)
			assert.False(t, IsTemporary(err), "%v", err)
			server.count(func() {
				assert.Zero(t, server.logins)
				assert.Len(t, server.connections, 1, "not tried again")
				assert.Zero(t, server.mostOpen)
			})
		})
	}
}

func TestTunnelWithoutCheck(t *testing.T) {
	_, config := bench(t, &cluster{})
	config.StrictHostKeyChecking = false
	config.KnownHostsFile = "/nowhere"
	client, _ := tunnelled(t, config)
	require.NoError(t, client.Submit(t.Context(), "a.service", webContent))
}

// R31: of several host keys the server shows the one that is known.
func TestTunnelAsksForKnownAlgorithms(t *testing.T) {
	_, config := bench(t, &cluster{})
	login, private := newKey(t)
	known, _ := newKey(t)
	server := startSSH(t, login.PublicKey(), ecdsaKey(t), known)
	config.Tunnel = server.address()
	config.IdentityFile = writeIdentity(t, private)
	config.KnownHostsFile = writeKnownHosts(t, false, server.address(), known.PublicKey())
	client, _ := tunnelled(t, config)
	require.NoError(t, client.Submit(t.Context(), "a.service", webContent))
}

// R31: a line of a certificate authority says nothing about the kinds of keys that a host has itself.
func TestTunnelPassesOverAuthorities(t *testing.T) {
	_, config := bench(t, &cluster{})
	login, private := newKey(t)
	known, _ := newKey(t)
	server := startSSH(t, login.PublicKey(), ecdsaKey(t), known)
	config.Tunnel = server.address()
	config.IdentityFile = writeIdentity(t, private)
	authority := "@cert-authority " + hostLine(server.address(), ecdsaKey(t).PublicKey())
	require.NoError(t, os.WriteFile(config.KnownHostsFile, []byte(authority+hostLine(server.address(), known.PublicKey())), 0o600))
	client, _ := tunnelled(t, config)
	require.NoError(t, client.Submit(t.Context(), "a.service", webContent))

	require.NoError(t, os.WriteFile(config.KnownHostsFile, []byte(authority), 0o600))
	client, _ = tunnelled(t, config)
	assert.ErrorContains(t, client.Start(t.Context(), "a.service"), "has no key of that host")
}

// FuzzHostKeyChecker: whatever stands in the file of known hosts, a key that is not in it is refused, and nothing panics.
func FuzzHostKeyChecker(f *testing.F) {
	f.Add("[127.0.0.1]:22 ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\n")
	f.Add("@revoked * x\n|1|a|b ssh-rsa c\n@cert-authority *.x y\n")
	f.Fuzz(func(t *testing.T, text string) {
		path := fmt.Sprintf("%s/known_hosts", t.TempDir())
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		tunnel := &sshTunnel{config: SSHTunnelConfig{StrictHostKeyChecking: true, KnownHostsFile: path}}
		check, err := tunnel.hostKeyChecker()
		if err != nil {
			return
		}
		key, _ := newKey(t)
		remote := &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 22}
		hostKeyAlgorithms(check, "127.0.0.1:22", remote)
		assert.Error(t, check("127.0.0.1:22", remote, key.PublicKey()))
	})
}
