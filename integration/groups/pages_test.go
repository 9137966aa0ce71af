package groups_test

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/squadronctl/squadron/fleet"
	"github.com/squadronctl/squadron/integration/groups/bench"
)

// shifting is a transport that makes a unit of nobody's appear, or vanish again, between the first two pages of every
// third list of units. The unit's name is before all others, so that all pages after it shift.
type shifting struct {
	next     http.RoundTripper
	observer *bench.Observer

	mutex  sync.Mutex
	lists  int
	there  bool
	shifts int
}

const nobodys = "aaa-nobodys.service"

func (s *shifting) RoundTrip(request *http.Request) (*http.Response, error) {
	if strings.HasSuffix(request.URL.Path, "/units") && request.Method == http.MethodGet {
		if err := s.list(request.URL.Query().Has("nextPageToken")); err != nil {
			return nil, err
		}
	}
	return s.next.RoundTrip(request)
}

func (s *shifting) list(furtherPage bool) error {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if !furtherPage {
		s.lists++
		return nil
	}
	if s.lists < 3 {
		return nil
	}
	s.lists = 0
	return s.shift()
}

func (s *shifting) shift() error {
	s.shifts++
	s.there = !s.there
	if s.there {
		return s.observer.Put(context.Background(), nobodys, inactive, "/bin/true")
	}
	return s.observer.Delete(context.Background(), nobodys)
}

// C8, R20, R20a: 250 units over pages that shift.
func TestPagesThatShift(t *testing.T) {
	t.Parallel()
	const group, slices = "big", 125
	s := paged
	ctx := context.Background()
	s.Start(t)
	s.Observer.DeleteAll(t, "aaa-")
	pages := &shifting{next: &http.Transport{MaxIdleConnsPerHost: 32}, observer: s.Observer}
	t.Cleanup(pages.next.(*http.Transport).CloseIdleConnections)
	b := s.Open(t, group, bench.Options{Wrap: func(config *fleet.Config) { config.Client = &http.Client{Transport: pages} }})
	for _, name := range []string{"bigger-x@1.service", "zzz-after.service"} {
		s.Observer.DeleteAll(t, name)
		require.NoError(t, s.Observer.Put(ctx, name, inactive, "/bin/true"))
	}

	req := bench.Request(group, one(group+"-a@.service"), one(group+"-b@.service"))
	require.NoError(t, b.Submit(bench.Number(req, slices)))
	requireUnits(t, s, group+"-", 2*slices, loaded, inactive)
	requireShiftsMatter(t, s, pages)
	for range 12 {
		list, err := b.Control.GetStatus(ctx, bench.Request(group))
		require.NoError(t, err)
		require.Len(t, list, 2*slices)
		seen := map[string]bool{}
		for _, status := range list {
			require.False(t, seen[status.Name], "%s is there twice", status.Name)
			seen[status.Name] = true
			require.Len(t, status.Machine, 1, status.Name)
			require.Equal(t, inactive, status.Machine[0].SystemdActive, status.Name)
		}
	}
	before := pages.shifts
	require.NoError(t, b.Destroy(bench.Request(group)))
	requireNothing(t, b, s, group)
	assert.Greater(t, pages.shifts, before, "no page shifted while the group was destroyed")
	left := s.Observer.Now(t).Units
	assert.Contains(t, left, "bigger-x@1.service")
	assert.Contains(t, left, "zzz-after.service")
}

// requireShiftsMatter shows that one listing under such a shift lacks a unit that is there.
func requireShiftsMatter(t *testing.T, s *bench.Site, pages *shifting) {
	t.Helper()
	if !pages.there {
		require.NoError(t, pages.shift())
	}
	before := s.Observer.Now(t)
	between := false
	look, err := s.Observer.LookBetweenPages(context.Background(), func() error {
		if between {
			return nil
		}
		between = true
		return pages.shift()
	})
	require.NoError(t, err)
	require.True(t, between)
	require.Less(t, len(look.Units), len(before.Units), "a page that shifts hides no unit here")
	missing := 0
	for name := range before.Units {
		if _, there := look.Units[name]; !there && name != nobodys {
			missing++
		}
	}
	require.Equal(t, 1, missing)
}
