// Squadronctl operates groups of systemd units on a fleet cluster, or on one host. It is built on nothing but what the
// packages of this module export.
//
//	squadronctl demo
//	squadronctl up ./web 3
//	squadronctl status web
//
// docs/cli.md describes the commands.
package main

import (
	"io"
	"os"
)

func main() {
	os.Exit(run(os.Args[1:], os.Environ(), os.Stdin, os.Stdout, os.Stderr))
}

// run is the program, apart from its process: it carries a command line out and gives the exit code. While it runs it
// takes the process's interrupts.
func run(args, env []string, stdin io.Reader, stdout, stderr io.Writer) int {
	a := newApp(env, stdin, stdout, stderr)
	defer a.interrupts.end()
	root := a.root()
	root.SetArgs(args)
	command, err := root.ExecuteC()
	switch {
	case a.cobra.err != nil:
		err = a.cobra.err
	case err != nil && !a.started:
		err = usageError{err: err, command: command.CommandPath()}
	}
	return a.report(err)
}
