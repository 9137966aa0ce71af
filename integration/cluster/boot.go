package cluster

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/squadronctl/squadron/integration/cluster/remains"
)

// sharedInside is where a machine sees the directory that holds fleetd's socket and log.
const sharedInside = "/srv/fleet"

// makeRoot makes the machine's disk: the host's root with a layer of its own on top, in memory.
func (m *Machine) makeRoot() error {
	for _, dir := range []string{"upper", "work", "root", "shared"} {
		if err := os.MkdirAll(m.place.path(m.Name, dir), 0o755); err != nil {
			return err
		}
	}
	options := fmt.Sprintf("lowerdir=/,upperdir=%s,workdir=%s", m.place.path(m.Name, "upper"), m.place.path(m.Name, "work"))
	if err := unix.Mount(m.place.name(), m.Root(), "overlay", 0, options); err != nil {
		return fmt.Errorf("mount the root of %s: %w", m.Name, err)
	}
	return m.configure()
}

// configure makes the host's system one that runs nothing but fleetd. Links in it may be absolute, and seen from here they
// would lead to the host's own files; os.Root does not follow these.
func (m *Machine) configure() error {
	root, err := os.OpenRoot(m.Root())
	if err != nil {
		return err
	}
	defer root.Close()
	for _, dir := range []string{
		"etc/systemd/system/multi-user.target.wants", "etc/systemd/system/timers.target.wants",
		"etc/systemd/system/sockets.target.wants", "lib/systemd/system/timers.target.wants",
		// Each pass of fleet's agent reloads systemd, which runs all of these every time.
		"lib/systemd/system-generators",
	} {
		if err := root.RemoveAll(dir); err != nil {
			return err
		}
	}
	for path, text := range map[string]string{
		"etc/machine-id":                            m.ID + "\n",
		"etc/hostname":                              m.Name + "\n",
		"etc/systemd/system/fleetd.service":         m.fleetdUnit(),
		"etc/systemd/journald.conf.d/squadron.conf": "[Journal]\nStorage=persistent\nSystemMaxUse=32M\nRateLimitIntervalSec=0\n",
	} {
		if err := root.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := root.WriteFile(path, []byte(text), 0o644); err != nil {
			return err
		}
	}
	const wants = "etc/systemd/system/multi-user.target.wants"
	if err := root.Mkdir(wants, 0o755); err != nil {
		return err
	}
	return root.Symlink("/etc/systemd/system/fleetd.service", filepath.Join(wants, "fleetd.service"))
}

func (m *Machine) fleetdUnit() string {
	endpoint := m.Endpoint()
	return strings.Join([]string{
		"[Unit]",
		"Description=fleet",
		"After=dbus.service",
		"Requires=dbus.service",
		"StartLimitIntervalSec=0",
		"[Service]",
		fmt.Sprintf("ExecStart=/usr/local/bin/fleetd -listen %s -socket %s/fleet.sock -etcd %s -ip 127.0.0.%d -metadata name=%s,zone=%s",
			endpoint.Host, sharedInside, m.etcd.String(), m.number, m.Name, m.Zone),
		"ExecStartPre=/bin/ln -sfn " + sharedInside + "/fleet.sock /run/fleet.sock",
		"StandardOutput=append:" + sharedInside + "/fleetd.log",
		"StandardError=append:" + sharedInside + "/fleetd.log",
		"Restart=always",
		"RestartSec=1",
		"TimeoutStopSec=5",
		"",
	}, "\n")
}

// spawn starts systemd-nspawn in a control group of its own: in one that machines share they would see each other's units'
// processes as those of their own.
func (m *Machine) spawn() error {
	name := m.place.name() + "-" + m.Name
	if err := remains.RemoveControlGroups(name); err != nil {
		return err // left by a machine that was killed
	}
	var joins []string
	for _, root := range remains.Hierarchies() {
		group := filepath.Join(root, name)
		if err := os.Mkdir(group, 0o755); err != nil {
			return err
		}
		joins = append(joins, filepath.Join(group, "cgroup.procs"))
	}
	// The shell puts itself into the groups and becomes nspawn.
	shell := []string{"/bin/sh", "-c", `while [ "$1" != -- ]; do echo $$ >"$1" || exit 1; shift; done; shift; exec "$@"`, "sh"}
	nspawn := []string{
		"--", "systemd-nspawn", "-q", "-D", m.Root(), "--boot", "--register=no", "--keep-unit", "--machine=" + name,
		"--hostname=" + m.Name, "--link-journal=no", "--resolv-conf=off", "--timezone=off", "--console=pipe",
		"--bind=" + m.shared() + ":" + sharedInside, "--bind-ro=" + m.place.path("fleetd") + ":/usr/local/bin/fleetd",
	}
	var err error
	m.running, err = startProcess(m.place, m.place.path(m.Name, "console.log"), slices.Concat(shell, joins, nspawn)...)
	return err
}

// leader gives the ID, as the host counts, of the machine's PID 1.
func (m *Machine) leader() (int, error) {
	pids, err := m.processes()
	if err != nil {
		return 0, err
	}
	for _, pid := range pids {
		if remains.IsFirst(pid) {
			return pid, nil
		}
	}
	return 0, errors.New("it does not run")
}
