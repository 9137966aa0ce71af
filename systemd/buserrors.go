package systemd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"syscall"

	godbus "github.com/godbus/dbus/v5"

	"github.com/squadronctl/squadron/fleet"
)

// noSuchUnit is systemd's name for the error about a unit that it does not have.
const noSuchUnit = "org.freedesktop.systemd1.NoSuchUnit"

// explainDial tells what keeps a connection from being made.
func explainDial(address string, err error) error {
	err = fmt.Errorf("connect to D-Bus at %s: %w", address, err)
	switch {
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return err
	case errors.Is(err, fs.ErrPermission):
		return withHint(errNotPermitted, err, "run as the user whose manager it is")
	case errors.Is(err, syscall.ENOENT):
		return withHint(errUnavailable, err, "is the package dbus installed?")
	case errors.Is(err, syscall.ECONNREFUSED), errors.Is(err, io.EOF), errors.Is(err, godbus.ErrClosed), isSocketError(err):
		return fleet.AsTemporary(err)
	}
	return err
}

func isSocketError(err error) bool {
	return errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE) || errors.Is(err, syscall.EAGAIN)
}

// explainCall tells what an error of a call means.
func explainCall(err error) error {
	var answer godbus.Error
	if !errors.As(err, &answer) {
		if errors.Is(err, godbus.ErrClosed) || errors.Is(err, io.EOF) || isSocketError(err) {
			return fleet.AsTemporary(fmt.Errorf("the connection to D-Bus broke: %w", err))
		}
		return err
	}
	err = &callError{name: answer.Name, text: answer.Error(), err: err}
	switch answer.Name {
	case "org.freedesktop.DBus.Error.AccessDenied", "org.freedesktop.DBus.Error.AuthFailed",
		"org.freedesktop.DBus.Error.InteractiveAuthorizationRequired":
		return withHint(errNotPermitted, err, "run as root, or use the user's manager")
	}
	if passes(answer.Name) {
		return fleet.AsTemporary(err)
	}
	return err
}

// passes says whether an error is one of a moment: systemd starts anew or is too busy to answer, a job stands in the
// way, or the host goes down.
func passes(name string) bool {
	for _, family := range []string{"org.freedesktop.DBus.Error.", "org.freedesktop.systemd1.", "System.Error."} {
		rest, ok := strings.CutPrefix(name, family)
		if !ok {
			continue
		}
		switch rest {
		case "NoReply", "Timeout", "TimedOut", "Disconnected", "ServiceUnknown", "NameHasNoOwner", "NoServer", "LimitsExceeded",
			"NoMemory", "TransactionIsDestructive", "ShuttingDown", "EAGAIN", "EBUSY", "EINTR", "ENOMEM", "ETIMEDOUT", "ECONNRESET", "EPIPE", "ESHUTDOWN":
			return true
		}
	}
	return false
}

// callError is systemd's own answer.
type callError struct {
	name string
	text string
	err  error
}

// Error gives systemd's text, which may be empty, and its name for the error.
func (c *callError) Error() string {
	return fmt.Sprintf("systemd: %s (%s)", strings.TrimSuffix(c.text, "."), c.name)
}

// Unwrap gives the error of the D-Bus library.
func (c *callError) Unwrap() error { return c.err }

// isNoSuchUnit says whether systemd does not have a unit in memory.
func isNoSuchUnit(err error) bool {
	var call *callError
	return errors.As(err, &call) && call.name == noSuchUnit
}
