package main

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"strings"
	"syscall"
	"unicode"

	"github.com/moby/moby/client"

	"github.com/squadronctl/squadron/controller"
	"github.com/squadronctl/squadron/fleet"
	"github.com/squadronctl/squadron/stack"
	"github.com/squadronctl/squadron/systemd"
)

// The exit codes. They are part of the command's contract (docs/cli.md).
const (
	exitDone        = 0
	exitFailed      = 1
	exitUsage       = 2
	exitNotFound    = 3
	exitRefused     = 4
	exitTimeout     = 5
	exitInterrupted = 130
	exitPipe        = 141
)

var (
	// errQuiet is a failure of which all has been said.
	errQuiet = errors.New("failed")
	// errDeclined is a question that was not answered with yes.
	errDeclined = errors.New("not confirmed, so nothing was done")
	// errInterrupted is what Ctrl-C makes of a command.
	errInterrupted = errors.New("interrupted")
	// errRefused is a change that does not fit what is on the cluster.
	errRefused = errors.New("refused")
)

// usageError is a fault of the command line, or of what it names.
type usageError struct {
	err error
	// command is the command whose help tells how it is meant; empty where that would be of no help.
	command string
}

func (u usageError) Error() string { return u.err.Error() }
func (u usageError) Unwrap() error { return u.err }

// usagef makes the error of input that can't be used.
func usagef(format string, args ...any) error { return usageError{err: fmt.Errorf(format, args...)} }

// hinted is an error that knows what to do next.
type hinted struct {
	err  error
	hint string
}

func (h hinted) Error() string { return h.err.Error() }
func (h hinted) Unwrap() error { return h.err }

// report says what went wrong, on one line, and gives the exit code.
func (a *app) report(err error) int {
	code := exitCode(err)
	if err == nil || errors.Is(err, errQuiet) || code == exitPipe {
		return code
	}
	text := oneLine(err.Error())
	if a.settings.verbose == 0 {
		text = shortened(text)
	}
	line := "squadronctl: " + text
	if next := hint(err); next != "" {
		line += "; " + next
	}
	fmt.Fprintln(a.err, line)
	if a.settings.verbose > 0 {
		for _, cause := range chain(err) {
			fmt.Fprintln(a.err, "  caused by: "+oneLine(cause))
		}
	}
	return code
}

// exitCode says what kind of an end an error is. The order matters: an update that was interrupted has failed as well, and
// one that failed for want of time has timed out.
func exitCode(err error) int {
	var usage usageError
	var output outputError
	switch {
	case err == nil:
		return exitDone
	case errors.As(err, &output) && errors.Is(output, syscall.EPIPE):
		return exitPipe
	case errors.Is(err, errInterrupted):
		return exitInterrupted
	case errors.As(err, &usage):
		return exitUsage
	case controller.IsWaitTimeoutReached(err), errors.Is(err, context.DeadlineExceeded):
		return exitTimeout
	case controller.IsUpdateFailed(err):
		return exitFailed
	case isRefusal(err):
		return exitRefused
	case isInvalid(err):
		return exitUsage
	case controller.IsUnitNotFound(err), controller.IsUnitSliceNotFound(err):
		return exitNotFound
	default:
		return exitFailed
	}
}

func isRefusal(err error) bool {
	return errors.Is(err, errRefused) || controller.IsUpdateNotAllowed(err) || controller.IsAmbiguousGroup(err) ||
		controller.IsGroupBusy(err) || controller.IsUnitConflict(err) || systemd.IsForeignUnit(err) || systemd.IsUnmetRequirement(err)
}

func isInvalid(err error) bool {
	var validation controller.ValidationError
	return errors.As(err, &validation) || controller.IsInvalidArgument(err) || fleet.IsInvalidEndpoint(err) ||
		fleet.IsInvalidRequest(err)
}

// hint says what to do next, where that is known.
func hint(err error) string {
	var usage usageError
	var known hinted
	var interrupted interruptedError
	switch {
	case errors.As(err, &known):
		return known.hint
	case errors.As(err, &interrupted) && controller.IsUpdateFailed(err):
		return "the same command goes on from here"
	case errors.As(err, &interrupted):
		return `see what is there with "squadronctl status"`
	case errors.Is(err, errInterrupted):
		return ""
	case errors.As(err, &usage):
		if usage.command == "" {
			return ""
		}
		return fmt.Sprintf("see %q", usage.command+" --help")
	case controller.IsAmbiguousGroup(err):
		return "name the directory of its unit files, as in ./web, so that only these count"
	case controller.IsUnitConflict(err):
		return `replace what is there with "squadronctl update"`
	case controller.IsUnitNotFound(err), controller.IsUnitSliceNotFound(err):
		return `see what is there with "squadronctl list"`
	case controller.IsWaitTimeoutReached(err):
		return `look at it with "squadronctl status", or allow more time with --timeout`
	case errors.Is(err, context.DeadlineExceeded):
		return "allow more time with --timeout"
	case controller.IsUpdateFailed(err):
		return "mend what went wrong and call it again, which goes on from here"
	case fleet.IsInvalidEndpoint(err) && strings.Contains(err.Error(), "SSL certificate"): // as nginx has it
		return "it asks for a client certificate: --cert-file and --key-file"
	case fleet.IsInvalidEndpoint(err):
		return "is --fleet-endpoint (SQUADRON_ENDPOINT) right?"
	case stack.IsForbiddenReference(err):
		return "allow it with --allow-host-path or the like"
	case client.IsErrConnectionFailed(err):
		return "are DOCKER_HOST and DOCKER_CONTEXT right?"
	default:
		return connectionHint(err)
	}
}

// connectionHint says what to do where there is no connection to the cluster.
func connectionHint(err error) string {
	var unknownCA x509.UnknownAuthorityError
	if errors.As(err, &unknownCA) {
		return "give the CA that has signed it with --ca-file"
	}
	var operation *net.OpError
	if !errors.As(err, &operation) || operation.Op != "dial" {
		return ""
	}
	switch {
	case errors.Is(err, syscall.ECONNREFUSED), errors.Is(err, syscall.ENOENT):
		return "is fleetd running there, and is --fleet-endpoint (SQUADRON_ENDPOINT) right?"
	case errors.Is(err, syscall.EACCES):
		return "call it as a user who may use that socket, such as root"
	default:
		return ""
	}
}

// shortened cuts a text that is too long to be read.
func shortened(text string) string {
	const longest = 2000
	if len(text) <= longest {
		return text
	}
	return strings.ToValidUTF8(text[:longest], "") + " ... (-v shows it whole)"
}

// oneLine puts a text on one line that can do a terminal no harm.
func oneLine(text string) string {
	text = strings.Join(strings.FieldsFunc(text, func(r rune) bool { return r == '\n' || r == '\r' || r == '\t' }), " ")
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return '?'
	}, text))
}

// chain gives the texts of the errors below an error, from the outside in, without those that say nothing new.
func chain(err error) []string {
	var texts []string
	last := err.Error()
	var walk func(error)
	walk = func(err error) {
		if text := err.Error(); text != last {
			texts = append(texts, text)
			last = text
		}
		for _, below := range unwrap(err) {
			walk(below)
		}
	}
	walk(err)
	return texts
}

func unwrap(err error) []error {
	switch e := err.(type) {
	case interface{ Unwrap() []error }:
		return e.Unwrap()
	case interface{ Unwrap() error }:
		if below := e.Unwrap(); below != nil {
			return []error{below}
		}
	}
	return nil
}
