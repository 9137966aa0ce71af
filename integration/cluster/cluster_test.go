package cluster

import (
	"bufio"
	"context"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/squadronctl/squadron/fleet"
	"github.com/squadronctl/squadron/integration/cluster/remains"
)

// childKey has the test program start a cluster and say so, instead of testing.
const childKey = "SQUADRON_TEST_CHILD"

func TestMain(m *testing.M) {
	if os.Getenv(childKey) != "" {
		child()
		return
	}
	goleak.VerifyTestMain(m)
}

// child starts a cluster, prints its directory, and waits to be killed.
func child() {
	c, err := Start(context.Background(), Config{Machines: 1})
	if err != nil {
		fmt.Println("error:", strings.ReplaceAll(err.Error(), "\n", " "))
		os.Exit(1)
	}
	fmt.Println(c.place.dir)
	select {}
}

// begin starts a cluster that ends with the test, and prints its logs when that has failed.
func begin(t *testing.T, machines int) *Cluster {
	t.Helper()
	c, err := Start(limited(t), Config{Machines: machines})
	require.NoError(t, err)
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(c.Logs(20))
		}
		assert.NoError(t, c.Stop())
		assertNothingLeft(t, c.place.dir)
	})
	return c
}

func limited(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), 6*time.Minute)
	t.Cleanup(cancel)
	return ctx
}

func assertNothingLeft(t *testing.T, dir string) {
	t.Helper()
	pids, err := remains.Processes(dir)
	require.NoError(t, err)
	assert.Empty(t, pids)
	assert.NoDirExists(t, dir)
	mounts, err := os.ReadFile("/proc/mounts")
	require.NoError(t, err)
	assert.NotContains(t, string(mounts), dir+"/")
	for _, root := range remains.Hierarchies() {
		groups, err := filepath.Glob(filepath.Join(root, filepath.Base(dir)+"-*"))
		require.NoError(t, err)
		assert.Empty(t, groups)
	}
	nspawn, err := filepath.Glob("/run/systemd/nspawn/propagate/" + filepath.Base(dir) + "-m*")
	require.NoError(t, err)
	assert.Empty(t, nspawn)
}

// listed asks at an endpoint for the names of the machines, and gives none where that fails.
func listed(t *testing.T, endpoint url.URL) []string {
	t.Helper()
	client, err := fleet.NewFleet(fleet.Config{Endpoint: endpoint, Retries: -1, RequestTimeout: 2 * time.Second})
	require.NoError(t, err)
	defer client.(*fleet.Client).Close()
	machines, err := client.(fleet.MachineReader).ReadMachines(t.Context())
	if err != nil {
		return nil
	}
	names := []string{}
	for _, m := range machines {
		names = append(names, m.Metadata["name"])
	}
	return names
}

func eventually(t *testing.T, is func() bool, what string) {
	t.Helper()
	require.Eventually(t, is, 4*time.Minute, 200*time.Millisecond, what)
}

func TestThreeMachines(t *testing.T) {
	t.Parallel()
	c := begin(t, 3)
	for n, m := range c.Machines() {
		assert.Equal(t, []string{"m1", "m2", "m3"}, listed(t, m.Endpoint()))
		assert.Equal(t, []string{"m1", "m2", "m3"}, listed(t, m.Socket()))
		assert.Less(t, len(m.Socket().Path), 108)
		text, err := m.Command(limited(t), "sh", "-c", "cat /etc/machine-id; hostname; readlink /run/fleet.sock").Output()
		require.NoError(t, err)
		assert.Equal(t, fmt.Sprintf("%s\nm%d\n/srv/fleet/fleet.sock\n", IDOf(n+1), n+1), string(text))
	}
	assert.Contains(t, c.Logs(1000), "journal of m3\n")

	m2 := c.Machines()[1]
	marker := filepath.Join(m2.Root(), "marker")
	require.NoError(t, os.WriteFile(marker, nil, 0o644))
	require.NoError(t, m2.Kill())
	pids, err := m2.processes()
	require.NoError(t, err)
	assert.Empty(t, pids)
	assert.Error(t, m2.Kill())
	assert.Error(t, m2.Command(t.Context(), "true").Run())
	eventually(t, func() bool { return len(listed(t, c.Endpoint())) == 2 }, "m2 is lost")
	require.NoError(t, m2.Start(limited(t)))
	assert.Error(t, m2.Start(limited(t)))
	assert.Equal(t, []string{"m1", "m2", "m3"}, listed(t, m2.Endpoint()))
	assert.FileExists(t, marker)

	require.NoError(t, m2.Shutdown(limited(t)))
	eventually(t, func() bool { return len(listed(t, c.Endpoint())) == 2 }, "m2 is off")
	require.NoError(t, m2.Start(limited(t)))
	require.NoError(t, m2.Pause())
	eventually(t, func() bool { return len(listed(t, c.Endpoint())) == 2 }, "m2 is paused")
	assert.Nil(t, listed(t, m2.Endpoint()))
	require.NoError(t, m2.Resume())
	eventually(t, func() bool { return len(listed(t, m2.Endpoint())) == 3 }, "m2 goes on")
}

