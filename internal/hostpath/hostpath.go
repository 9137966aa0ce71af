// Package hostpath says whether a path of the host may be used where other paths are allowed.
package hostpath

import (
	"path"
	"slices"
	"strings"
)

// engineSockets are the sockets by which a container engine is given orders. Who has one has the host.
var engineSockets = []string{
	"/run/docker.sock", "/run/containerd/containerd.sock", "/run/docker/containerd/containerd.sock", "/run/podman/podman.sock",
	"/run/crio/crio.sock", "/run/buildkit/buildkitd.sock",
}

// Covers says whether what is allowed is the path, or a directory above it. A container engine's socket, and each directory
// that leads to it, has to be allowed by its own name. Paths that are not absolute cover nothing, and symbolic links nobody
// sees, but that /var/run is /run.
func Covers(allowed, to string) bool {
	if !path.IsAbs(allowed) || !path.IsAbs(to) {
		return false
	}
	allowed, to = realRun(allowed), realRun(to)
	if allowed == to {
		return true
	}
	leadsToSocket := slices.ContainsFunc(engineSockets, func(socket string) bool { return isBelow(socket, to) || isBelow(to, socket) })
	return !leadsToSocket && isBelow(to, allowed)
}

// isBelow says whether a path is a directory or lies below it.
func isBelow(of, dir string) bool {
	return of == dir || strings.HasPrefix(of, strings.TrimSuffix(dir, "/")+"/")
}

// realRun is the clean form of a path. /var/run is /run.
func realRun(of string) string {
	clean := path.Clean(of)
	if rest, found := strings.CutPrefix(clean, "/var/run/"); found {
		return "/run/" + rest
	}
	if clean == "/var/run" {
		return "/run"
	}
	return clean
}
