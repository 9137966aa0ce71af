package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/squadronctl/squadron/cmd/squadronctl/internal/brace"
	"github.com/squadronctl/squadron/cmd/squadronctl/internal/groupdir"
	"github.com/squadronctl/squadron/controller"
	"github.com/squadronctl/squadron/validator"
)

func (a *app) validateCommand() *cobra.Command {
	var form string
	command := &cobra.Command{
		Use:   "validate GROUP...",
		Short: "Check the unit files of groups",
		Long: `Checks all that can be checked of groups' unit files without a cluster: names, what the cluster would refuse, and what its parser
would drop without a word. Each finding is one line with the file and the line's number. The exit code is 2 where there are
findings.`,
		Example:           "  squadronctl validate ./web\n  squadronctl validate groups/*/",
		Args:              groupArgs(1),
		ValidArgsFunction: completeDirectories,
		RunE:              func(_ *cobra.Command, args []string) error { return a.validate(form, args) },
	}
	addOutput(command, &form, formTable, formWide, formJSON, formYAML, formName)
	return command
}

// validation is what was found out about one group.
type validation struct {
	Group     string    `json:"group"`
	Directory string    `json:"directory"`
	Valid     bool      `json:"valid"`
	Units     int       `json:"units"`
	LeftOut   []string  `json:"leftOut"`
	Findings  []finding `json:"findings"`
}

// finding is one fault. Unit and line are left out where it is of the group as a whole.
type finding struct {
	Unit string `json:"unit,omitempty"`
	Line int    `json:"line,omitempty"`
	Text string `json:"text"`
}

func (a *app) validate(form string, args []string) error {
	var requests []controller.Request
	validations := []validation{}
	faulty := 0
	for _, arg := range args {
		words, err := brace.Expand(arg)
		if err != nil {
			return usageError{err: err}
		}
		for _, word := range words {
			v, req, err := validateGroup(word)
			if err != nil {
				return err
			}
			if !v.Valid {
				faulty++
			}
			requests = append(requests, req)
			validations = append(validations, v)
		}
	}
	if err := a.printValidations(form, validations); err != nil {
		return err
	}
	if _, err := controller.ValidateMultipleRequest(requests); err != nil {
		return usageError{err: err}
	}
	if faulty > 0 {
		return usagef("%d of %d groups can't be used as they are", faulty, len(validations))
	}
	return nil
}

// validateGroup checks the group that a word stands for. The error is of one that can't be read.
func validateGroup(word string) (validation, controller.Request, error) {
	t, err := parseTarget([]string{word}, false)
	if err != nil {
		return validation{}, controller.Request{}, err
	}
	group, err := groupdir.Read(t.path)
	if err != nil {
		return validation{}, controller.Request{}, usageError{err: err}
	}
	req := controller.NewRequest(controller.RequestConfig{Group: group.Name, SliceIDs: t.ids})
	req.Units = group.Units
	v := validation{Group: group.Name, Directory: t.path, Units: len(group.Units), LeftOut: orEmpty(group.Others), Findings: findings(checkFiles(req))}
	v.Valid = len(v.Findings) == 0
	return v, req, nil
}

// checkFiles checks a request as Submit does, without a cluster. The error is a ValidationError with all faults.
func checkFiles(req controller.Request) error {
	var faults controller.ValidationError
	_, err := controller.ValidateRequest(req)
	var known controller.ValidationError
	if errors.As(err, &known) {
		faults = known
	}
	for _, unit := range req.Units {
		if err := validator.TemplateName(unit.Name); err != nil {
			faults.Add(err)
		} else if err := validator.AgentRuns(unit.Name); err != nil {
			faults.Add(err)
		}
		for _, found := range validator.UnitFileFindings(unit.Name, unit.Content) {
			faults.Add(found)
		}
	}
	if len(faults.CausingErrors) == 0 {
		return nil
	}
	return faults
}

// findings takes an error of checkFiles apart.
func findings(err error) []finding {
	list := []finding{}
	var faults controller.ValidationError
	if !errors.As(err, &faults) {
		return list
	}
	for _, fault := range faults.CausingErrors {
		var found validator.Finding
		if errors.As(fault, &found) {
			list = append(list, finding{Unit: found.Unit, Line: found.Line, Text: oneLine(found.Rule)})
		} else {
			list = append(list, finding{Text: oneLine(fault.Error())})
		}
	}
	return list
}

// printValidations writes a line for each finding, as compilers do, and one for each group without.
func (a *app) printValidations(form string, validations []validation) error {
	if form != formTable && form != formWide {
		r := result{data: validations}
		for _, v := range validations {
			if v.Valid {
				r.names = append(r.names, v.Group)
			}
		}
		return a.print(form, r)
	}
	var text strings.Builder
	for _, v := range validations {
		directory := strings.TrimRight(v.Directory, "/")
		for _, found := range v.Findings {
			text.WriteString(findingLine(directory, found))
		}
		if v.Valid {
			fmt.Fprintf(&text, "%s: %d unit files, nothing wrong\n", directory, v.Units)
		}
		if len(v.LeftOut) > 0 {
			fmt.Fprintf(a.err, "%s: left out, since they are not named like units: %s\n", directory, oneLine(strings.Join(v.LeftOut, ", ")))
		}
	}
	return a.write(text.String())
}

func findingLine(directory string, found finding) string {
	switch {
	case found.Unit == "":
		return fmt.Sprintf("%s: %s\n", directory, found.Text)
	case found.Line == 0:
		return fmt.Sprintf("%s/%s: %s\n", directory, oneLine(found.Unit), found.Text)
	default:
		return fmt.Sprintf("%s/%s:%d: %s\n", directory, oneLine(found.Unit), found.Line, found.Text)
	}
}
