// Package tunnel_test takes the SSH tunnel to OpenSSH's own server: logins, host keys, both ways of reaching an endpoint,
// the limits that a server sets, and what happens when one dies or falls silent. The far end is the simulated cluster; one
// test goes to a real one.
package tunnel_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"

	"github.com/squadronctl/squadron/integration/cluster"
)

// binaries is a directory that has fleetctl in it.
var binaries string

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	// Tests name their own.
	if err := os.Unsetenv("SSH_AUTH_SOCK"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	var err error
	if binaries, err = os.MkdirTemp("", "tunnel-"); err == nil {
		defer os.RemoveAll(binaries)
		err = provideFleetctl(context.Background())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	code := m.Run()
	if code == 0 {
		if err := goleak.Find(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	}
	return code
}

// provideFleetctl copies the real fleetctl to where the server's user can run it.
func provideFleetctl(ctx context.Context) error {
	built, err := cluster.Build(ctx, "fleetctl")
	if err != nil {
		return err
	}
	program, err := os.ReadFile(built)
	if err != nil {
		return err
	}
	if err := os.Chmod(binaries, 0o755); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(binaries, "fleetctl"), program, 0o755)
}
