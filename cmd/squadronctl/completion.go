package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/squadronctl/squadron/fleet"
)

// completionTime is how long completing a word may take.
const completionTime = 2 * time.Second

func (a *app) completionCommand() *cobra.Command {
	shells := []string{"bash", "zsh", "fish", "powershell"}
	return &cobra.Command{
		Use:   "completion bash|zsh|fish|powershell",
		Short: "Write a script that completes commands in a shell",
		Long: `Writes a script by which a shell completes commands, flags, and the groups, slices and units that are on the cluster. Load it where
the shell starts:

  bash        source <(squadronctl completion bash)        # needs the package bash-completion
  zsh         source <(squadronctl completion zsh)
  fish        squadronctl completion fish | source
  powershell  squadronctl completion powershell | Out-String | Invoke-Expression`,
		ValidArgs: shells,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 || !slices.Contains(shells, args[0]) {
				return fmt.Errorf("a shell is needed: %s", strings.Join(shells, ", "))
			}
			return nil
		},
		RunE: func(command *cobra.Command, args []string) error {
			if err := writeCompletion(command.Root(), args[0], a.out); err != nil {
				return outputError{err: err}
			}
			return nil
		},
	}
}

func writeCompletion(root *cobra.Command, shell string, out io.Writer) error {
	switch shell {
	case "zsh":
		return root.GenZshCompletion(out)
	case "fish":
		return root.GenFishCompletion(out, true)
	case "powershell":
		return root.GenPowerShellCompletionWithDesc(out)
	}
	// bash cuts words at @, which stands before a slice, unless it is told not to.
	if _, err := io.WriteString(out, "COMP_WORDBREAKS=${COMP_WORDBREAKS//@}\n"); err != nil {
		return err
	}
	return root.GenBashCompletionV2(out, true)
}

// completeDirectories is for commands that need the files of a group, or of stacks.
func completeDirectories(_ *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	return nil, cobra.ShellCompDirectiveFilterDirs
}

// completeContexts offers the contexts of the configuration file.
func (a *app) completeContexts(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	path, _ := a.configFile()
	config, _ := readConfiguration(path) // nothing is offered from one that can't be read
	return sortedKeys(config.Contexts), cobra.ShellCompDirectiveNoFileComp
}

// completeOneGroup is completeGroups for a command that takes one group and no slices.
func (a *app) completeOneGroup(command *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return a.completeGroups(command, args, word)
}

// completeGroups offers what is on the cluster: groups, and after an @ the slices of one, or slices of the group that was
// named before. A path is completed as such.
func (a *app) completeGroups(command *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
	if isPath(word) || strings.HasPrefix(word, ".") {
		return nil, cobra.ShellCompDirectiveFilterDirs
	}
	var words []string
	group, _, sliced := strings.Cut(word, "@")
	if len(args) > 0 {
		group, _, _ = splitGroup(args[0])
		sliced = true
	}
	for _, unit := range a.unitsToComplete(command) {
		switch {
		case !sliced:
			words = append(words, groupsOf(unit)...)
		case unit.SliceID != "" && mayBelong(unit, group):
			words = append(words, groupName(group, unit.SliceID))
		}
	}
	words = slices.DeleteFunc(words, func(word string) bool { return slices.Contains(args, word) })
	return matching(words, word), cobra.ShellCompDirectiveNoFileComp
}

// completeUnits offers the units that are on the cluster.
func (a *app) completeUnits(command *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var words []string
	for _, unit := range a.unitsToComplete(command) {
		words = append(words, unit.Name)
	}
	return matching(words, word), cobra.ShellCompDirectiveNoFileComp
}

// matching gives those words that go on from what is typed, sorted, each once.
func matching(words []string, typed string) []string {
	words = slices.DeleteFunc(words, func(word string) bool { return !strings.HasPrefix(word, typed) })
	slices.Sort(words)
	return slices.Compact(words)
}

// unitsToComplete lists the cluster's units, quickly and without a word of what goes wrong: it would stand in the middle of
// a line that is being typed.
func (a *app) unitsToComplete(command *cobra.Command) []fleet.UnitDetail {
	if a.settle(command.Flags()) != nil {
		return nil
	}
	a.settings.verbose, a.settings.timeout = 0, completionTime
	backend, tunnel, err := a.backend(-1)
	if err != nil {
		return nil
	}
	defer closeTunnel(tunnel)
	if closer, ok := backend.(io.Closer); ok {
		defer closer.Close()
	}
	reader, ok := backend.(fleet.UnitReader)
	if !ok {
		return nil
	}
	ctx, cancel := context.WithTimeout(a.interrupts.context, completionTime)
	defer cancel()
	listing, err := reader.ReadUnits(ctx, fleet.Selector{})
	if err != nil {
		return nil
	}
	return listing.Units
}

// groupsOf gives the names that a unit's group may have: its stamp or, without one, its name up to any of its hyphens, or
// as a whole.
func groupsOf(unit fleet.UnitDetail) []string {
	if unit.Stamped {
		return []string{unit.Group}
	}
	stem, _, _ := strings.Cut(baseOf(unit.UnitStatus), "@")
	if i := strings.LastIndex(stem, "."); i > 0 {
		stem = stem[:i]
	}
	names := []string{stem}
	for i, r := range stem {
		if r == '-' && i > 0 {
			names = append(names, stem[:i])
		}
	}
	return names
}

// mayBelong says that a unit may be of a group.
func mayBelong(unit fleet.UnitDetail, group string) bool {
	return slices.Contains(groupsOf(unit), group)
}
