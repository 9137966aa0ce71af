package controller_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/squadronctl/squadron/controller"
	"github.com/squadronctl/squadron/fleet"
	"github.com/squadronctl/squadron/fleet/fleettest"
)

var errNotYet = errors.New("still warming up")

// A slice that runs counts only once its check has passed, and ReadySecs begin then.
func TestReadyCheckHoldsTheUpdate(t *testing.T) {
	inBubble(t, 2, nil, func(t *testing.T, b *bench) {
		begin := time.Now()
		var last atomic.Pointer[controller.SliceStatus]
		opts := controller.UpdateOptions{MaxGrowth: 2, MinAlive: 2, ReadySecs: 20, Ready: func(_ context.Context, slice controller.SliceStatus) error {
			if time.Since(begin) < time.Minute {
				return errNotYet
			}
			last.Store(&slice)
			return nil
		}}
		created, err := b.controller.Update(t.Context(), v2(0), opts)
		require.NoError(t, err)
		time.Sleep(79 * time.Second)
		old, fresh, _ := b.sliceContents("web")
		assert.Equal(t, [2]int{2, 2}, [2]int{old, fresh}, "no old slice goes before a new one counts")
		require.NoError(t, b.outcome(created, nil))
		seen := last.Load()
		require.NotNil(t, seen)
		assert.Equal(t, "web", seen.Group)
		assert.Contains(t, b.idsOf("web"), seen.ID)
		require.Len(t, seen.Units, 2)
		assert.NotEmpty(t, seen.IPs())
	})
}

// One that never passes fails when its time is over, and the error says what the check said.
func TestReadyCheckThatNeverPasses(t *testing.T) {
	for name, check := range map[string]controller.ReadyCheck{
		"fails":  func(context.Context, controller.SliceStatus) error { return errNotYet },
		"panics": func(context.Context, controller.SliceStatus) error { panic(errNotYet) },
		"hangs":  func(ctx context.Context, _ controller.SliceStatus) error { <-ctx.Done(); return errNotYet },
	} {
		inBubble(t, 2, nil, func(t *testing.T, b *bench) {
			begin := time.Now()
			failure := failureOf(t, b.update(v2(0), controller.UpdateOptions{MaxGrowth: 1, MinAlive: 2, SliceTimeout: 40 * time.Second, Ready: check}))
			assert.Less(t, time.Since(begin), 100*time.Second, "SliceTimeout is the limit, not WaitTimeout")
			assert.True(t, controller.IsWaitTimeoutReached(failure), "%s: %v", name, failure)
			assert.ErrorContains(t, failure, "still warming up", name)
			old, fresh, _ := b.sliceContents("web")
			assert.Equal(t, [2]int{2, 0}, [2]int{old, fresh})
		})
	}
}

// A check that fails within ReadySecs begins them anew.
func TestReadyCheckThatFlaps(t *testing.T) {
	inBubble(t, 1, nil, func(t *testing.T, b *bench) {
		var calls atomic.Int32
		opts := controller.UpdateOptions{MaxGrowth: 1, MinAlive: 1, ReadySecs: 10, Ready: func(context.Context, controller.SliceStatus) error {
			if n := calls.Add(1); n%8 == 0 && n < 60 {
				return errNotYet
			}
			return nil
		}}
		begin := time.Now()
		require.NoError(t, b.update(v2(0), opts))
		assert.Greater(t, time.Since(begin), 60*time.Second)
	})
}

// R17: a slice that takes longer than SliceTimeout has failed, however long WaitTimeout is.
func TestSliceTimeout(t *testing.T) {
	for _, limit := range []time.Duration{20 * time.Second, 20 * time.Minute} {
		inBubble(t, 2, startsAfter(10*time.Minute), func(t *testing.T, b *bench) {
			begin := time.Now()
			err := b.update(v2(0), controller.UpdateOptions{MaxGrowth: 2, MinAlive: 2, SliceTimeout: limit})
			if limit > 10*time.Minute {
				require.NoError(t, err)
				return
			}
			assert.True(t, controller.IsWaitTimeoutReached(failureOf(t, err)))
			assert.Less(t, time.Since(begin), time.Minute)
		})
	}
}

// sliceAt is a slice whose units are on machines of these addresses.
func sliceAt(ips ...net.IP) controller.SliceStatus {
	slice := controller.SliceStatus{Group: "web", ID: "1"}
	for i, ip := range ips {
		slice.Units = append(slice.Units, fleet.UnitStatus{Name: fmt.Sprintf("web-%d@1.service", i), Machine: []fleet.MachineStatus{{IP: ip}}})
	}
	return slice
}

