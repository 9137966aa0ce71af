package systemd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	systemdbus "github.com/coreos/go-systemd/v22/dbus"
	godbus "github.com/godbus/dbus/v5"

	"github.com/squadronctl/squadron/fleet"
)

// maxCalls is how many calls may be under way. D-Bus refuses a connection's 129th by default.
const maxCalls = 100

// bus keeps a connection to systemd, and makes another one when it has broken.
type bus struct {
	where   busPlace
	timeout time.Duration // of one call
	slots   chan struct{} // held during a call

	turn   chan struct{} // held by who looks at the following or makes a connection
	now    *connection   // nil before the first call
	closed bool
}

// connection is one connection to systemd: the calls' and, inside of systemd, that of the signals of jobs.
type connection struct {
	systemd *systemdbus.Conn
	calls   *godbus.Conn
	signals *godbus.Conn
}

func (c *connection) alive() bool { return c.calls.Connected() && c.signals.Connected() }

// newBus gives the bus of the system, or of the user.
func newBus(user bool, timeout time.Duration) *bus {
	place := systemBus()
	if user {
		place = userBus()
	}
	return busAt(place, timeout)
}

func busAt(place busPlace, timeout time.Duration) *bus {
	return &bus{where: place, timeout: timeout, slots: make(chan struct{}, maxCalls), turn: make(chan struct{}, 1)}
}

// enter takes a slot of a channel, until ctx ends. Who has it calls leave.
func enter(ctx context.Context, slots chan struct{}) (leave func(), err error) {
	select {
	case slots <- struct{}{}:
		return func() { <-slots }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// do makes a call. A connection that has broken is replaced once; calls are such that a repeat does no harm.
func (b *bus) do(ctx context.Context, call func(context.Context, *connection) error) error {
	leave, err := enter(ctx, b.slots)
	if err != nil {
		return err
	}
	defer leave()
	for attempt := 1; ; attempt++ {
		callCtx, cancel := context.WithTimeout(ctx, b.timeout)
		c, err := b.connect(callCtx)
		if err == nil {
			err = call(callCtx, c)
			if err != nil && attempt == 1 && callCtx.Err() == nil && c.brokenBy(err) {
				cancel()
				continue
			}
		}
		err = b.explain(ctx, callCtx, err)
		cancel()
		return err
	}
}

// brokenBy says whether a call failed with the connection, and sees to it that another is made.
func (c *connection) brokenBy(err error) bool {
	var answer godbus.Error
	if c.alive() && errors.As(err, &answer) {
		return false
	}
	c.systemd.Close()
	return true
}

// explain tells which of two contexts ended a call.
func (b *bus) explain(ctx, callCtx context.Context, err error) error {
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	case callCtx.Err() != nil:
		return fleet.AsTemporary(fmt.Errorf("systemd has not answered in %v", b.timeout))
	}
	return explainCall(err)
}

// connect gives the connection, and makes one where there is none that works.
func (b *bus) connect(ctx context.Context) (*connection, error) {
	leave, err := enter(ctx, b.turn)
	if err != nil {
		return nil, err
	}
	defer leave()
	if b.closed {
		return nil, errClosed
	}
	if b.now != nil && b.now.alive() {
		return b.now, nil
	}
	if b.now != nil {
		b.now.systemd.Close()
		b.now = nil
	}
	var dialled []*godbus.Conn
	conn, err := systemdbus.NewConnection(func() (*godbus.Conn, error) {
		c, err := b.dial(ctx)
		if err == nil {
			dialled = append(dialled, c)
		}
		return c, err
	})
	if err != nil {
		return nil, err
	}
	b.now = &connection{systemd: conn, calls: dialled[0], signals: dialled[1]}
	return b.now, nil
}

// dial makes a connection to the bus, until ctx ends.
func (b *bus) dial(ctx context.Context) (*godbus.Conn, error) {
	if err := b.where.check(); err != nil {
		return nil, err
	}
	address := b.where.address()
	conn, err := godbus.Dial(address, godbus.WithSignalHandler(godbus.NewSequentialSignalHandler()))
	if err != nil {
		return nil, explainDial(address, err)
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	err = conn.Auth([]godbus.Auth{godbus.AuthExternal(strconv.Itoa(os.Getuid()))})
	if err == nil {
		err = conn.Hello()
	}
	if !stop() {
		err = ctx.Err()
	}
	if err != nil {
		_ = conn.Close()
		return nil, explainDial(address, err)
	}
	return conn, nil
}

// Close ends the connection, and calls that are under way with it.
func (b *bus) Close() error {
	b.turn <- struct{}{}
	defer func() { <-b.turn }()
	b.closed = true
	if b.now != nil {
		b.now.systemd.Close()
		b.now = nil
	}
	return nil
}

// busPlace is where the bus is found.
type busPlace struct {
	user    bool
	booted  string // is there on a host that systemd runs
	running string // is there while the manager runs
	socket  string
}

const bootedMark = "/run/systemd/system"

func systemBus() busPlace {
	return busPlace{booted: bootedMark, running: bootedMark, socket: "/run/dbus/system_bus_socket"}
}

func userBus() busPlace {
	dir := userRuntimeDir()
	return busPlace{user: true, booted: bootedMark, running: filepath.Join(dir, "systemd"), socket: filepath.Join(dir, "bus")}
}

// address is the environment's where it names one for the system's bus, as other programs do; that of a user's session
// need not be the one that systemd is on.
func (p busPlace) address() string {
	if address := os.Getenv("DBUS_SYSTEM_BUS_ADDRESS"); address != "" && !p.user {
		return address
	}
	return "unix:path=" + p.socket
}

// check tells what is missing, before anything is tried.
func (p busPlace) check() error {
	if os.Getenv("DBUS_SYSTEM_BUS_ADDRESS") != "" && !p.user {
		return nil // it may be another host's
	}
	for _, need := range []struct{ path, what, hint string }{
		{p.booted, "systemd does not run this host", "it has another init, or is a container without one"},
		{p.running, "the user's manager does not run", "log in, or let it run without a session: loginctl enable-linger " + userName()},
		{p.socket, "there is no D-Bus", "install the package dbus, and for a user's manager dbus-user-session"},
	} {
		if _, err := os.Stat(need.path); err != nil {
			return withHint(errUnavailable, fmt.Errorf("%s: %w", need.what, err), need.hint)
		}
	}
	return nil
}

func userName() string {
	name, _ := thisHost.lingers()
	return name
}
