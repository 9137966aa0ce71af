package main

import (
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// versionData says what was built.
type versionData struct {
	Version  string `json:"version"`
	Commit   string `json:"commit"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

func (a *app) versionCommand() *cobra.Command {
	var form string
	command := &cobra.Command{
		Use:               "version",
		Short:             "Say which version this is",
		Long:              "Says which version this is, and of what it was built. \"squadronctl --version\" says it in one line.",
		Args:              noArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(*cobra.Command, []string) error {
			v := readVersion()
			return a.print(form, result{
				header: []string{"VERSION", "COMMIT", "GO", "PLATFORM"},
				rows:   [][]string{{v.Version, v.Commit, v.Go, v.Platform}},
				data:   v,
			})
		},
	}
	addOutput(command, &form, formTable, formJSON, formYAML)
	return command
}

func readVersion() versionData {
	v := versionData{Version: "unknown", Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return v
	}
	if info.Main.Version != "" {
		v.Version = info.Main.Version
	}
	for _, setting := range info.Settings {
		if setting.Key == "vcs.revision" {
			v.Commit = setting.Value
		}
	}
	return v
}
