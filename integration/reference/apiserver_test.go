package reference_test

import (
	"bufio"
	"fmt"
	"net/url"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/squadronctl/squadron/fleet"
	"github.com/squadronctl/squadron/integration/cluster"
)

const content = "[Service]\nExecStart=/bin/sleep 100000\n"

// startAPIServer starts coreos/fleet's API server with pages of 10 entries, and gives its endpoints over TCP and unix.
func startAPIServer(t *testing.T, flags ...string) [2]url.URL {
	t.Helper()
	program, err := cluster.Build(limited(t), "apiserver")
	require.NoError(t, err)
	socket := filepath.Join(t.TempDir(), "fleet.sock")
	cmd := exec.Command(program, append([]string{"-socket", socket, "-limit", "10"}, flags...)...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} // a test that is killed has no Cleanup
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	address, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	return [2]url.URL{{Scheme: "http", Host: strings.TrimSpace(address)}, {Scheme: "unix", Path: socket}}
}

func connect(t *testing.T, endpoint url.URL) *fleet.Client {
	t.Helper()
	f, err := fleet.NewFleet(fleet.Config{Endpoint: endpoint})
	require.NoError(t, err)
	client := f.(*fleet.Client)
	t.Cleanup(func() { assert.NoError(t, client.Close()) })
	return client
}

// R20, R28 to R30: every method of the project's client on coreos/fleet's API server.
func TestOurClientOnTheReferenceServer(t *testing.T) {
	t.Parallel()
	endpoints := startAPIServer(t,
		"-machines", "m1id,192.0.2.1,zone=a m2id,,zone=b",
		"-states", "web@1.service,m1id,loaded,active,running,abc",
	)
	for _, endpoint := range endpoints {
		t.Run(endpoint.Scheme, func(t *testing.T) { everyMethod(t, connect(t, endpoint)) })
	}
}

func everyMethod(t *testing.T, c *fleet.Client) {
	ctx := limited(t)
	machines, err := c.ReadMachines(ctx)
	require.NoError(t, err)
	require.Len(t, machines, 2)
	assert.Equal(t, "192.0.2.1", machines[0].IP.String())
	assert.Nil(t, machines[1].IP)
	assert.Equal(t, map[string]string{"zone": "b"}, machines[1].Metadata)
	_, err = c.MachineIP(ctx, "m2id")
	assert.True(t, fleet.IsIPNotFound(err), "%v", err)

	require.NoError(t, c.Submit(ctx, "web@1.service", content))
	require.NoError(t, c.Submit(ctx, "web@1.service", content), "again")
	require.NoError(t, c.Start(ctx, "web@1.service"))
	assertDesired(t, c, "web@1.service", "launched")
	require.NoError(t, c.Stop(ctx, "web@1.service"))
	assertDesired(t, c, "web@1.service", "loaded")
	require.NoError(t, c.SubmitLaunched(ctx, `web-a\x2db@10.0.0.7.service`, "# comment\n"+content))
	assertDesired(t, c, `web-a\x2db@10.0.0.7.service`, "launched")
	text, err := c.ReadContent(ctx, `web-a\x2db@10.0.0.7.service`)
	require.NoError(t, err)
	assert.Equal(t, content, text)

	for _, err := range []error{c.Start(ctx, "none.service"), c.Stop(ctx, "none.service"), c.Destroy(ctx, "none.service")} {
		assert.True(t, fleet.IsUnitNotFound(err), "%v", err)
	}
	assert.True(t, fleet.IsInvalidRequest(c.Submit(ctx, "bad@1.mount", content)))
	pages(t, c)
	require.NoError(t, c.Destroy(ctx, "web@1.service"))
	require.NoError(t, c.Destroy(ctx, `web-a\x2db@10.0.0.7.service`))
	_, err = c.GetStatus(ctx, "web@1.service")
	assert.True(t, fleet.IsUnitNotFound(err), "%v", err)
	_, err = c.GetStatusWithMatcher(func(string) bool { return true })
	assert.True(t, fleet.IsUnitNotFound(err), "%v", err)
}

func assertDesired(t *testing.T, c *fleet.Client, name, desired string) {
	t.Helper()
	status, err := c.GetStatus(limited(t), name)
	require.NoError(t, err)
	assert.Equal(t, desired, status.Desired)
	assert.Equal(t, name, status.Name)
}

// pages lists 30 units, three full pages: after the last comes an empty one.
func pages(t *testing.T, c *fleet.Client) {
	t.Helper()
	ctx := limited(t)
	var names []string
	for i := range 28 {
		names = append(names, fmt.Sprintf("page-%02d.service", i))
		require.NoError(t, c.Submit(ctx, names[i], content))
	}
	listing, err := c.ReadUnits(ctx, fleet.Selector{})
	require.NoError(t, err)
	assert.Len(t, listing.Units, 30)
	assert.False(t, listing.Whole)
	all, err := c.GetStatusWithMatcher(func(name string) bool { return strings.HasPrefix(name, "page-") })
	require.NoError(t, err)
	var found []string
	for _, status := range all {
		found = append(found, status.Name)
	}
	assert.Equal(t, names, found)
	for _, name := range names {
		require.NoError(t, c.Destroy(ctx, name))
	}
}
