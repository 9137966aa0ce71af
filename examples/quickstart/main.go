// The quickstart takes a group of units through its whole life: submitted, started, updated slice by slice while
// enough of it keeps running, stopped and destroyed. It says what happens as it happens.
//
//	go run ./examples/quickstart
//
// Without arguments it brings a simulated fleet cluster of three machines along. With -endpoint it does the same on a
// real one. Ctrl-C ends it, and takes away what it has put on the cluster; a second Ctrl-C ends it at once.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // so that a second signal is not caught
	err := run(ctx, os.Args[1:], os.Stdout)
	switch {
	case errors.Is(err, flag.ErrHelp):
	case err != nil:
		fmt.Fprintln(os.Stderr, "quickstart:", err)
		os.Exit(1)
	}
}

// run is the program, apart from its process.
func run(ctx context.Context, args []string, out io.Writer) error {
	o, err := parseOptions(args, out)
	if err != nil {
		return err
	}
	req, err := readGroup(o.group)
	if err != nil {
		return err
	}
	e, err := newEnvironment(o)
	if err != nil {
		return err
	}
	defer e.close()
	s := story{environment: e, out: out, req: req}
	return s.tell(ctx)
}

// options are what the command line says.
type options struct {
	group    string
	endpoint string
}

func parseOptions(args []string, out io.Writer) (options, error) {
	var o options
	flags := flag.NewFlagSet("quickstart", flag.ContinueOnError)
	flags.SetOutput(io.Discard) // an error is reported once, by main
	flags.StringVar(&o.group, "group", "examples/groups/webshop", "the `directory` of the group's unit files; its name is the group's name")
	flags.StringVar(&o.endpoint, "endpoint", "", "the `URL` of a real cluster: http://host:port, https://host:port or unix:///path; without it a simulated one is used")
	err := flags.Parse(args)
	if errors.Is(err, flag.ErrHelp) {
		flags.SetOutput(out)
		fmt.Fprintln(out, "Takes a group of units through its life on a fleet cluster.")
		flags.PrintDefaults()
		return o, err
	}
	if err == nil && flags.NArg() > 0 {
		err = fmt.Errorf("%q is no flag; see -help", flags.Arg(0))
	}
	return o, err
}
