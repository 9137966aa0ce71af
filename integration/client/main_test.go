// Package client_test runs the fleet client against real fleetds.
package client_test

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/squadronctl/squadron/fleet"
	"github.com/squadronctl/squadron/integration/cluster"
)

// patience is how long the cluster may take for one change of state; it is no measure of anything.
const patience = 5 * time.Minute

// real is the cluster that the tests share, each with unit names of its own.
var real *cluster.Cluster

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	var err error
	if real, err = cluster.Start(context.Background(), cluster.Config{Machines: 3}); err != nil {
		fmt.Println(err)
		return 1
	}
	code := m.Run()
	if code != 0 {
		fmt.Println(real.Logs(40))
	}
	if err := real.Stop(); err != nil {
		fmt.Println(err)
		code = 1
	}
	if err := goleak.Find(); err != nil && code == 0 {
		fmt.Println(err)
		code = 1
	}
	return code
}

// connect gives a client that is closed at the test's end.
func connect(t *testing.T, endpoint url.URL) *fleet.Client {
	t.Helper()
	return connectWith(t, fleet.Config{Endpoint: endpoint})
}

func connectWith(t *testing.T, config fleet.Config) *fleet.Client {
	t.Helper()
	f, err := fleet.NewFleet(config)
	require.NoError(t, err)
	client := f.(*fleet.Client)
	t.Cleanup(func() { assert.NoError(t, client.Close()) })
	return client
}

func limited(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	return ctx
}

// sleeper is a service that runs until it is stopped, with further lines behind its section.
func sleeper(more ...string) string {
	return "[Service]\nExecStart=/bin/sleep 100000\n" + strings.Join(more, "\n") + "\n"
}

// placed is a sleeper with options in [X-Fleet].
func placed(options ...string) string {
	return sleeper("[X-Fleet]\n" + strings.Join(options, "\n"))
}

// create submits a unit straight to launched. It stays: fleet unloads units one by one, and its agent does nothing else
// meanwhile that the other tests wait for.
func create(t *testing.T, c *fleet.Client, name, content string) {
	t.Helper()
	require.NoError(t, c.SubmitLaunched(limited(t), name, content))
}

// states gives the unit's states as current/desired and, for each machine, active/sub.
func states(s fleet.UnitStatus) string {
	text := s.Current + "/" + s.Desired
	for _, m := range s.Machine {
		text += " " + m.SystemdActive + "/" + m.SystemdSub
	}
	return text
}

const (
	stopped = "loaded/loaded inactive/dead"
	running = "launched/launched active/running"
)

// settle waits until the unit's status is as wanted, as the function states gives it.
func settle(t *testing.T, c *fleet.Client, name, want string) fleet.UnitStatus {
	t.Helper()
	return settleWhere(t, c, name, want, func(s fleet.UnitStatus) bool { return states(s) == want })
}

func settleWhere(t *testing.T, c *fleet.Client, name, what string, is func(fleet.UnitStatus) bool) fleet.UnitStatus {
	t.Helper()
	ctx := limited(t)
	var last fleet.UnitStatus
	for {
		status, err := c.GetStatus(ctx, name)
		if err != nil {
			require.NoError(t, err, "%s: waiting for %s, it was %+v", name, what, last)
		}
		if last = status; is(status) {
			return status
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// detail reads one unit as ReadUnits tells it.
func detail(t *testing.T, c *fleet.Client, name string) fleet.UnitDetail {
	t.Helper()
	listing, err := c.ReadUnits(limited(t), fleet.Selector{Names: []string{name}, Exact: true})
	require.NoError(t, err)
	require.True(t, listing.Whole)
	require.Len(t, listing.Units, 1)
	return listing.Units[0]
}
