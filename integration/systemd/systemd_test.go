// Package systemd holds the backend for one host to the contract on a real systemd: the system's manager, and a user's.
// A program (inside/) is run in a machine for each check.
package systemd

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/squadronctl/squadron/integration/cluster"
)

// program is where a machine has the program.
const program = "/opt/squadron-inside"

var machine *cluster.Machine

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) (code int) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	real, err := cluster.Start(ctx, cluster.Config{Machines: 1})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() {
		if err := real.Stop(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}()
	machine = real.Machines()[0]
	if err := prepare(ctx); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	if code = m.Run(); code != 0 {
		fmt.Fprintln(os.Stderr, machine.Logs(60))
	}
	return code
}

// prepare builds the program into the machine, and makes two users: alice, who lingers, and bob, who doesn't.
func prepare(ctx context.Context) error {
	build := exec.CommandContext(ctx, "go", "build", "-buildvcs=false", "-o", filepath.Join(machine.Root(), program), "./inside")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if text, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("build the program: %w\n%s", err, text)
	}
	// fleet's agent would reload systemd as it likes.
	if err := machine.StopFleetd(ctx); err != nil {
		return err
	}
	if err := buildExample(ctx); err != nil {
		return err
	}
	return inMachine(ctx, "useradd -m alice && useradd -m bob && loginctl enable-linger alice && "+awaitAlice)
}

// awaitAlice waits until alice's manager is on her bus.
const awaitAlice = "for i in $(seq 300); do runuser -u alice -- env XDG_RUNTIME_DIR=/run/user/$(id -u alice) " +
	"busctl --user status org.freedesktop.systemd1 >/dev/null 2>&1 && exit 0; sleep 0.1; done; exit 1"

func inMachine(ctx context.Context, script string) error {
	text, err := machine.Command(ctx, "/bin/sh", "-c", script).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s: %w: %s", script, err, text)
	}
	return nil
}

// check has the program check something, for the manager of the user named, or the system's.
func check(t *testing.T, user string, args ...string) {
	t.Helper()
	command := []string{program}
	if user != "" {
		command = append(as(user), program, "-user")
	}
	runs(t, append(command, args...)...)
}

// as begins a command that a user runs, without a session of his.
func as(user string) []string {
	return []string{"runuser", "-u", user, "--", "env", "HOME=/home/" + user}
}

func runs(t *testing.T, command ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	cmd := machine.Command(ctx, command[0], command[1:]...)
	cmd.Env = []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/root"}
	text, err := cmd.CombinedOutput()
	assert.NoError(t, err, "%s", text)
	t.Logf("%s", text)
}

// managers are the users whose managers are tested, "" for the system's.
var managers = []string{"", "alice"}

// both has the program check something on both managers, side by side.
func both(t *testing.T, args ...string) {
	for _, user := range managers {
		t.Run("user "+user, func(t *testing.T) {
			t.Parallel()
			check(t, user, args...)
		})
	}
}

// The contract of fleet.Fleet and of all its upgrades.
func TestContract(t *testing.T) { both(t, "contract") }

// A controller leads a group through its life, an update included.
func TestGroup(t *testing.T) { both(t, "group") }

// Units that a reboot takes away keep it as well.
func TestContractAtRuntime(t *testing.T) {
	check(t, "", "-runtime", "contract")
	check(t, "alice", "-runtime", "contract")
}

// A watch tells of a change within 50 ms, of other programs' changes, too, and not of its reader's looks.
func TestWatch(t *testing.T) {
	for _, what := range []string{"watch", "quiet", "others"} {
		t.Run(what, func(t *testing.T) { both(t, what) })
	}
}

// Names that the host has from elsewhere are refused; files changed by hand are noticed; drop-ins are left alone; what
// systemd can't load, or start, is told.
func TestOtherHands(t *testing.T) {
	for _, what := range []string{"foreign", "hand", "bad"} {
		t.Run(what, func(t *testing.T) { both(t, what) })
	}
}

// Units go through their lives while systemd is reloaded, starts itself anew, and loses D-Bus.
func TestDisturbed(t *testing.T) {
	for _, what := range []string{"reload", "reexec", "dbus", "clean"} {
		t.Run(what, func(t *testing.T) { both(t, what) })
	}
}

// A program that is killed at any moment leaves nothing half-written, and a repeat heals.
func TestKilled(t *testing.T) { both(t, "killed") }

// 500 units in at most twice the time that systemctl takes, step by step.
func TestSpeed(t *testing.T) { check(t, "", "speed") }

// What is missing is told: the manager of a user who is not logged in, and the permission to change what is root's.
func TestMissing(t *testing.T) {
	check(t, "bob", "unavailable")
	check(t, "", "prepare")
	runs(t, append(as("bob"), program, "denied")...)
	check(t, "", "verify")
}

// What is desired outlasts a reboot.
func TestReboot(t *testing.T) {
	both := func(what string) {
		for _, user := range managers {
			check(t, user, what)
		}
	}
	both("prepare")
	reboot(t)
	both("verify")
}

// reboot shuts the machine down and starts it again, without fleetd.
func reboot(t *testing.T) {
	t.Helper()
	require.NoError(t, machine.Shutdown(t.Context()))
	require.NoError(t, machine.Start(t.Context()))
	require.NoError(t, machine.StopFleetd(t.Context()))
	require.NoError(t, inMachine(t.Context(), awaitAlice))
}
