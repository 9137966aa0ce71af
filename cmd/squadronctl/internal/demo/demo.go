// Package demo runs a simulated fleet cluster with a few groups on it, so that every command can be tried without a
// cluster.
package demo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync/atomic"
	"time"

	"github.com/squadronctl/squadron/fleet/fleettest"
)

// Config says where a demo is to be found, and how fast it is. The zero Config will do.
type Config struct {
	// Socket is the path of the unix socket on which the cluster can be reached; by default squadron-demo.sock in
	// XDG_RUNTIME_DIR or, where that is not set, a name with the user's number in os.TempDir. Other users can't connect.
	Socket string
	// Dir is where the groups' unit files are written, a directory for each group, and stacks, a directory of declared
	// stacks that are not on the cluster. It is made where it is missing and stays in the end, and files that are there
	// already are left as they are. By default a new directory is made beside the socket, and removed in the end.
	Dir string
	// Out is where the demo says what there is to try; nil for nowhere. Once anything is written the cluster can be reached.
	Out io.Writer
	// Timing is how long the cluster takes for what it does; by default a second or two for each step, so that there is
	// something to see.
	Timing fleettest.Timing
}

// Run runs a cluster of three machines with its groups, and blocks until ctx ends; it returns nil then. By that time the
// socket is gone, all connections are closed, and what was written to a directory of the demo's own is removed. A socket
// that a dead demo has left is replaced. One that somebody listens on, or a file that is no socket, is an error.
func Run(ctx context.Context, config Config) (err error) {
	config = withDefaults(config)
	if err := freeSocket(ctx, config.Socket); err != nil {
		return fmt.Errorf("demo: %w", err)
	}
	server, err := serve(config)
	if err != nil {
		return fmt.Errorf("demo: %w", err)
	}
	defer server.Close()
	dir, remove, err := writeGroups(config)
	defer func() { err = errors.Join(err, remove()) }()
	if err != nil {
		return fmt.Errorf("demo: %w", err)
	}
	if _, err := io.WriteString(config.Out, invitation(server.URL, dir)); err != nil {
		return fmt.Errorf("demo: say what there is to try: %w", err)
	}
	<-ctx.Done()
	return nil
}

func withDefaults(config Config) Config {
	if config.Socket == "" {
		config.Socket = defaultSocket(os.Getenv("XDG_RUNTIME_DIR"))
	}
	if config.Out == nil {
		config.Out = io.Discard
	}
	if config.Timing == (fleettest.Timing{}) {
		config.Timing = pleasant()
	}
	return config
}

// pleasant is slow enough to be watched and quick enough not to be waited for.
func pleasant() fleettest.Timing {
	return fleettest.Timing{
		Schedule:    200 * time.Millisecond,
		Load:        500 * time.Millisecond,
		Pass:        300 * time.Millisecond,
		Activate:    300 * time.Millisecond,
		Start:       1500 * time.Millisecond,
		Stop:        time.Second,
		Publish:     250 * time.Millisecond,
		StateLinger: time.Second,
		MachineGone: 5 * time.Second,
		MachineTTL:  10 * time.Second,
	}
}

// headStart is how long before Run the groups were started: by now they run, however slow the cluster is.
const headStart = time.Minute

// serve starts the cluster with its groups on the socket.
func serve(config Config) (*fleettest.Server, error) {
	var started atomic.Bool
	server := fleettest.NewUnstartedServer(fleettest.Config{
		Timing: config.Timing,
		Behave: behave,
		Now: func() time.Time {
			if !started.Load() {
				return time.Now().Add(-headStart)
			}
			return time.Now()
		},
	})
	if err := putGroups(server.Cluster); err != nil {
		return nil, err
	}
	started.Store(true)
	if err := server.StartUnix(config.Socket); err != nil {
		return nil, fmt.Errorf("listen on %s: %w", config.Socket, err)
	}
	if err := os.Chmod(config.Socket, 0o600); err != nil {
		server.Close()
		return nil, fmt.Errorf("keep %s to its user: %w", config.Socket, err)
	}
	return server, nil
}
