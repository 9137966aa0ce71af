package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/squadronctl/squadron/controller"
	"github.com/squadronctl/squadron/validator"
)

// readGroup makes a request of a directory of unit files. Files that are not named like units are left out.
func readGroup(dir string) (controller.Request, error) {
	files, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return controller.Request{}, fmt.Errorf("there is no directory %s: run this from the module's directory, or say with -group where the unit files are", dir)
	}
	if err != nil {
		return controller.Request{}, fmt.Errorf("read the group's unit files: %w", err)
	}
	full, err := filepath.Abs(dir)
	if err != nil {
		return controller.Request{}, fmt.Errorf("name the group: %w", err)
	}
	req := controller.NewRequest(controller.RequestConfig{Group: filepath.Base(full)})
	for _, file := range files {
		if _, suffix := validator.SplitSuffix(file.Name()); suffix == "" || file.IsDir() {
			continue
		}
		content, err := os.ReadFile(filepath.Join(dir, file.Name()))
		if err != nil {
			return controller.Request{}, fmt.Errorf("read the group's unit files: %w", err)
		}
		req.Units = append(req.Units, controller.Unit{Name: file.Name(), Content: string(content)})
	}
	if len(req.Units) == 0 {
		return controller.Request{}, fmt.Errorf("no file in %s is named like a unit", dir)
	}
	return req, nil
}

const oldRelease, newRelease = "Environment=RELEASE=1", "Environment=RELEASE=2"

// nextRelease gives the request with another content of one unit, and that unit's name.
func nextRelease(req controller.Request) (controller.Request, string, error) {
	units := append([]controller.Unit(nil), req.Units...)
	for i, unit := range units {
		if strings.Contains(unit.Content, oldRelease) {
			units[i].Content = strings.Replace(unit.Content, oldRelease, newRelease, 1)
			req.Units = units
			return req, unit.Name, nil
		}
	}
	return req, "", fmt.Errorf("no unit of group %s has a line %q, which the update is to change", req.Group, oldRelease)
}
