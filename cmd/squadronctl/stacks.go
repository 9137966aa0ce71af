package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/squadronctl/squadron/cmd/squadronctl/internal/composedir"
	"github.com/squadronctl/squadron/cmd/squadronctl/internal/stackdir"
	"github.com/squadronctl/squadron/prune"
	"github.com/squadronctl/squadron/reconcile"
	"github.com/squadronctl/squadron/stack/revision"
)

// stackFlags are what the commands about declared stacks have in common.
type stackFlags struct {
	engineFlags
	owner string
	state string
	form  string
}

func (a *app) addStackFlags(command *cobra.Command, f *stackFlags) {
	flags := command.Flags()
	flags.SortFlags = false
	flags.StringVar(&f.owner, "owner", "squadronctl", "the `name` that is stamped on what is deployed, as whose it is (SQUADRON_OWNER)")
	flags.StringVar(&f.state, "state", "", "the `directory` that keeps what was deployed (SQUADRON_STATE); by default squadron in $XDG_STATE_HOME or ~/.local/state, and /var/lib/squadron as root")
	_ = command.MarkFlagDirname("state") // it exists
	completeFlag(command, "owner")
	a.addEngineFlags(command, &f.engineFlags)
	addOutput(command, &f.form, formTable, formWide, formJSON, formYAML, formName)
}

// settleStacks fills in what the command line leaves open of these flags.
func (a *app) settleStacks(command *cobra.Command, f *stackFlags) error {
	for _, flag := range []string{"owner", "state"} {
		if err := a.fromEnvironment(command.Flags(), flag, []string{"SQUADRON_" + strings.ToUpper(flag)}); err != nil {
			return err
		}
	}
	if err := a.checkEngine(command.Flags(), f.engine); err != nil {
		return err
	}
	if f.owner == "" {
		return usagef("--owner has to be a name")
	}
	if f.state != "" {
		return nil
	}
	switch {
	case a.env["XDG_STATE_HOME"] != "":
		f.state = filepath.Join(a.env["XDG_STATE_HOME"], "squadron")
	case os.Geteuid() == 0:
		f.state = "/var/lib/squadron"
	case a.env["HOME"] != "":
		f.state = filepath.Join(a.env["HOME"], ".local", "state", "squadron")
	default:
		return usagef("say with --state where to keep what was deployed: there is no home directory")
	}
	return nil
}

// stackDirArgs checks the arguments of a command about a directory of stacks.
func stackDirArgs(_ *cobra.Command, args []string) error {
	if len(args) != 1 {
		return fmt.Errorf("one DIR is needed: a directory of manifests and of groups' directories")
	}
	return nil
}

// stackSession is a connection to an owner's stacks.
type stackSession struct {
	app    *app
	owner  string
	engine stackEngine
	store  *revision.Directory
}

// withStacks runs what needs such a connection. Files are those that compose files name. The context ends with the first
// interrupt, and work has to come to a clean end then; a second one leaves it behind.
func (a *app) withStacks(f stackFlags, files *composedir.Source, work func(context.Context, *stackSession) error) error {
	s := &stackSession{app: a, owner: f.owner}
	var err error
	if s.store, err = revision.NewDirectory(f.state); err != nil {
		return usageError{err: err}
	}
	engine, end, err := a.newEngine(f.engineFlags, s.store, files)
	if err != nil {
		return err
	}
	s.engine = engine
	ended := make(chan error, 1) // with room, for one that is left behind
	go func() { ended <- work(a.interrupts.context, s) }()
	left, err := a.await(ended)
	if left {
		return err
	}
	end()
	if err != nil && a.interrupts.first() {
		if f.engine == engineSwarm {
			return fmt.Errorf("%w; the swarm goes on with what it was told, and the same command looks again", errInterrupted)
		}
		return fmt.Errorf("%w, and what was under way has been brought to its end", errInterrupted)
	}
	return err
}

// await waits for what is under way. After a second interrupt it is left to end with the process.
func (a *app) await(ended <-chan error) (left bool, err error) {
	select {
	case err := <-ended:
		return false, err
	case <-a.interrupts.context.Done():
		fmt.Fprintln(a.err, "interrupted, and coming to a clean end; Ctrl-C again leaves at once")
	}
	select {
	case err := <-ended:
		return false, err
	case <-a.interrupts.second:
		return true, fmt.Errorf("left at once, %w", errInterrupted)
	}
}

// source is a directory of stacks, as a reconciler asks for it and a sweep goes by it.
type source struct {
	app      *app
	list     func() (stackdir.Listing, error)
	template reconcile.Declared // what is the same for all stacks
	last     []reconcile.Declared
	err      error // of the last reading, where nothing is known of what is declared
}

// newSource reads a directory in the manner of an engine. Files are those that compose files name; nil where there are none.
func (a *app) newSource(dir string, f engineFlags) (s *source, files *composedir.Source) {
	s = &source{app: a, template: reconcile.Declared{Allow: f.allow}}
	read := func() (stackdir.Listing, error) { return stackdir.Read(dir) }
	if f.engine == engineSwarm {
		files = composedir.New(dir, a.lookup)
		read, s.template.Credentials = files.Read, a.dockerCredentials()
	}
	s.list = func() (stackdir.Listing, error) {
		listing, err := read()
		if err == nil {
			err = refuseOtherEngine(dir, f.engine, listing)
		}
		return listing, err
	}
	return s, files
}

// refuseOtherEngine refuses a directory that declares nothing for this engine and something for the other: it would be taken for
// one that wants nothing to be there.
func refuseOtherEngine(dir, engine string, listing stackdir.Listing) error {
	if len(listing.Stacks)+len(listing.Faults) > 0 {
		return nil
	}
	other, declares := engineSwarm, composedir.Declares
	if engine == engineSwarm {
		other, declares = engineUnits, stackdir.Declares
	}
	for _, name := range listing.Others {
		if path := filepath.Join(dir, name); declares(path) {
			return fmt.Errorf("read the declared stacks: there is none for the engine %s, but %s is for --engine %s", engine, path, other)
		}
	}
	return nil
}

// read is a reconcile.Source.
func (s *source) read(ctx context.Context) ([]reconcile.Declared, []error) {
	listing, err := s.list()
	s.last, s.err = nil, err
	if err != nil {
		return nil, []error{err}
	}
	if len(listing.Others) > 0 {
		s.app.logger().Info(ctx, "left out, since they are no manifests: %s", strings.Join(listing.Others, ", "))
	}
	for _, declared := range listing.Stacks {
		d := s.template
		d.Name, d.Manifest, d.Wave, d.File = declared.Name, declared.Manifest, declared.Wave, declared.File
		s.last = append(s.last, d)
	}
	return s.last, listing.Faults
}

// check refuses a directory that can't be one of stacks, before anything else is done.
func (s *source) check() error {
	if _, err := s.list(); err != nil {
		return usageError{err: err}
	}
	return nil
}

// sweep removes what is not declared, or says what it would remove. It is for after a pass in which all that is declared
// could be read: keep says of a stack that it is to be left alone.
func (s *stackSession) sweep(ctx context.Context, declared *source, dryRun bool, keep func(name string) bool) (prune.Report, error) {
	config := prune.Config{Backend: s.engine, Owner: s.owner, Store: s.store, Complete: true, DryRun: dryRun, Logger: s.app.logger()}
	for _, d := range declared.last {
		config.Declared = append(config.Declared, prune.Declared{Name: d.Name, Manifest: d.Manifest, Keep: keep(d.Name)})
	}
	return prune.Sweep(ctx, config)
}