func TestReadyTCPAndHTTP(t *testing.T) {
	var path atomic.Value
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		path.Store(r.URL.String())
		if r.URL.Path == "/moved" {
			http.Redirect(w, r, "/nowhere", http.StatusFound)
		} else if r.URL.Path != "/healthz" {
			http.Error(w, "not here", http.StatusServiceUnavailable)
		}
	}))
	defer server.Close()
	host, portText, err := net.SplitHostPort(server.Listener.Addr().String())
	require.NoError(t, err)
	port, err := strconv.Atoi(portText)
	require.NoError(t, err)
	ip := net.ParseIP(host)
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	closedPort := closed.Addr().(*net.TCPAddr).Port
	require.NoError(t, closed.Close())

	ctx := t.Context()
	require.NoError(t, controller.ReadyTCP(port)(ctx, sliceAt(ip, ip)))
	require.Error(t, controller.ReadyTCP(closedPort)(ctx, sliceAt(ip)))
	require.ErrorContains(t, controller.ReadyTCP(port)(ctx, sliceAt(nil)), "publishes an address")
	require.NoError(t, controller.ReadyHTTP(port, "healthz?full=1")(ctx, sliceAt(ip)))
	assert.Equal(t, "/healthz?full=1", path.Load())
	require.NoError(t, controller.ReadyHTTP(port, "/moved")(ctx, sliceAt(ip)))
	require.ErrorContains(t, controller.ReadyHTTP(port, "/")(ctx, sliceAt(ip)), "503 Service Unavailable")
	require.Error(t, controller.ReadyHTTP(closedPort, "/")(ctx, sliceAt(ip)))
	require.Error(t, controller.ReadyHTTP(port, "/%zz")(ctx, sliceAt(ip)))
}

func TestSliceStatusIPs(t *testing.T) {
	one, two := net.IPv4(10, 0, 0, 1), net.IPv4(10, 0, 0, 2)
	assert.Equal(t, []net.IP{one, two}, sliceAt(two, one, nil, two.To4()).IPs())
}

// startsAfter makes new slices take so long to start.
func startsAfter(delay time.Duration) func(fleettest.Start) fleettest.Behavior {
	return func(start fleettest.Start) fleettest.Behavior {
		if !isV2(start.Content) {
			return fleettest.Behavior{}
		}
		return fleettest.Behavior{StartDelay: delay}
	}
}

// The check of a slice that somebody destroys is ended with the slice.
func TestReadyCheckEndsWithItsSlice(t *testing.T) {
	inBubble(t, 1, nil, func(t *testing.T, b *bench) {
		begun, ended := make(chan string, 1), make(chan error, 1)
		created, err := b.controller.Update(t.Context(), v2(0), controller.UpdateOptions{MaxGrowth: 1, MinAlive: 1, Ready: func(ctx context.Context, slice controller.SliceStatus) error {
			begun <- slice.ID
			<-ctx.Done()
			ended <- ctx.Err()
			return errNotYet
		}})
		require.NoError(t, err)
		id := <-begun
		b.cluster.Remove("web-app@" + id + ".service")
		b.cluster.Remove("web-log@" + id + ".service")
		require.ErrorIs(t, <-ended, context.Canceled)
		assert.ErrorContains(t, b.outcome(created, nil), "vanished")
	})
}

// A path is a path, however many slashes it begins with.
func TestReadyHTTPAsksTheSliceOnly(t *testing.T) {
	var path string
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { path = r.URL.String() }))
	defer server.Close()
	host, port, err := net.SplitHostPort(server.Listener.Addr().String())
	require.NoError(t, err)
	number, err := strconv.Atoi(port)
	require.NoError(t, err)
	slice := controller.SliceStatus{Units: []fleet.UnitStatus{{Machine: []fleet.MachineStatus{{IP: net.ParseIP(host)}}}}}
	require.NoError(t, controller.ReadyHTTP(number, "//elsewhere.invalid/ready?full=1")(t.Context(), slice))
	assert.Equal(t, "/elsewhere.invalid/ready?full=1", path)
}

// A time limit without end is none.
func TestTimeLimitsWithoutEnd(t *testing.T) {
	for _, opts := range []controller.UpdateOptions{
		{MaxGrowth: 1, MinAlive: 2},
		{MaxGrowth: 1, MinAlive: 2, ReadySecs: 5, SliceTimeout: math.MaxInt64},
	} {
		onBench(t, fleettest.Config{Timing: fleettest.Measured()}, func(config *controller.Config) {
			if opts.SliceTimeout == 0 {
				config.WaitTimeout = math.MaxInt64
			}
		}, func(t *testing.T, b *bench) {
			b.do(b.controller.Submit, request("web", 2))
			b.do(b.controller.Start, of("web"))
			require.NoError(t, b.update(v2(0), opts))
		})
	}
}

// What comes back is not asked whether it is ready: the check is one of the new content.
func TestReadyCheckIsNotAskedOfTheOldContent(t *testing.T) {
	inBubble(t, 2, nil, func(t *testing.T, b *bench) {
		never := func(context.Context, controller.SliceStatus) error { return errNotYet }
		opts := controller.UpdateOptions{MinAlive: 1, SliceTimeout: 30 * time.Second, Ready: never, Rollback: true}
		failure := failureOf(t, b.update(v2(0), opts))
		assert.True(t, failure.RolledBack, "%v", failure)
	})
}
