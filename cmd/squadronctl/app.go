package main

import (
	"context"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/squadronctl/squadron/cmd/squadronctl/internal/progress"
)

// app is what all commands share: the streams, the environment, the settings of the command line, and the interrupts.
type app struct {
	in         io.Reader
	out        io.Writer    // results only
	err        *console     // all else
	cobra      *cobraOutput // out, for help
	env        map[string]string
	now        func() time.Time
	interrupts *interrupts
	settings   settings
	// started says that the command line has been understood, and the command itself has begun.
	started bool
}

func newApp(env []string, stdin io.Reader, stdout, stderr io.Writer) *app {
	a := &app{in: stdin, out: stdout, err: &console{out: stderr}, cobra: &cobraOutput{out: stdout}, env: map[string]string{}, now: time.Now}
	for _, variable := range env {
		name, value, _ := strings.Cut(variable, "=")
		a.env[name] = value
	}
	a.interrupts = catchInterrupts()
	return a
}

// context ends with the first interrupt, or after the time that --timeout allows.
func (a *app) context() (context.Context, context.CancelFunc) {
	return context.WithTimeout(a.interrupts.context, a.settings.timeout)
}

// isTerminal says that a stream is a terminal.
func isTerminal(stream any) bool {
	file, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}

// draws says that a stream is a terminal on which lines may be drawn in place.
func (a *app) draws(stream any) bool {
	return isTerminal(stream) && a.env["NO_COLOR"] == "" && a.env["TERM"] != "" && a.env["TERM"] != "dumb"
}

// display begins to show progress on a stream.
func (a *app) display(stream io.Writer) *progress.Display {
	draws := a.draws(stream)
	config := progress.Config{Out: stream, Terminal: draws, Color: draws, Now: a.now}
	if file, ok := stream.(*os.File); ok && draws {
		config.Width = func() int { width, _, _ := term.GetSize(int(file.Fd())); return width }
		config.Height = func() int { _, height, _ := term.GetSize(int(file.Fd())); return height }
	}
	return progress.New(config)
}

// clusterless is the group of the commands that don't talk to a cluster.
const clusterless = "clusterless"

// root makes the tree of commands.
func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "squadronctl",
		Short: "Operate groups of systemd units on a cluster",
		Long: `Squadronctl submits, starts, stops, destroys and updates groups of systemd units on a fleet cluster, or on one host's systemd.

A group is a directory of unit files whose names begin with the directory's; a slice is one copy of it. Begin with
"squadronctl demo", which runs a cluster to try the commands on.`,
		SilenceErrors:     true,
		SilenceUsage:      true,
		DisableAutoGenTag: true,
		Args:              noSuchCommand,
		RunE:              func(command *cobra.Command, _ []string) error { return command.Help() },
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},
		Version:           readVersion().Version,
	}
	root.SetVersionTemplate("squadronctl {{.Version}}\n")
	root.SetFlagErrorFunc(flagError)
	root.SetHelpCommand(helpCommand())
	root.SetIn(a.in)
	root.SetOut(a.cobra)
	root.SetErr(a.err)
	root.PersistentPreRunE = func(command *cobra.Command, _ []string) error { return a.begin(command) }
	a.addSettings(root)
	addCommands(root, "life", "A group's life:", a.submitCommand(), a.startCommand(), a.stopCommand(), a.destroyCommand(), a.upCommand())
	addCommands(root, "roll", "A few slices at a time:", a.updateCommand(), a.restartCommand(), a.scaleCommand(), a.planCommand())
	addCommands(root, "stacks", "Declared stacks:", a.applyCommand(), a.diffCommand(), a.driftCommand())
	addCommands(root, "look", "What is there:", a.statusCommand(), a.watchCommand(), a.listCommand(), a.machinesCommand(), a.catCommand())
	addCommands(root, clusterless, "Without a cluster:", a.validateCommand(), a.demoCommand(), a.versionCommand(), a.completionCommand())
	root.SetHelpCommandGroupID(clusterless)
	root.AddCommand(topics()...)
	return root
}

// addCommands adds commands that help lists together.
func addCommands(root *cobra.Command, id, title string, commands ...*cobra.Command) {
	root.AddGroup(&cobra.Group{ID: id, Title: title})
	for _, command := range commands {
		command.GroupID = id
		root.AddCommand(command)
	}
}

// begin settles what the command line leaves open, before a command runs that needs a cluster. Others, such as help, must
// not fail because of settings that they don't need.
func (a *app) begin(command *cobra.Command) error {
	if command.GroupID != "" && command.GroupID != clusterless {
		if err := a.settle(command.Flags()); err != nil {
			return hinted{err: err, hint: `see "squadronctl help configuration"`}
		}
	}
	a.started = true
	return nil
}
