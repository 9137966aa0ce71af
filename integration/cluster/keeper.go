package cluster

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/squadronctl/squadron/integration/cluster/remains"
)

// keeper is the program that clears the cluster away once the other end of its standard input is closed, by release or by
// the death of this process.
type keeper struct {
	cmd  *exec.Cmd
	hold *os.File
	log  bytes.Buffer
}

func startKeeper(program, dir string) (*keeper, error) {
	lock, err := os.Create(filepath.Join(dir, remains.LockName))
	if err != nil {
		return nil, err
	}
	defer lock.Close()
	// The keeper inherits the lock; that it is held says that the keeper lives.
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		return nil, fmt.Errorf("lock %s: %w", lock.Name(), err)
	}
	read, hold, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer read.Close()
	k := &keeper{cmd: exec.Command(program, dir), hold: hold}
	k.cmd.Stdin = read
	k.cmd.Stderr = &k.log
	k.cmd.ExtraFiles = []*os.File{lock}
	k.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := k.cmd.Start(); err != nil {
		hold.Close()
		return nil, fmt.Errorf("start the keeper: %w", err)
	}
	return k, nil
}

// release has the keeper clear away and waits until it has.
func (k *keeper) release() error {
	k.hold.Close()
	if err := k.cmd.Wait(); err != nil {
		return fmt.Errorf("%w: %s", err, strings.TrimSpace(k.log.String()))
	}
	return nil
}
