package swarm

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"syscall"

	"github.com/containerd/errdefs"
	"github.com/moby/moby/client"

	"github.com/squadronctl/squadron/internal/errclass"
	"github.com/squadronctl/squadron/internal/errmask"
)

var (
	errRolledBack   = errors.New("rolled back")
	errUnconverged  = errors.New("not converged")
	errNotManager   = errors.New("the Docker engine is not a manager of a swarm")
	errLostRace     = errors.New("lost a race")
	errNotInStack   = errors.New("it carries no namespace's label")
	errNetworkFixed = errors.New("a network can't be changed")
)

// IsRolledBack reports whether err says that Swarm itself has rolled a service back, now or earlier, or is at it, and that the
// same thing was not written again. The message names the service, and has Swarm's own.
func IsRolledBack(err error) bool { return errmask.Has(err, errRolledBack) }

// IsUnconverged reports whether err says that a service was written and does not run: its tasks fail, or an update was paused, or
// nothing has moved for Config.WaitTimeout. The message names the service, its state and the newest failure of a task.
func IsUnconverged(err error) bool { return errmask.Has(err, errUnconverged) }

// IsNotManager reports whether err says that the Docker engine is in no swarm, or only a worker. The message says what to do.
func IsNotManager(err error) bool { return errmask.Has(err, errNotManager) }

// IsTemporary reports whether a repeat may cure err: nobody answers, the engine says that it is unavailable or that the swarm has
// no leader, a single request took too long, or somebody else wrote to the same service twice at the same moment. A context of
// the caller's that has ended is not temporary.
func IsTemporary(err error) bool { return errmask.Has(err, errclass.ErrTemporary) }

// classed puts an error of the API into its class. ctx is the caller's.
func classed(ctx context.Context, err error) error {
	switch {
	case err == nil || IsTemporary(err) || IsNotManager(err) || ctx.Err() != nil && errors.Is(err, ctx.Err()):
		return err
	case saysNotManager(err):
		return errclass.With(errNotManager, fmt.Errorf(`%w (this needs a manager's API: point at another engine, or "docker swarm init")`, err))
	case isTemporary(err):
		return errclass.With(errclass.ErrTemporary, err)
	}
	return err
}

// saysNotManager looks for the texts by which an engine says that it is no manager. Their status is the one for "unavailable" too.
func saysNotManager(err error) bool {
	if !errdefs.IsUnavailable(err) {
		return false
	}
	text := err.Error()
	return strings.Contains(text, "not a swarm manager") || strings.Contains(text, "Worker nodes can't be used") ||
		strings.Contains(text, "not part of a swarm")
}

func isTemporary(err error) bool {
	if client.IsErrConnectionFailed(err) || errdefs.IsUnavailable(err) || errors.Is(err, context.DeadlineExceeded) {
		return true
	}
	for _, cause := range []error{io.ErrUnexpectedEOF, syscall.ECONNREFUSED, syscall.ECONNRESET, syscall.EPIPE, errLostRace} {
		if errors.Is(err, cause) {
			return true
		}
	}
	// What Swarm's managers say to each other comes through as a 500.
	return errdefs.IsInternal(err) && (strings.Contains(err.Error(), "code = Unavailable") ||
		strings.Contains(err.Error(), "code = DeadlineExceeded") || strings.Contains(err.Error(), "does not have a leader"))
}

// isOutOfSequence says whether a write lost against another one. It comes as an internal error, so the text has to tell.
func isOutOfSequence(err error) bool {
	return err != nil && strings.Contains(err.Error(), "update out of sequence")
}

// isMissingNetwork says whether a service could not be written since a network is gone that was there a moment ago.
func isMissingNetwork(err error) bool {
	if err == nil {
		return false
	}
	text := err.Error()
	return strings.Contains(text, "network ") && strings.Contains(text, " not found") && !strings.Contains(text, "predefined")
}

// isExisting says whether a thing could not be made since one of its name is there.
func isExisting(err error) bool {
	return errdefs.IsAlreadyExists(err) || errdefs.IsConflict(err) || err != nil && strings.Contains(err.Error(), "already exists")
}
