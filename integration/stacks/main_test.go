// Package stacks_test takes declared stacks to the real thing, by squadronctl as it is built for users: to a cluster of three
// machines, and to one host's systemd. Somebody changes things by hand, a manifest changes or goes, two owners share the
// cluster, a reconciler is killed, and one runs as a unit on the cluster and replaces itself. What is asserted is what the
// cluster is like, as seen from outside, and what the command says.
package stacks_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/squadronctl/squadron/integration/cluster"
	"github.com/squadronctl/squadron/integration/groups/bench"
)

// site is the cluster that all stacks live on, and single the one machine whose systemd has stacks without fleet.
var (
	site   = &bench.Site{Machines: 3, Pause: 100 * time.Millisecond}
	single = &bench.Site{Machines: 1}
)

// program is the squadronctl that was built.
var program string

// inside is where a machine has it.
const inside = "/usr/local/bin/squadronctl"

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
	return bench.Run(m, site, single)
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

// bring puts the program into a machine. Another program writes it: one that is open for writing here, and in all that this
// program starts meanwhile, could not be run.
func bring(machine *cluster.Machine) error {
	text, err := exec.Command("cp", program, filepath.Join(machine.Root(), inside)).CombinedOutput()
	if err != nil {
		return fmt.Errorf("copy squadronctl to %s: %w: %s", machine.Name, err, text)
	}
	return nil
}
