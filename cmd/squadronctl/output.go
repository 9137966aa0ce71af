package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"

	"github.com/spf13/cobra"
	"go.yaml.in/yaml/v3"

	"github.com/squadronctl/squadron/cmd/squadronctl/internal/table"
)

// The forms of results.
const (
	formTable = "table"
	formWide  = "wide"
	formJSON  = "json"
	formYAML  = "yaml"
	formName  = "name"
)

// result is what a command has to show, in all forms.
type result struct {
	header, wide   []string
	rows, wideRows [][]string // wideRows are rows where they are nil
	names          []string
	data           any
}

// addOutput gives a command the flag for the form of its result.
func addOutput(command *cobra.Command, form *string, forms ...string) {
	*form = formTable
	command.Flags().VarP(&choice{value: form, choices: forms}, "output", "o", "the form of the result")
	completeFlag(command, "output", forms...)
}

// print writes a result to standard output.
func (a *app) print(form string, r result) error {
	var text bytes.Buffer
	var err error
	switch form {
	case formJSON:
		encoder := json.NewEncoder(&text)
		encoder.SetEscapeHTML(false)
		encoder.SetIndent("", "  ")
		err = encoder.Encode(r.data)
	case formYAML:
		err = writeYAML(&text, r.data)
	case formName:
		for _, name := range r.names {
			fmt.Fprintln(&text, name)
		}
	case formWide:
		if r.wide == nil {
			r.wide, r.wideRows = r.header, r.rows
		}
		err = table.Write(&text, r.wide, r.wideRows)
	default:
		err = table.Write(&text, r.header, r.rows)
	}
	if err != nil {
		return outputError{err: err}
	}
	return a.write(text.String())
}

// outputError says that a result could not be written.
type outputError struct{ err error }

func (o outputError) Error() string { return "write the result: " + o.err.Error() }
func (o outputError) Unwrap() error { return o.err }

// write writes a text to standard output.
func (a *app) write(text string) error {
	if _, err := io.WriteString(a.out, text); err != nil {
		return outputError{err: err}
	}
	return nil
}

// writeYAML writes what JSON would be written, so that both forms have the same names in the same order.
func writeYAML(w io.Writer, data any) error {
	text, err := json.Marshal(data)
	if err != nil {
		return err
	}
	var node yaml.Node
	if err := yaml.Unmarshal(text, &node); err != nil {
		return err
	}
	plain(&node)
	encoder := yaml.NewEncoder(w)
	encoder.SetIndent(2)
	if err := encoder.Encode(&node); err != nil {
		return err
	}
	return encoder.Close()
}

// plain takes from a node the style of the JSON that it was read from; the encoder quotes what needs it.
func plain(node *yaml.Node) {
	node.Style = 0
	for _, below := range node.Content {
		plain(below)
	}
}

// sliceResult is what a command has done with one slice.
type sliceResult struct {
	Name   string `json:"name"`
	Group  string `json:"group"`
	Slice  string `json:"slice"`
	Result string `json:"result"`
	DryRun bool   `json:"dryRun,omitempty"`
}

// printSlices writes what was done with slices: a line for each, as in "web@3f1 started".
func (a *app) printSlices(form string, slices []sliceResult) error {
	if form == formJSON || form == formYAML || form == formName {
		r := result{data: slices}
		for _, slice := range slices {
			r.names = append(r.names, slice.Name)
		}
		return a.print(form, r)
	}
	var text bytes.Buffer
	for _, slice := range slices {
		fmt.Fprint(&text, slice.Name, " ", slice.Result)
		if slice.DryRun {
			fmt.Fprint(&text, " (dry run)")
		}
		fmt.Fprintln(&text)
	}
	return a.write(text.String())
}
