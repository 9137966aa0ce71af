package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
)

// Build builds a program of the module integration/fleetref and gives its path below integration/.build: fleetd, apiserver,
// client and plainloop, which stand in directories there, and fleetctl, which is coreos/fleet's own. What is up to date is left
// alone; builds at the same time, also by other processes, wait for each other.
func Build(ctx context.Context, program string) (string, error) {
	target := "./" + program
	if program == "fleetctl" {
		target = "github.com/coreos/fleet/fleetctl"
	}
	return build(ctx, "fleetref", target, program)
}

func buildKeeper(ctx context.Context) (string, error) {
	return build(ctx, ".", "./cluster/keeper", "keeper")
}

// built has what this process has built, so that each cluster after the first finds it done.
var built struct {
	sync.Mutex
	paths map[string]string // by name
}

// build builds a main package of the module that stands in a directory below integration/, once in each process.
func build(ctx context.Context, module, target, name string) (string, error) {
	built.Lock()
	defer built.Unlock()
	if path, done := built.paths[name]; done {
		return path, nil
	}
	path, err := buildNow(ctx, module, target, name)
	if err == nil {
		if built.paths == nil {
			built.paths = map[string]string{}
		}
		built.paths[name] = path
	}
	return path, err
}

// buildNow has the go command build it, which leaves what is up to date.
func buildNow(ctx context.Context, module, target, name string) (string, error) {
	root, err := moduleRoot()
	if err != nil {
		return "", err
	}
	output := filepath.Join(root, ".build", name)
	if err := os.MkdirAll(filepath.Dir(output), 0o755); err != nil {
		return "", err
	}
	unlock, err := lockFile(ctx, filepath.Join(root, ".build", "lock"))
	if err != nil {
		return "", err
	}
	defer unlock()
	cmd := exec.CommandContext(ctx, "go", "build", "-buildvcs=false", "-o", output, target)
	cmd.Dir = filepath.Join(root, module)
	// The machines' root may lack the libraries of the host, and GOFLAGS or a workspace of the caller's are not for this module.
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=", "GOWORK=off")
	text, err := cmd.CombinedOutput()
	if ctx.Err() != nil {
		return "", fmt.Errorf("build %s: %w", name, context.Cause(ctx))
	}
	if err != nil {
		return "", fmt.Errorf("build %s: %w\n%s", name, err, strings.TrimSpace(string(text)))
	}
	return output, nil
}

// moduleRoot gives the directory integration/, by the place of this source file.
func moduleRoot() (string, error) {
	_, file, _, ok := runtime.Caller(0)
	if !ok || !filepath.IsAbs(file) {
		return "", errors.New("find integration/: the program was built with -trimpath")
	}
	return filepath.Dir(filepath.Dir(file)), nil
}
