package demo

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strconv"
)

// defaultSocket is where a demo listens that was not told where.
func defaultSocket(runtimeDir string) string {
	if runtimeDir != "" {
		return filepath.Join(runtimeDir, "squadron-demo.sock")
	}
	return filepath.Join(os.TempDir(), "squadron-demo-"+strconv.Itoa(os.Getuid())+".sock")
}

// maxSocketPath is the longest path that a unix socket can have on Linux.
const maxSocketPath = 107

// freeSocket removes a socket that nobody listens on any more. Everything else that is at the path is an error.
func freeSocket(ctx context.Context, path string) error {
	if !filepath.IsAbs(path) {
		return fmt.Errorf("socket %s: the path must be absolute", path)
	}
	if len(path) > maxSocketPath {
		return fmt.Errorf("socket %s: the path has %d characters, and a socket's can have %d", path, len(path), maxSocketPath)
	}
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("look for a socket: %w", err)
	case info.Mode().Type() != fs.ModeSocket:
		return fmt.Errorf("%s is there already, and is no socket", path)
	}
	conn, err := (&net.Dialer{}).DialContext(ctx, "unix", path)
	if err == nil {
		_ = conn.Close()
		return fmt.Errorf("another demo listens on %s: use it, or name another socket", path)
	}
	if ctx.Err() != nil {
		return fmt.Errorf("look for a demo on %s: %w", path, ctx.Err())
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("replace the socket of a dead demo: %w", err)
	}
	return nil
}