func TestFleetdAndEtcd(t *testing.T) {
	t.Parallel()
	c := begin(t, 1)
	m := c.Machines()[0]
	all := []string{"m1"}

	require.NoError(t, m.StopFleetd(limited(t)))
	assert.Nil(t, listed(t, m.Endpoint()))
	require.NoError(t, m.StartFleetd(limited(t)))
	assert.Equal(t, all, listed(t, m.Socket()))
	require.NoError(t, m.RestartFleetd(limited(t)))
	assert.Equal(t, all, listed(t, m.Endpoint()))
	require.NoError(t, m.PauseFleetd())
	assert.Nil(t, listed(t, m.Endpoint()))
	require.NoError(t, m.ResumeFleetd())
	eventually(t, func() bool { return len(listed(t, m.Endpoint())) == 1 }, "fleetd goes on")

	require.NoError(t, c.RestartEtcd(limited(t)))
	eventually(t, func() bool { return len(listed(t, m.Endpoint())) == 1 }, "after etcd's restart")
	require.NoError(t, c.PauseEtcd())
	assert.Nil(t, listed(t, m.Endpoint()))
	require.NoError(t, c.ResumeEtcd())
	eventually(t, func() bool { return len(listed(t, m.Endpoint())) == 1 }, "etcd goes on")
	require.NoError(t, c.StopEtcd(limited(t)))
	assert.Error(t, c.StopEtcd(limited(t)))
	assert.Nil(t, listed(t, m.Endpoint()))
	require.NoError(t, c.StartEtcd(limited(t)))
	eventually(t, func() bool { return len(listed(t, m.Endpoint())) == 1 }, "etcd is back")
}

// Two clusters know nothing of each other: a unit of the same name is in one only.
func TestTwoClusters(t *testing.T) {
	t.Parallel()
	var both [2]*Cluster
	var group sync.WaitGroup
	for i := range both {
		group.Go(func() { both[i], _ = Start(limited(t), Config{Machines: 1}) })
	}
	group.Wait()
	for _, c := range both {
		require.NotNil(t, c)
		t.Cleanup(func() { assert.NoError(t, c.Stop()) })
		assert.Equal(t, []string{"m1"}, listed(t, c.Endpoint()))
	}
	assert.NotEqual(t, both[0].Endpoint(), both[1].Endpoint())
	require.NoError(t, both[0].Stop())
	require.NoError(t, both[0].Stop(), "a second time")
	assertNothingLeft(t, both[0].place.dir)
	assert.Equal(t, []string{"m1"}, listed(t, both[1].Endpoint()))
}

// The program that started the cluster is killed: its keeper clears away.
func TestKilledProgramLeavesNothing(t *testing.T) {
	t.Parallel()
	dir, cmd := startChild(t, privateTemp(t))
	require.NoError(t, cmd.Process.Kill())
	_ = cmd.Wait()
	eventually(t, func() bool { _, err := os.Stat(dir); return os.IsNotExist(err) }, "the keeper clears away")
	assertNothingLeft(t, dir)
}

// Program and keeper are killed: the next Start clears away.
func TestKilledKeeperIsSweptUp(t *testing.T) {
	t.Parallel()
	temp := privateTemp(t)
	dir, cmd := startChild(t, temp)
	killKeeper(t, cmd.Process.Pid)
	require.NoError(t, cmd.Process.Kill())
	_ = cmd.Wait()
	pids, err := remains.Processes(dir)
	require.NoError(t, err)
	require.NotEmpty(t, pids)
	require.DirExists(t, dir)

	next, cmd := startChild(t, temp)
	assert.NotEqual(t, dir, next)
	assertNothingLeft(t, dir)
	require.NoError(t, cmd.Process.Kill())
	_ = cmd.Wait()
	eventually(t, func() bool { _, err := os.Stat(next); return os.IsNotExist(err) }, "the keeper clears away")
}

// privateTemp gives a directory for clusters, in which nobody else's start clears away what a test wants to see.
func privateTemp(t *testing.T) string {
	t.Helper()
	temp, err := os.MkdirTemp("", "private")
	require.NoError(t, err)
	t.Cleanup(func() {
		assert.NoError(t, os.Remove(filepath.Join(temp, remains.Prefix+"lock")))
		assert.NoError(t, os.Remove(temp), "something is left") // not RemoveAll: there may be mounts
	})
	return temp
}

func startChild(t *testing.T, temp string) (dir string, cmd *exec.Cmd) {
	t.Helper()
	cmd = exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childKey+"=1", "TMPDIR="+temp)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	dir = strings.TrimSpace(line)
	require.DirExists(t, dir)
	return dir, cmd
}

// killKeeper kills the child's keeper, which is its child whose command line ends in the cluster's directory.
func killKeeper(t *testing.T, parent int) {
	t.Helper()
	children, err := exec.Command("ps", "-o", "pid=", "-o", "args=", "--ppid", fmt.Sprint(parent)).Output()
	require.NoError(t, err)
	for line := range strings.Lines(string(children)) {
		var pid int
		var program string
		_, _ = fmt.Sscan(line, &pid, &program)
		if filepath.Base(program) == "keeper" {
			process, err := os.FindProcess(pid)
			require.NoError(t, err)
			require.NoError(t, process.Kill())
			return
		}
	}
	t.Fatalf("no keeper among %s", children)
}

func TestBadConfig(t *testing.T) {
	for _, machines := range []int{-1, MaxMachines + 1} {
		_, err := Start(t.Context(), Config{Machines: machines})
		assert.ErrorContains(t, err, "start cluster: ")
	}
}

// A start whose context ends leaves nothing.
func TestInterruptedStart(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	c, err := Start(ctx, Config{Machines: 4})
	if err == nil {
		require.NoError(t, c.Stop())
		return
	}
	assert.ErrorIs(t, err, context.DeadlineExceeded)
}
