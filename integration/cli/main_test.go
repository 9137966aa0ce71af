// Package cli_test takes squadronctl, as it is built for users, to a real cluster of three machines: directly, through the
// SSH tunnel, and through a proxy that wants client certificates. What is asserted is what the cluster is like, as seen
// from outside, and what the command says: exit codes, standard output, standard error.
package cli_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/squadronctl/squadron/integration/groups/bench"
)

// site is the one cluster that all groups live on.
var site = &bench.Site{Machines: 3, Pause: 100 * time.Millisecond}

// program is the squadronctl that was built.
var program string

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "squadronctl-")
	if err == nil {
		defer os.RemoveAll(dir)
		program = filepath.Join(dir, "squadronctl")
		err = build(program)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return bench.Run(m, site)
}

// build builds the command as it is released: static, and without the race detector.
func build(output string) error {
	command := exec.Command("go", "build", "-buildvcs=false", "-o", output, "./cmd/squadronctl")
	command.Dir = filepath.Join("..", "..")
	command.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=", "GOWORK=off")
	if text, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("build squadronctl: %w\n%s", err, text)
	}
	return nil
}
