package units

import (
	"errors"
	"fmt"
	"strings"

	"github.com/squadronctl/squadron/controller"
	"github.com/squadronctl/squadron/stack"
	"github.com/squadronctl/squadron/validator"
)

// check finds what is wrong with a manifest whatever stack it is of.
func (m Manifest) check(places lines) error {
	if len(m.Units) == 0 {
		return inText(0, "there is no unit file in it: a line \"-- NAME --\" begins one")
	}
	seen := map[string]int{}
	for i, unit := range m.Units {
		first, again := seen[unit.Name]
		switch err := checkName(unit.Name); {
		case err != nil:
			return inText(places.ofUnit(i), "%w", err)
		case again:
			return inText(places.ofUnit(i), "unit %s is there a second time, after line %d", unit.Name, places.ofUnit(first))
		case isTemplate(unit.Name) != m.sliced():
			return inText(places.ofUnit(i), "units %s and %s: one is of a slice, the other is not", m.Units[0].Name, unit.Name)
		}
		seen[unit.Name] = i
		if err := checkContent(unit); err != nil {
			return err
		}
	}
	return m.checkHeader(places)
}

// checkName refuses a name that a unit of a group can't have.
func checkName(name string) error {
	if err := validator.TemplateName(name); err != nil {
		return err
	}
	if err := validator.AgentRuns(name); err != nil {
		return err
	}
	stem, _ := validator.SplitSuffix(name)
	switch at := strings.Index(stem, "@"); {
	case strings.Count(stem, "@") > 1:
		return fmt.Errorf("unit %.256q has more than one @ in its name", name)
	case at >= 0 && at != len(stem)-1:
		return fmt.Errorf("unit %.256q is of one slice: declare the template, as in web@.service", name)
	}
	return nil
}

// checkContent refuses a unit file that a cluster would not take as it stands.
func checkContent(unit controller.Unit) error {
	if err := validator.UnitFile(unit.Name, unit.Content); err != nil {
		var finding validator.Finding
		if errors.As(err, &finding) {
			return &stack.ManifestError{File: unit.Name, Line: finding.Line, Err: errors.New(finding.Rule)}
		}
		return &stack.ManifestError{File: unit.Name, Err: err}
	}
	options, err := optionsOf(unit.Content)
	if err != nil {
		return &stack.ManifestError{File: unit.Name, Err: err}
	}
	for _, option := range options {
		if option.section == stampSection {
			return &stack.ManifestError{File: unit.Name, Line: option.line,
				Err: fmt.Errorf("the section %s is for what a stack is stamped with", stampSection)}
		}
	}
	return nil
}

// CheckName finds what is wrong with a manifest as that of the stack of this name, which is a *stack.ManifestError: the name
// can't be that of a group, or a unit's name does not begin with it.
func (m Manifest) CheckName(name string) error {
	if err := checkStackName(name); err != nil {
		return &stack.ManifestError{Err: err}
	}
	for _, unit := range m.Units {
		request := requestFor(name)
		request.Units = []controller.Unit{{Name: unit.Name}}
		if _, err := controller.ValidateRequest(request); err != nil {
			return &stack.ManifestError{File: unit.Name, Err: err}
		}
	}
	return nil
}

// requestFor is a request for the group that a stack is.
func requestFor(name string) controller.Request {
	return controller.Request{RequestConfig: controller.RequestConfig{Group: name}}
}

// checkStackName refuses a name that no group can have.
func checkStackName(name string) error {
	request := requestFor(name)
	// Any unit will do whose name is right: the group's is looked at as well.
	request.Units = []controller.Unit{{Name: name + ".service"}}
	_, err := controller.ValidateRequest(request)
	return err
}
