package systemd

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/squadronctl/squadron/internal/errclass"
)

// places are the directories that a backend works in.
type places struct {
	units string // the unit files
	links string // where systemd looks for units, and finds links to them
	boot  string // the target that systemd reaches at boot; empty where nothing outlasts one
}

func placesOf(config Config) (places, error) {
	p := places{links: "/etc/systemd/system", boot: "multi-user.target"}
	base := "/etc"
	switch {
	case config.User && config.Runtime:
		base = userRuntimeDir()
		p = places{links: filepath.Join(base, "systemd/user")}
	case config.User:
		var err error
		if base, err = userConfigDir(); err != nil {
			return places{}, err
		}
		p = places{links: filepath.Join(base, "systemd/user"), boot: "default.target"}
	case config.Runtime:
		base = "/run"
		p = places{links: "/run/systemd/system"}
	}
	p.units = filepath.Join(base, "squadron/units")
	if config.Directory != "" {
		p.units = filepath.Clean(config.Directory)
	}
	return p, checkDirectory(p.units, p.links)
}

// userConfigDir is what the user's manager takes for it, too.
func userConfigDir() (string, error) {
	if dir := os.Getenv("XDG_CONFIG_HOME"); filepath.IsAbs(dir) {
		return filepath.Clean(dir), nil
	}
	home, err := os.UserHomeDir()
	if err == nil && !filepath.IsAbs(home) {
		err = errors.New("$HOME is not an absolute path")
	}
	if err != nil {
		return "", errclass.With(errclass.ErrInvalidRequest, fmt.Errorf("find the user's configuration: %w", err))
	}
	return filepath.Join(home, ".config"), nil
}

func userRuntimeDir() string {
	if dir := os.Getenv("XDG_RUNTIME_DIR"); filepath.IsAbs(dir) {
		return filepath.Clean(dir)
	}
	return fmt.Sprintf("/run/user/%d", os.Getuid())
}
