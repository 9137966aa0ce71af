package tunnel_test

import (
	"fmt"
	"io"
	"os"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/squadronctl/squadron/controller"
	"github.com/squadronctl/squadron/fleet"
	"github.com/squadronctl/squadron/fleet/fleettest"
	"github.com/squadronctl/squadron/integration/sshd"
	"github.com/squadronctl/squadron/task"
)

// lives takes a group of 40 units through its life: 20 slices of two.
func lives(t *testing.T, backend fleet.Fleet, sleep time.Duration, seen func(step string)) {
	t.Helper()
	ctl := controller.NewController(controller.Config{
		Fleet: backend, TaskService: task.NewTaskService(task.DefaultConfig()), WaitSleep: sleep, WaitTimeout: 3 * time.Minute,
	})
	defer func() { assert.NoError(t, ctl.(io.Closer).Close()) }()
	web := controller.NewRequest(controller.RequestConfig{Group: "tunnelled"})
	web.Units = []controller.Unit{{Name: "tunnelled-app@.service", Content: content}, {Name: "tunnelled-log@.service", Content: content}}
	web.DesiredSlices = 20
	step := func(name string, made *task.Task, err error) {
		t.Helper()
		require.NoError(t, err, name)
		made, err = ctl.WaitForTask(t.Context(), made.ID, nil)
		require.NoError(t, err, name)
		require.NoError(t, made.Error, name)
		seen(name)
	}
	made, err := ctl.Submit(t.Context(), web)
	step("submit", made, err)
	made, err = ctl.Start(t.Context(), web)
	step("start", made, err)
	made, err = ctl.Stop(t.Context(), web)
	step("stop", made, err)
	made, err = ctl.Destroy(t.Context(), web)
	step("destroy", made, err)
}

// C10: 40 units over one connection, by either way, also where the server grants fewer sessions than there are channels
// wanted; no channel stays open.
func TestFortyUnits(t *testing.T) {
	t.Parallel()
	for _, way := range []string{"forwarding", "sessions"} {
		for _, most := range []int{10, 2} {
			t.Run(fmt.Sprintf("%s, MaxSessions %d", way, most), func(t *testing.T) {
				options := []string{fmt.Sprintf("MaxSessions %d", most)}
				if way == "sessions" {
					options = append(options, "AllowStreamLocalForwarding no")
				}
				b := newBench(t, options...)
				config := b.config(b.socket)
				watch := watchConnections(b.sshd)
				tunnel, err := fleet.NewSSHTunnel(config)
				require.NoError(t, err)
				backend := clientOver(t, tunnel, config.Endpoint)
				lives(t, backend, 5*time.Millisecond, func(step string) {
					units := b.socket.Cluster.Units()
					assert.Len(t, units, map[bool]int{true: 0, false: 40}[step == "destroy"], step)
					for _, unit := range units {
						assert.Equal(t, map[bool]string{true: "launched", false: "loaded"}[step == "start"], unit.Desired, step)
					}
				})
				assert.LessOrEqual(t, oneConnection(t, b.sshd).Open().Commands, most)
				assert.Equal(t, 1, watch.end(), "connections at once")
				require.NoError(t, tunnel.(io.Closer).Close())
				eventually(t, func() bool { return len(b.sshd.Connections()) == 0 })
			})
		}
	}
}

// watch looks again and again how many connections there are.
type watch struct {
	group sync.WaitGroup
	stop  chan struct{}
	most  int
}

func watchConnections(server *sshd.Server) *watch {
	w := &watch{stop: make(chan struct{})}
	w.group.Go(func() {
		for {
			select {
			case <-w.stop:
				return
			case <-time.After(20 * time.Millisecond):
				w.most = max(w.most, len(server.Connections()))
			}
		}
	})
	return w
}

func (w *watch) end() int {
	close(w.stop)
	w.group.Wait()
	return w.most
}

func openFiles(t *testing.T) int {
	t.Helper()
	files, err := os.ReadDir("/proc/self/fd")
	require.NoError(t, err)
	return len(files)
}

// R31, R44, C22: after 1,000 operations both sides have open what they had after the first ones, and after Close nothing.
// Many of the operations end in other ways than by an answer.
func TestThousandOperationsLeaveNothing(t *testing.T) {
	for way, options := range map[string][]string{"forwarding": nil, "sessions": {"AllowStreamLocalForwarding no", "MaxSessions 4"}} {
		t.Run(way, func(t *testing.T) {
			b := newBench(t, options...)
			defer b.socket.Client().(io.Closer).Close()
			b.socket.Faults.Set(fleettest.Every(17, fleettest.Fail(500, "")), fleettest.Every(29, fleettest.LoseAnswer()),
				fleettest.Every(31, fleettest.Truncate()))
			goroutines := goleak.IgnoreCurrent()
			filesBefore := openFiles(t)
			config := b.config(b.socket)
			config.MaxChannels = 8
			tunnel, err := fleet.NewSSHTunnel(config)
			require.NoError(t, err)
			// So many requests go wrong that six attempts might not be enough for each.
			made, err := fleet.NewFleet(fleet.Config{Endpoint: config.Endpoint, SSHTunnel: tunnel, RetryWait: time.Millisecond, Retries: 20})
			require.NoError(t, err)
			c := made.(*fleet.Client)
			work := func(operations int) {
				sideBySide(operations/4, 8, func(i int) {
					name := fmt.Sprintf("a%d.service", i)
					assert.NoError(t, c.Submit(t.Context(), name, content))
					assert.NoError(t, c.Start(t.Context(), name))
					_, err := c.GetStatus(t.Context(), name)
					assert.NoError(t, err)
					assert.NoError(t, c.Destroy(t.Context(), name))
				})
			}
			work(40)
			connection := oneConnection(t, b.sshd)
			first := connection.Open()
			goroutinesFirst, filesFirst := runtime.NumGoroutine(), openFiles(t)
			work(1000)
			require.Equal(t, connection, oneConnection(t, b.sshd))
			// Each of at most 8 channels costs a few files there, and goroutines and the cluster's end of its connection here; there
			// may be more of them now than after the first operations, but no more than 8.
			eventually(t, func() bool { return connection.Open().Files <= first.Files+8*3 }, "%+v, was %+v", connection.Open(), first)
			assert.LessOrEqual(t, connection.Open().Commands, 8)
			eventually(t, func() bool { return runtime.NumGoroutine() <= goroutinesFirst+8*8 })
			eventually(t, func() bool { return openFiles(t) <= filesFirst+8 })
			assert.Empty(t, b.socket.Cluster.Units())

			require.NoError(t, c.Close())
			require.NoError(t, tunnel.(io.Closer).Close())
			eventually(t, func() bool { return len(b.sshd.Connections()) == 0 })
			b.socket.Close() // or its ends of the connections count
			assert.NoError(t, goleak.Find(goroutines))
			eventually(t, func() bool { return openFiles(t) <= filesBefore })
		})
	}
}
