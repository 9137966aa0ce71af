// Command keeper clears away a cluster, whose directory is its argument, as soon as its standard input ends: its parent
// holds the other end, so that also a parent that was killed leaves nothing. Signals from a terminal don't end it. Its exit
// status is 1 where something could not be removed; what, stands on standard error.
package main

import (
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/squadronctl/squadron/integration/cluster/remains"
)

func main() {
	signal.Ignore(syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGPIPE)
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "keeper: needs the directory of a cluster as its argument")
		os.Exit(2)
	}
	// Nothing is ever sent.
	_, _ = io.Copy(io.Discard, os.Stdin)
	if err := remains.Remove(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "keeper:", err)
		os.Exit(1)
	}
}
