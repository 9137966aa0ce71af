package tunnel_test

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/squadronctl/squadron/integration/sshd"
)

func output(t *testing.T, name string, arguments ...string) string {
	t.Helper()
	text, err := exec.CommandContext(t.Context(), name, arguments...).Output()
	require.NoError(t, err, "%s %v", name, arguments)
	return string(text)
}

// R31: the host's key is found in every form in which OpenSSH's own programs write it, and of several kinds that a
// server has the one that is known is asked for.
func TestKnownHosts(t *testing.T) {
	t.Parallel()
	b := newBenchOf(t, sshd.Config{HostKeys: []string{"rsa", "ecdsa", "ed25519"}})
	host, port, _ := strings.Cut(b.sshd.Address, ":")
	all, err := b.sshd.KnownHosts()
	require.NoError(t, err)
	write := func(text string) { require.NoError(t, os.WriteFile(b.known, []byte(text), 0o600)) }
	units := 0
	try := func(form string) {
		c, _ := client(t, b.config(b.socket))
		assert.NoError(t, c.Submit(t.Context(), fmt.Sprintf("a%d.service", units), content), form)
		units++
	}

	write(all)
	try("plain")
	for _, kind := range []string{"rsa", "ecdsa", "ed25519"} {
		b.know(t, kind)
		try("only " + kind)
	}
	write("# a comment\n\nother.example,*.example " + strings.SplitN(all, " ", 2)[1] + all)
	try("among others")
	write(output(t, "ssh-keyscan", "-p", port, host))
	try("ssh-keyscan")
	write(output(t, "ssh-keyscan", "-H", "-p", port, host))
	try("ssh-keyscan -H")
	write(all)
	output(t, "ssh-keygen", "-q", "-H", "-f", b.known)
	hashed, err := os.ReadFile(b.known)
	require.NoError(t, err)
	require.NotContains(t, string(hashed), host)
	try("ssh-keygen -H")
	assert.Len(t, b.socket.Cluster.Units(), units)
}

// R31: a host that is not the one known is refused before anything is sent, and the error's advice is good: what it says
// cures it.
func TestHostKeyRefused(t *testing.T) {
	t.Parallel()
	b := newBenchOf(t, sshd.Config{HostKeys: []string{"ecdsa", "ed25519"}})
	right, err := b.sshd.KnownHosts("ed25519")
	require.NoError(t, err)
	host, port, _ := strings.Cut(b.sshd.Address, ":")
	stranger := fmt.Sprintf("[%s]:%s %s", host, port, newKey(t).Public)
	key, err := b.sshd.HostKey("ed25519")
	require.NoError(t, err)
	remove := fmt.Sprintf("ssh-keygen -f '%s' -R '[%s]:%s'", b.known, host, port)
	add := fmt.Sprintf("ssh-keyscan -H -p %s %s >>'%s'", port, host, b.known)
	for name, c := range map[string]struct {
		known string
		says  []string
	}{
		"changed":                  {"# comment\n" + stranger, []string{b.known + ":2 (ssh-ed25519)", remove}},
		"unknown":                  {"", []string{"has no key of that host", add}},
		"known for another port":   {host + " " + key + "\n", []string{"has no key of that host", add}},
		"revoked":                  {right + "@revoked * " + key + "\n", []string{b.known + ":2 forbids it"}},
		"of a kind it has no more": {fmt.Sprintf("[%s]:%s %s\n", host, port, rsaKey(t)), []string{"none of the kinds that " + b.known}},
	} {
		require.NoError(t, os.WriteFile(b.known, []byte(c.known), 0o600))
		t.Run(name, func(t *testing.T) {
			logins := strings.Count(b.sshd.Log(), "Accepted publickey")
			refused(t, b, b.config(b.socket), c.says...)
			assert.Equal(t, logins, strings.Count(b.sshd.Log(), "Accepted publickey"))
		})
	}

	require.NoError(t, os.WriteFile(b.known, []byte(stranger), 0o600))
	c, _ := client(t, b.config(b.socket))
	require.Error(t, c.Submit(t.Context(), "a.service", content))
	output(t, "/bin/sh", "-c", remove+" 2>&1")
	require.Error(t, c.Submit(t.Context(), "a.service", content), "forgotten, so unknown")
	output(t, "/bin/sh", "-c", add+" 2>/dev/null")
	require.NoError(t, c.Submit(t.Context(), "a.service", content), "the same client")
}

// rsaKey gives a public key of a kind that the server of the test above lacks.
func rsaKey(t *testing.T) string {
	t.Helper()
	file := t.TempDir() + "/rsa"
	output(t, "ssh-keygen", "-q", "-t", "rsa", "-b", "2048", "-N", "", "-f", file)
	text, err := os.ReadFile(file + ".pub")
	require.NoError(t, err)
	return strings.Join(strings.Fields(string(text))[:2], " ")
}
