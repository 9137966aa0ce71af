package bench

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net/url"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"golang.org/x/sync/errgroup"

	"github.com/squadronctl/squadron/integration/cluster"
)

// startLimit is how long a cluster may take to start, with others starting beside it.
const startLimit = 8 * time.Minute

// Site is a cluster and who looks at it from outside. Both are there after the first Open.
type Site struct {
	// Machines is how many the cluster has.
	Machines int
	// Pause is what passes between two looks; 50 ms by default. Each look costs the cluster some milliseconds of computing.
	Pause time.Duration

	Cluster  *cluster.Cluster
	Observer *Observer

	starting sync.Once
	startErr error
}

// Run runs the tests, stops the clusters of the sites, and gives the exit status: 1 also where a cluster failed to stop, or
// a goroutine is left.
func Run(m *testing.M, sites ...*Site) int {
	err := sideBySide()
	code := m.Run()
	var stopping errgroup.Group
	for _, s := range sites {
		stopping.Go(s.stop)
	}
	if err := errors.Join(err, stopping.Wait(), goleak.Find()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}

// sideBySide lets all tests run side by side that may: they spend their time waiting for the cluster, whatever the number of
// processors.
func sideBySide() error {
	flag.Parse()
	return flag.Set("test.parallel", "64")
}

// Start starts the site's cluster, unless that has been done, and blocks until it is up.
func (s *Site) Start(t testing.TB) {
	t.Helper()
	s.starting.Do(func() { s.startErr = s.start() })
	require.NoError(t, s.startErr)
}

func (s *Site) start() (err error) {
	ctx, cancel := context.WithTimeout(context.Background(), startLimit)
	defer cancel()
	if s.Cluster, err = cluster.Start(ctx, cluster.Config{Machines: s.Machines}); err != nil {
		return err
	}
	var endpoints []url.URL
	for _, machine := range s.Cluster.Machines() {
		endpoints = append(endpoints, machine.Endpoint())
	}
	slices.Reverse(endpoints) // machine 1, which the client speaks to, has enough to do
	if s.Pause == 0 {
		s.Pause = 50 * time.Millisecond
	}
	s.Observer = NewObserver(s.Pause, endpoints...)
	return nil
}

func (s *Site) stop() error {
	if s.Observer != nil {
		s.Observer.Close()
	}
	if s.Cluster == nil {
		return nil
	}
	return s.Cluster.Stop()
}

// StopAtEnd stops the cluster when the test ends, and shows its logs when the test has failed. It is for a site of one test
// alone.
func (s *Site) StopAtEnd(t testing.TB) {
	t.Cleanup(func() {
		s.showLogs(t)
		require.NoError(t, s.stop())
	})
}

// Open starts the site's cluster, unless that has been done, and gives a bench on the site's cluster for the groups whose names begin with group. When the test ends it is closed,
// and their units are removed; when the test has failed, the logs of the cluster are shown.
func (s *Site) Open(t testing.TB, group string, options Options) *Bench {
	t.Helper()
	s.Start(t)
	s.Observer.DeleteAll(t, group)
	t.Cleanup(func() { s.showLogs(t) })
	return New(t, s.Cluster.Endpoint(), options)
}

func (s *Site) showLogs(t testing.TB) {
	if t.Failed() && s.Cluster != nil {
		t.Log(s.Cluster.Logs(40))
	}
}
