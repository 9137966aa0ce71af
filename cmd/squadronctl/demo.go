package main

import (
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/squadronctl/squadron/cmd/squadronctl/internal/demo"
	"github.com/squadronctl/squadron/fleet/fleettest"
)

func (a *app) demoCommand() *cobra.Command {
	var config demo.Config
	pace := "pleasant"
	command := &cobra.Command{
		Use:   "demo",
		Short: "Run a simulated cluster to try the commands on",
		Long: `Runs a simulated cluster of three machines with a few groups on it, says how to reach it and what to try, and waits until it is
interrupted. Nothing is run in truth, and nothing of it stays but the unit files in --dir, where that is given.`,
		Example:           "  squadronctl demo",
		Args:              noArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(*cobra.Command, []string) error {
			config.Out = a.out
			switch pace {
			case "fast":
				config.Timing = fleettest.Fast()
			case "instant":
				config.Timing = fleettest.Timing{Load: 1} // the zero Timing is a pleasant pace
			}
			if config.Socket != "" {
				var err error
				if config.Socket, err = filepath.Abs(config.Socket); err != nil {
					return fmt.Errorf("demo: %w", err)
				}
			}
			return demo.Run(a.interrupts.context, config)
		},
	}
	flags := command.Flags()
	flags.StringVar(&config.Socket, "socket", "", "the `path` of the unix socket that the cluster listens on")
	flags.StringVar(&config.Dir, "dir", "", "the `directory` that the groups' unit files are written to; by default one that is removed in the end")
	flags.Var(&choice{value: &pace, choices: []string{"pleasant", "fast", "instant"}}, "pace", "how fast the cluster is")
	_ = command.MarkFlagDirname("dir") // it exists
	completeFlag(command, "pace", "pleasant", "fast", "instant")
	return command
}
