package systemd

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// command runs squadronctl in the machine, as root or as the user named, and gives its exit code and all that it prints.
func command(t *testing.T, user string, args ...string) (code int, text string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	line := append([]string{"/usr/local/bin/squadronctl"}, args...)
	if user != "" {
		line = append(as(user), line...)
	}
	return ends(t, ctx, line)
}

func ends(t *testing.T, ctx context.Context, line []string) (code int, text string) {
	t.Helper()
	cmd := machine.Command(ctx, line[0], line[1:]...)
	cmd.Env = []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/root"}
	out, err := cmd.CombinedOutput()
	require.NotNil(t, cmd.ProcessState, "%v", err)
	return cmd.ProcessState.ExitCode(), string(out)
}

// aGroup puts a group's directory into the machine, where every user can read it.
func aGroup(t *testing.T) string {
	const dir = "/srv/mine"
	to := filepath.Join(machine.Root(), dir)
	require.NoError(t, os.MkdirAll(to, 0o755))
	content := "[Service]\nExecStart=/bin/sleep 1000000\n"
	require.NoError(t, os.WriteFile(filepath.Join(to, "mine-app@.service"), []byte(content), 0o644))
	return dir
}

// A user's groups are in his own manager.
func TestCommandOfUser(t *testing.T) {
	group := aGroup(t)
	for _, step := range []struct {
		args []string
		want string
	}{
		{[]string{"up", group, "2"}, "started"},
		{[]string{"status", "mine"}, "running"},
		{[]string{"restart", "mine", "--max-growth", "2"}, "removed"},
		{[]string{"destroy", "mine", "--yes"}, "destroyed"},
	} {
		code, text := command(t, "alice", append([]string{"--fleet-endpoint", "systemd:user"}, step.args...)...)
		assert.Zero(t, code, text)
		assert.Contains(t, text, step.want)
		assert.NotContains(t, text, "linger", "alice lingers")
	}
	check(t, "alice", "clean")
}

// What is missing is told in one line that says what helps.
func TestCommandSaysWhatIsMissing(t *testing.T) {
	group := aGroup(t)
	system, user := []string{"--fleet-endpoint", "systemd:"}, []string{"--fleet-endpoint", "systemd:user"}
	up := []string{"up", group, "1"}
	hidden := func(dir string) []string {
		return []string{"unshare", "-m", "sh", "-c", "mount -t tmpfs none " + dir + " && exec squadronctl --fleet-endpoint systemd: up " + group + " 1"}
	}
	for _, test := range []struct {
		what string
		line []string
		want string
	}{
		{"no permission", append(append(as("bob"), "squadronctl"), append(system, up...)...), "run as root, or use the user's manager"},
		{"no manager of the user", append(append(as("bob"), "squadronctl"), append(user, up...)...), "loginctl enable-linger bob"},
		{"no bus", hidden("/run/dbus"), "there is no D-Bus"},
		{"no systemd", hidden("/run/systemd"), "systemd does not run this host"},
	} {
		t.Run(test.what, func(t *testing.T) {
			code, text := ends(t, t.Context(), append([]string{"env", "PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin"}, test.line...))
			t.Log(text)
			assert.Equal(t, 1, code)
			assert.Contains(t, text, test.want)
			assert.Equal(t, 1, strings.Count(text, "squadronctl: "), "more than one line of an error")
		})
	}
	check(t, "", "clean")
}

// Who does not linger is warned that his units end with his last session.
func TestCommandWarnsOfLogout(t *testing.T) {
	group := aGroup(t)
	require.NoError(t, inMachine(t.Context(), "systemctl start user@$(id -u bob)"))
	defer func() { assert.NoError(t, inMachine(context.Background(), "systemctl stop user@$(id -u bob)")) }()
	code, text := command(t, "bob", "--fleet-endpoint", "systemd:user", "up", group, "1")
	assert.Zero(t, code, text)
	assert.Contains(t, text, "loginctl enable-linger bob")
	code, text = command(t, "bob", "--fleet-endpoint", "systemd:user", "destroy", "mine", "--yes")
	assert.Zero(t, code, text)
	check(t, "bob", "clean")
}
