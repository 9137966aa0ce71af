package main

import (
	"cmp"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/squadronctl/squadron/prune"
	"github.com/squadronctl/squadron/reconcile"
	"github.com/squadronctl/squadron/stack"
)

// isFailed says that a stack could not be read or deployed, or would not be.
func isFailed(s reconcile.StackReport) bool {
	return s.Err != nil || s.Action == reconcile.ActionFailed || s.Reason == reconcile.ReasonForeign
}

// waits says that a stack was not deployed, since it was not its turn.
func waits(s reconcile.StackReport) bool { return s.Action == reconcile.ActionWaiting }

// show writes the result, and says on standard error what is wrong in it.
func (o outcome) show(a *app, form string) error {
	if err := a.print(form, o.result()); err != nil {
		return err
	}
	fmt.Fprint(a.err, o.complaints())
	return nil
}

// complaints are a line for each manifest that was refused, and for each stack that failed.
func (o outcome) complaints() string {
	var text strings.Builder
	for _, fault := range o.Faults {
		fmt.Fprintln(&text, oneLine(fault.Error))
	}
	texts, of := o.failures()
	for _, failure := range texts {
		stacks := "stack"
		if len(of[failure]) > 1 {
			stacks = "stacks"
		}
		fmt.Fprintf(&text, "%s %s: %s\n", stacks, listOf(of[failure]), failure)
	}
	for _, item := range o.swept.Of(prune.Failed) {
		fmt.Fprintf(&text, "stack %s: %s\n", item.Stack, shortened(oneLine(item.Error)))
	}
	for _, err := range []error{o.unswept, o.sweepErr} {
		if err != nil {
			fmt.Fprintln(&text, oneLine(err.Error()))
		}
	}
	return text.String()
}

// failures are the errors of the stacks, and of which each is: where the cluster does not answer it is the same for all.
func (o outcome) failures() (texts []string, of map[string][]string) {
	of = map[string][]string{}
	for _, s := range o.Stacks {
		text := ""
		switch {
		case s.Error != "":
			text = shortened(oneLine(s.Error))
		case isFailed(s):
			text = "it belongs to somebody else"
		case waits(s):
			text = "not deployed, since a stack of a lower wave is not deployed, or not healthy"
		default:
			continue
		}
		if of[text] == nil {
			texts = append(texts, text)
		}
		name := s.Name
		if s.File != "" && errors.As(s.Err, new(*stack.ManifestError)) {
			name += " (" + s.File + ")" // a line is of that
		}
		of[text] = append(of[text], name)
	}
	return texts, of
}

// err says in one what went wrong: a stack that failed outweighs a manifest that was refused.
func (o outcome) err() error {
	errs := []error{o.sweepErr, o.swept.Err()}
	failed, waiting := map[string]bool{}, map[string]bool{}
	for _, s := range o.Stacks {
		switch {
		case isFailed(s):
			failed[s.Name] = true
			errs = append(errs, s.Err)
		case waits(s):
			waiting[s.Name] = true
		}
	}
	for _, item := range o.swept.Of(prune.Failed) {
		failed[item.Stack] = true
	}
	refused := ""
	if len(o.Faults) > 0 {
		files := map[string]bool{}
		for _, fault := range o.Faults {
			files[cmp.Or(fault.File, fault.Error)] = true
		}
		refused = fmt.Sprintf("%d manifests can't be used", len(files))
		if len(files) == 1 {
			refused = "a manifest can't be used"
		}
	}
	var texts []string
	if len(failed) > 0 {
		texts = append(texts, "stacks failed: "+listOf(sortedKeys(failed)))
	} else if o.sweepErr != nil {
		texts = append(texts, "the sweep failed")
	}
	if len(waiting) > 0 {
		texts = append(texts, "stacks wait for a lower wave: "+listOf(sortedKeys(waiting)))
	}
	switch {
	case len(texts) == 0 && refused == "":
		return nil
	case len(texts) == 0:
		return usagef("%s, and the rest is not held up by that", refused)
	case refused != "":
		texts = append(texts, "and "+refused)
	}
	return hinted{err: errors.New(strings.Join(texts, ", ")), hint: hint(errors.Join(errs...))}
}

