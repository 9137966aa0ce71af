package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"io"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/squadronctl/squadron/fleet"
	"github.com/squadronctl/squadron/fleet/fleettest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const webshop = "../groups/webshop"

// tell runs the story in a bubble, on a cluster that is as fast as the quickstart's own.
func tell(t *testing.T, ctx context.Context, cluster *fleettest.Cluster, out io.Writer) error {
	client, err := fleet.NewFleet(fleettest.ClientConfig(cluster))
	require.NoError(t, err)
	e := newEnvironmentOf(client, 50*time.Millisecond, 30*time.Millisecond)
	e.cluster, e.readySecs = "a test's", 1
	defer e.close()
	req, err := readGroup(webshop)
	require.NoError(t, err)
	s := story{environment: e, out: out, req: req}
	return s.tell(ctx)
}

func TestStory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cluster := fleettest.NewCluster(fleettest.Config{Timing: fleettest.Fast()})
		var out bytes.Buffer
		require.NoError(t, tell(t, t.Context(), cluster, &out))
		for _, line := range []string{
			`1\. Submit: 3 slices of group webshop`,
			`webshop-cache@\w+\.service +\w+ +192\.0\.2\.\d +launched +active/running +running +[0-9a-f]{7}`,
			`4\. Update: webshop-app@\.service`,
			`\d s  new slice \w+ +created +now 3 running of 4`,
			`\d s  new slice \w+ +running +now 4 running of 4`,
			`\d s  old slice \w+ +stopping +now 3 running of 4`,
			`\d s  old slice \w+ +gone +now 3 running of 3`,
			`Least running: 3, and MinAlive was 2\. Most at once: 4 of 4 allowed\.`,
			`5\. Stop and destroy`,
			`Done\.\n$`,
		} {
			assert.Regexp(t, line, out.String())
		}
		assert.NotContains(t, out.String(), "?")
		assert.Len(t, regexp.MustCompile(`old slice \w+ +gone`).FindAllString(out.String(), -1), 3)
		assert.Empty(t, cluster.Units())
	})
}

// However far it has come, an interrupted quickstart leaves nothing behind.
func TestInterrupted(t *testing.T) {
	for after := time.Duration(0); after < 5*time.Second; after += 613 * time.Millisecond {
		synctest.Test(t, func(t *testing.T) {
			cluster := fleettest.NewCluster(fleettest.Config{Timing: fleettest.Fast()})
			ctx, cancel := context.WithTimeout(t.Context(), after)
			defer cancel()
			err := tell(t, ctx, cluster, io.Discard)
			if after > 0 {
				assert.EqualError(t, err, "interrupted", "after %v", after)
			}
			assert.Error(t, err)
			assert.Empty(t, cluster.Units(), "after %v", after)
		})
	}
}

// A new release that does not run fails the update, and the group is taken away all the same.
func TestFailingRelease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cluster := fleettest.NewCluster(fleettest.Config{Timing: fleettest.Fast(), Behave: func(start fleettest.Start) fleettest.Behavior {
			return fleettest.Behavior{Fail: regexp.MustCompile("RELEASE=2").MatchString(start.Content)}
		}})
		err := tell(t, t.Context(), cluster, io.Discard)
		assert.ErrorContains(t, err, "update")
		assert.Empty(t, cluster.Units())
	})
}

func TestGroupOfSomebodyElse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cluster := fleettest.NewCluster(fleettest.Config{})
		require.NoError(t, cluster.Put("webshop-app@1.service", "[Service]\nExecStart=/bin/sleep 1\n", "launched"))
		assert.ErrorContains(t, tell(t, t.Context(), cluster, io.Discard), "has 1 units of group webshop already")
		assert.Len(t, cluster.Units(), 1)
	})
}

func TestBadInput(t *testing.T) {
	noFleet := httptest.NewServer(nil)
	defer noFleet.Close()
	other := filepath.Join(t.TempDir(), "other")
	require.NoError(t, os.Mkdir(other, 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(other, "README"), nil, 0o600))
	for _, c := range []struct {
		args []string
		says string
	}{
		{[]string{"-group", "nowhere"}, "there is no directory nowhere"},
		{[]string{"-group", other}, "no file in"},
		{[]string{"-group", "../groups/ledger"}, "no unit of group ledger has a line"},
		{[]string{"-group", webshop, "-endpoint", "localhost:4001"}, "-endpoint: "},
		{[]string{"-group", webshop, "-endpoint", "unix://run/fleet.sock"}, "-endpoint: "},
		{[]string{"-group", webshop, "-endpoint", noFleet.URL}, "webshop"},
		{[]string{"-group", webshop, "-endpoint", "%"}, "-endpoint: "},
		{[]string{"-colour"}, "-colour"},
		{[]string{"now"}, "now"},
	} {
		err := run(t.Context(), c.args, io.Discard)
		assert.ErrorContains(t, err, c.says, "%v", c.args)
		assert.NotContains(t, err.Error(), "\n", "%v", c.args)
	}
}

func TestHelp(t *testing.T) {
	var out bytes.Buffer
	assert.True(t, errors.Is(run(t.Context(), []string{"-help"}, &out), flag.ErrHelp))
	assert.Contains(t, out.String(), "-endpoint URL")
}
