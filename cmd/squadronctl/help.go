package main

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// helpCommand is cobra's, but refuses what there is no help on.
func helpCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND|TOPIC]",
		Short: "Show the help of a command, or a topic",
		ValidArgsFunction: func(command *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			var names []string
			for _, page := range command.Root().Commands() {
				if len(args) == 0 && !page.Hidden {
					names = append(names, page.Name()+"\t"+page.Short)
				}
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		},
		Args: func(command *cobra.Command, args []string) error {
			if _, rest, err := command.Root().Find(args); err != nil || len(rest) > 0 {
				return fmt.Errorf("there is no help on %q", strings.Join(args, " "))
			}
			return nil
		},
		RunE: func(command *cobra.Command, args []string) error {
			page, _, err := command.Root().Find(args)
			if err != nil {
				return err
			}
			page.InitDefaultHelpFlag()
			return page.Help()
		},
	}
}

// noSuchCommand refuses what is left of a command line in which no command was found.
func noSuchCommand(root *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	if found, _, err := root.Find(args[:1]); err == nil && found != root {
		return fmt.Errorf("the command %q has to stand before --", args[0])
	}
	const letters = 2 // so many may differ, and half of a short word
	root.SuggestionsMinimumDistance = min(letters, len(args[0])/2)
	if alike := root.SuggestionsFor(args[0]); len(alike) > 0 {
		return fmt.Errorf("there is no command %q; did you mean %s?", args[0], strings.Join(alike, ", "))
	}
	return fmt.Errorf("there is no command %q", args[0])
}

// noArgs refuses arguments.
func noArgs(command *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return fmt.Errorf("%s takes no arguments, such as %q", command.Name(), args[0])
}

// flagError says what is wrong with a flag, in words that don't come from the innards of the parser.
func flagError(_ *cobra.Command, err error) error {
	var invalid *pflag.InvalidValueError
	if errors.As(err, &invalid) {
		return fmt.Errorf("--%s %q: %w", invalid.GetFlag().Name, invalid.GetValue(), plainly(invalid.Unwrap()))
	}
	var unknown *pflag.NotExistError
	if errors.As(err, &unknown) {
		if text := unknown.GetSpecifiedShortnames(); text != "" && text[0] >= '0' && text[0] <= '9' {
			return fmt.Errorf("-%s: a number has to be 1 or more", text)
		}
	}
	return err
}

// plainly says what a value has to be that could not be parsed.
func plainly(err error) error {
	var number *strconv.NumError
	switch {
	case !errors.As(err, &number):
		return err
	case number.Func == "ParseBool":
		return errors.New("it has to be true or false")
	default:
		return errors.New("it has to be a whole number")
	}
}
