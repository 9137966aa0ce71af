package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// configuration is the configuration file: named contexts, each with settings under the names of their flags.
type configuration struct {
	CurrentContext string                       `yaml:"current-context"`
	Contexts       map[string]map[string]string `yaml:"contexts"`
}

// configFile gives the path of the configuration file, and whether it was asked for.
func (a *app) configFile() (path string, asked bool) {
	if a.settings.configFile != "" {
		return a.settings.configFile, true
	}
	if path := a.env["SQUADRON_CONFIG"]; path != "" {
		return path, true
	}
	directory := a.env["XDG_CONFIG_HOME"]
	if directory == "" {
		directory = filepath.Join(a.env["HOME"], ".config")
	}
	return filepath.Join(directory, "squadron", "config.yaml"), false
}

// readContext gives the settings of a context, the current one where no name is given, and the file that they stand in.
// Without a configuration file, or with one that names no current context, there are none.
func (a *app) readContext(name string) (path string, settings map[string]string, err error) {
	path, asked := a.configFile()
	config, err := readConfiguration(path)
	if errors.Is(err, fs.ErrNotExist) && !asked && name == "" {
		return path, nil, nil
	}
	if err != nil {
		return path, nil, usageError{err: err}
	}
	if name == "" {
		name = config.CurrentContext
	}
	if name == "" {
		return path, nil, nil
	}
	settings, there := config.Contexts[name]
	if !there {
		return path, nil, usagef("configuration file %s: there is no context %q; its contexts: %s", path, name, listOf(sortedKeys(config.Contexts)))
	}
	return path, settings, nil
}

func readConfiguration(path string) (configuration, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return configuration{}, fmt.Errorf("read the configuration file: %w", err)
	}
	config, err := parseConfiguration(text)
	if err != nil {
		return config, fmt.Errorf("configuration file %s: %w", path, err)
	}
	return config, nil
}

// parseConfiguration reads the text of a configuration file. A key that has no meaning is an error: it would be a setting
// that does not hold.
func parseConfiguration(text []byte) (configuration, error) {
	var config configuration
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	decoder.KnownFields(true)
	if err := decoder.Decode(&config); err != nil && !errors.Is(err, io.EOF) {
		return config, inWords(err)
	}
	known := contextKeys()
	for _, name := range sortedKeys(config.Contexts) {
		for _, key := range sortedKeys(config.Contexts[name]) {
			if !slices.Contains(known, key) {
				return config, fmt.Errorf("context %q: %q is no setting; there are %s", name, key, strings.Join(known, ", "))
			}
		}
	}
	return config, nil
}

// inWords takes the names of Go's types, which say nothing to a user, from an error of the YAML decoder.
func inWords(err error) error {
	var faults *yaml.TypeError
	if !errors.As(err, &faults) {
		return err
	}
	var texts []string
	for _, text := range faults.Errors {
		text, _, _ = strings.Cut(text, " into ")
		text, _, _ = strings.Cut(text, " in type ")
		text = strings.Replace(text, "cannot unmarshal", "this can't stand here:", 1)
		texts = append(texts, strings.Replace(strings.Replace(text, "field", "there is no setting", 1), " not found", "", 1))
	}
	return errors.New(strings.Join(texts, "; "))
}

func listOf(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}
