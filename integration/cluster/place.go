package cluster

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/squadronctl/squadron/integration/cluster/remains"
)

const (
	// The ports are below those that the kernel gives to outgoing connections, so that none of these can sit on the port of
	// a fleetd that is stopped for a while.
	firstPort    = 12000
	portsPerSlot = 20
	slots        = 900
)

// place is where a cluster lives: a directory and a range of ports, both by a slot number that no other cluster has.
type place struct {
	dir  string
	slot int
}

// name tells the cluster's cgroups and machines from those of others.
func (p place) name() string { return filepath.Base(p.dir) }

func (p place) port(n int) int { return firstPort + p.slot*portsPerSlot + n }

// settle clears away what dead clusters left, takes a place with free ports, and puts a keeper in charge of it.
func settle(ctx context.Context, ports int) (place, *keeper, error) {
	program, err := buildKeeper(ctx)
	if err != nil {
		return place{}, nil, err
	}
	// A place that has no keeper yet must not be taken for one that has none any more.
	temp, err := tempDir()
	if err != nil {
		return place{}, nil, err
	}
	unlock, err := lockFile(ctx, filepath.Join(temp, remains.Prefix+"lock"))
	if err != nil {
		return place{}, nil, err
	}
	defer unlock()
	if err := remains.Sweep(temp); err != nil {
		return place{}, nil, fmt.Errorf("clear away a dead cluster: %w", err)
	}
	p, err := takeSlot(temp, ports)
	if err != nil {
		return place{}, nil, err
	}
	k, err := startKeeper(program, p.dir)
	if err != nil {
		return place{}, nil, errors.Join(err, remains.Remove(p.dir))
	}
	if err := makeFileSystem(p); err != nil {
		return place{}, nil, errors.Join(err, k.release())
	}
	return p, k, nil
}

// tempDir gives os.TempDir as the kernel lists it.
func tempDir() (string, error) {
	temp, err := filepath.Abs(os.TempDir())
	if err == nil {
		temp, err = filepath.EvalSymlinks(temp)
	}
	if err == nil {
		err = remains.CheckDir(temp)
	}
	if err != nil {
		return "", fmt.Errorf("the directory for temporary files %q can't be used: %w", os.TempDir(), err)
	}
	return temp, nil
}

func takeSlot(temp string, ports int) (place, error) {
	for range 10 * slots {
		slot := rand.IntN(slots)
		p := place{dir: filepath.Join(temp, remains.Prefix+strconv.Itoa(slot)), slot: slot}
		if !p.portsFree(ports) {
			continue
		}
		err := os.Mkdir(p.dir, 0o755)
		if err == nil {
			return p, nil
		}
		if !errors.Is(err, fs.ErrExist) {
			return place{}, err
		}
	}
	return place{}, errors.New("no range of free ports found")
}

func (p place) portsFree(ports int) bool {
	for n := range ports {
		listener, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(p.port(n))))
		if err != nil {
			return false
		}
		listener.Close()
	}
	return true
}

func makeFileSystem(p place) error {
	if err := os.Mkdir(p.path(), 0o755); err != nil {
		return err
	}
	if err := unix.Mount(p.name(), p.path(), "tmpfs", 0, "mode=755"); err != nil {
		return fmt.Errorf("mount %s: %w", p.path(), err)
	}
	return nil
}