// stackData is one declared stack in the forms for programs.
type stackData struct {
	Name       string        `json:"name"`
	Wave       int           `json:"wave"`
	File       string        `json:"file,omitempty"`
	Sync       string        `json:"sync"`
	Health     string        `json:"health"`
	Action     string        `json:"action"`
	Reason     string        `json:"reason,omitempty"`
	Error      string        `json:"error,omitempty"`
	Changes    []changeData  `json:"changes"`
	Missing    []string      `json:"missing"`
	Undeclared []string      `json:"undeclared"`
	Services   []serviceData `json:"services"`
}

// changeData is one field that is not as declared. What is not there is empty.
type changeData struct {
	Service  string `json:"service"`
	Field    string `json:"field"`
	Declared string `json:"declared"`
	There    string `json:"there"`
}

type serviceData struct {
	Name    string `json:"name"`
	Status  string `json:"status"`
	Running int    `json:"running"`
	Desired int    `json:"desired"`
	Message string `json:"message,omitempty"`
}

// outcomeData is the whole of it.
type outcomeData struct {
	DryRun  bool              `json:"dryRun"`
	Stacks  []stackData       `json:"stacks"`
	Refused []reconcile.Fault `json:"refused"`
	Swept   []prune.Item      `json:"swept"`
}

func dataOf(s reconcile.StackReport) stackData {
	data := stackData{
		Name: s.Name, Wave: s.Wave, File: s.File, Sync: string(s.Sync), Health: string(s.Health), Action: string(s.Action),
		Reason: string(s.Reason), Error: s.Error, Changes: []changeData{},
		Missing: orEmpty(s.Missing), Undeclared: orEmpty(s.Undeclared), Services: []serviceData{},
	}
	for _, c := range s.Changes {
		data.Changes = append(data.Changes, changeData{Service: c.Service, Field: c.Field, Declared: c.Old, There: c.New})
	}
	for _, service := range s.Services {
		data.Services = append(data.Services, serviceData{
			Name: service.Name, Status: service.Status, Running: service.Running, Desired: service.Desired, Message: service.Message,
		})
	}
	return data
}

// result gives all forms. Its names are those of the stacks that are declared.
func (o outcome) result() result {
	r := result{
		header: []string{"STACK", "SYNC", "HEALTH", "ACTION", "REASON"},
		wide:   []string{"STACK", "SYNC", "HEALTH", "ACTION", "REASON", "WAVE", "RUNNING", "FILE"},
	}
	data := outcomeData{DryRun: o.dryRun, Stacks: []stackData{}, Refused: append([]reconcile.Fault{}, o.Faults...), Swept: append([]prune.Item{}, o.swept.Items...)}
	for _, s := range o.Stacks {
		row := []string{s.Name, string(s.Sync), string(s.Health), string(s.Action), string(s.Reason)}
		r.rows = append(r.rows, row)
		r.wideRows = append(r.wideRows, append(append([]string{}, row...), strconv.Itoa(s.Wave), runningOf(s), s.File))
		r.names = append(r.names, s.Name)
		data.Stacks = append(data.Stacks, dataOf(s))
	}
	for _, item := range o.swept.Items {
		reason := "not declared"
		if item.Kind != prune.KindStack {
			reason = fmt.Sprintf("%s %s is not declared", item.Kind, item.Name)
		}
		r.rows = append(r.rows, []string{item.Stack, "", "", string(item.Outcome), reason})
		r.wideRows = append(r.wideRows, []string{item.Stack, "", "", string(item.Outcome), reason})
	}
	r.data = data
	return r
}

// runningOf says how many copies of all services run, of how many there should be.
func runningOf(s reconcile.StackReport) string {
	if s.Health == reconcile.HealthUnknown {
		return ""
	}
	running, desired := 0, 0
	for _, service := range s.Services {
		running += service.Running
		desired += service.Desired
	}
	return fmt.Sprintf("%d/%d", running, desired)
}
