package controller

import (
	"context"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/squadronctl/squadron/fleet"
	"github.com/squadronctl/squadron/logging"
)

// backend is the wide interface that all of this package works with (R20): what a Fleet offers beyond its contract is
// found out once, and what it lacks is filled in from what it has.
type backend struct {
	fleet.Fleet
	fleet.UnitReader
	fleet.ContentReader // nil where contents can't be read back
	fleet.Launcher
	watcher fleet.UnitWatcher // nil where the backend tells of no changes

	logger logging.Logger
	// cancellable says that a read ends when its context does.
	cancellable bool
}

func newBackend(f fleet.Fleet, logger logging.Logger) *backend {
	b := &backend{Fleet: f, logger: logger}
	var lacks []string
	if reader, ok := f.(fleet.UnitReader); ok {
		b.UnitReader, b.cancellable = reader, true
	} else {
		b.UnitReader = matcherReader{f}
		lacks = append(lacks, "reads with a context (a hanging read holds its goroutine until it answers; "+
			"groups are told apart by name alone, contents by the hash that machines report)")
	}
	if reader, ok := f.(fleet.ContentReader); ok {
		b.ContentReader = reader
	} else {
		lacks = append(lacks, "reading contents (nothing that was replaced can be brought back)")
	}
	if launcher, ok := f.(fleet.Launcher); ok {
		b.Launcher = launcher
	} else {
		b.Launcher = submitThenStart{f}
		lacks = append(lacks, "launching in one write (a new unit costs two)")
	}
	b.watcher, _ = f.(fleet.UnitWatcher) // no fleet cluster offers that, so its lack is nothing to be told
	if len(lacks) > 0 {
		logger.Debug(context.Background(), "the backend %T lacks: %s", f, strings.Join(lacks, "; "))
	}
	return b
}

// ReadUnits makes one look. A panic of the backend is an error of the look, which runs outside of any task; its stack
// goes to the log.
func (b *backend) ReadUnits(ctx context.Context, selector fleet.Selector) (listing fleet.Listing, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("the backend panicked: %v", r)
			b.logger.Critical(ctx, "read units: %v\n%s", err, debug.Stack())
		}
	}()
	return b.UnitReader.ReadUnits(ctx, selector)
}

// submitThenStart stands in for fleet.Launcher.
type submitThenStart struct{ fleet fleet.Fleet }

func (s submitThenStart) SubmitLaunched(ctx context.Context, name, content string) error {
	if err := s.fleet.Submit(ctx, name, content); err != nil {
		return err
	}
	return s.fleet.Start(ctx, name)
}

// matcherReader stands in for fleet.UnitReader.
type matcherReader struct{ fleet fleet.Fleet }

// Temporary errors of a listing are repeated so often, with this pause, before they count.
const (
	matcherReadAttempts = 3
	matcherReadPause    = 100 * time.Millisecond
)

func (m matcherReader) ReadUnits(ctx context.Context, selector fleet.Selector) (fleet.Listing, error) {
	if selector.Exact {
		return m.readExact(ctx, selector.Names)
	}
	matcher := selectorMatcher(selector)
	for attempt := 1; ; attempt++ {
		statuses, err := m.fleet.GetStatusWithMatcher(matcher)
		switch {
		case fleet.IsUnitNotFound(err):
			return fleet.Listing{}, nil
		case err == nil:
			return fleet.Listing{Units: detailsOf(statuses)}, nil
		case attempt == matcherReadAttempts || !fleet.IsTemporary(err):
			return fleet.Listing{}, err
		}
		if err := sleep(ctx, matcherReadPause); err != nil {
			return fleet.Listing{}, err
		}
	}
}

func (m matcherReader) readExact(ctx context.Context, names []string) (fleet.Listing, error) {
	listing := fleet.Listing{Whole: true}
	for _, name := range names {
		status, err := m.fleet.GetStatus(ctx, name)
		switch {
		case fleet.IsUnitNotFound(err):
		case err != nil:
			return fleet.Listing{}, err
		default:
			listing.Units = append(listing.Units, fleet.UnitDetail{UnitStatus: status})
		}
	}
	return listing, nil
}

func selectorMatcher(selector fleet.Selector) func(string) bool {
	if len(selector.Names) == 0 && len(selector.Groups) == 0 {
		return func(string) bool { return true }
	}
	names := make(map[string]bool, len(selector.Names))
	for _, name := range selector.Names {
		names[name] = true
	}
	return func(name string) bool {
		if names[name] {
			return true
		}
		for _, group := range selector.Groups {
			if hasGroupPrefix(name, group) {
				return true
			}
		}
		return false
	}
}

// detailsOf sorts by name, which a backend of somebody's own may not have done, and keeps the first of two entries with
// one name.
func detailsOf(statuses []fleet.UnitStatus) []fleet.UnitDetail {
	details := make([]fleet.UnitDetail, 0, len(statuses))
	seen := make(map[string]bool, len(statuses))
	for _, status := range statuses {
		if seen[status.Name] {
			continue
		}
		seen[status.Name] = true
		details = append(details, fleet.UnitDetail{UnitStatus: status})
	}
	slices.SortFunc(details, func(a, b fleet.UnitDetail) int { return strings.Compare(a.Name, b.Name) })
	return details
}
