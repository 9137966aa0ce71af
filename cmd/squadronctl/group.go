package main

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/squadronctl/squadron/cmd/squadronctl/internal/brace"
	"github.com/squadronctl/squadron/cmd/squadronctl/internal/groupdir"
	"github.com/squadronctl/squadron/controller"
	"github.com/squadronctl/squadron/validator"
)

// target is the group that a command line names.
type target struct {
	// path is what stands before the slices: a directory or a name.
	path string
	// ids are the slices named, in order, each once.
	ids []string
	// number is the number of slices given; 0 for none.
	number int
}

// groupName is how a group or one slice of it is named on the command line and in results.
func groupName(group, slice string) string {
	if slice == "" {
		return group
	}
	return group + "@" + slice
}

// parseTarget reads a command's arguments: a group once, or several times with slices of it as a shell expands web@{1,2},
// and, where a number may be given, that as the last one.
func parseTarget(args []string, numbered bool) (target, error) {
	var t target
	if numbered && len(args) > 1 {
		if number, err := strconv.Atoi(args[len(args)-1]); err == nil {
			if number < 1 {
				return t, usagef("%d slices: the number has to be 1 or more; \"squadronctl destroy\" removes a group", number)
			}
			t.number, args = number, args[:len(args)-1]
		}
	}
	whole := false
	named := map[string]bool{}
	for _, arg := range args {
		words, err := brace.Expand(arg)
		if err != nil {
			return t, usageError{err: err}
		}
		for _, word := range words {
			path, id, sliced, err := parseGroup(word)
			switch {
			case err != nil:
				return t, err
			case t.path != "" && filepath.Clean(path) != filepath.Clean(t.path):
				return t, notOneGroup(t.path, word, numbered)
			}
			t.path = path
			whole = whole || !sliced
			if sliced && !named[id] {
				named[id] = true
				t.ids = append(t.ids, id)
			}
		}
	}
	if whole {
		t.ids = nil // the whole group, of which slices named beside it are a part
	}
	return t, nil
}

// parseGroup reads a word that stands for a group or for one slice of it.
func parseGroup(word string) (path, id string, sliced bool, err error) {
	path, id, sliced = splitGroup(word)
	name, suffix := validator.SplitSuffix(id)
	switch {
	case path == "":
		err = usagef("%.256q names no group", word)
	case sliced && id == "":
		err = usagef("%.256q names no slice after the @", word)
	case strings.Contains(id, ","):
		err = usagef("%.256q: several slices are written %.256s@{%.256s}", word, path, id)
	case suffix != "":
		err = usagef("%.256q names a unit, but a GROUP is needed: a slice is named as in %.256s", word, groupName(path, name))
	}
	return path, id, sliced, err
}

// notOneGroup is the error of a word that is about another group than those before it. Where a number of slices may be
// given it is rather a mistyped one.
func notOneGroup(path, word string, numbered bool) error {
	if numbered && !strings.ContainsAny(word, "@/") {
		return usagef("%.256q is no number of slices, and one command is about one group, here %.256s", word, path)
	}
	return usagef("one group at a time, not %.256s and %.256s", path, word)
}

// splitGroup cuts a word at the @ of its last part: directories on the way may have one in their names.
func splitGroup(word string) (path, id string, sliced bool) {
	last := strings.LastIndex(word, "/") + 1
	name, id, sliced := strings.Cut(word[last:], "@")
	return word[:last] + name, id, sliced
}

// isPath says that an argument is meant as a directory, and not as a name.
func isPath(arg string) bool { return strings.Contains(arg, "/") || arg == "." || arg == ".." }

// withFiles gives the request about a group of which the unit files are needed.
func (t target) withFiles(a *app) (controller.Request, error) {
	group, err := groupdir.Read(t.path)
	if err != nil {
		return controller.Request{}, usageError{err: err}
	}
	if len(group.Others) > 0 {
		a.logger().Info(a.interrupts.context, "left out, since they are not named like units: %s", strings.Join(group.Others, ", "))
	}
	req := controller.NewRequest(controller.RequestConfig{Group: group.Name, SliceIDs: t.ids})
	req.Units = group.Units
	return req, nil
}

// withoutFiles gives the request about a group that is on the cluster. A path stands for its directory, whose files say
// which units are meant; a name is a name, even where there is a directory of that name.
func (t target) withoutFiles(a *app) (controller.Request, error) {
	if isPath(t.path) {
		return t.withFiles(a)
	}
	return controller.NewRequest(controller.RequestConfig{Group: t.path, SliceIDs: t.ids}), nil
}

// isSliced says that a request's units are templates, of which each slice gets a copy.
func isSliced(req controller.Request) bool {
	return slices.ContainsFunc(req.Units, func(unit controller.Unit) bool { return strings.Contains(unit.Name, "@.") })
}

// groupArgs checks the number of arguments.
func groupArgs(least int) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) >= least {
			return nil
		}
		if least > 1 {
			return fmt.Errorf("a GROUP and a number of slices are needed")
		}
		return fmt.Errorf("a GROUP is needed: a directory of unit files, or a group's name")
	}
}
